// Package uploads receives the files of videos: in one PUT, or resumably by the protocol tus. It owns
// upload addresses, the upload lease, and the verification that ends an upload.
//
// # PUT
//
// The file streams into the storage. A broken connection leaves nothing. Everything that can be
// refused is refused before the first byte is read. One address must not be enough to fill the disk or to
// hold a connection for ever: a PUT has the upload lease as well, must be as fast as a slow
// mobile network, and ends when its video is given up (putBody).
//
// # Resumable uploads
//
// A video has one resumable upload, at one address. The protocol is package web/tus's; here is
// what is decided about it.
//   - One request at a time writes to an upload (Leases), be it a PUT or one of tus. In a process that is a map; among processes
//     it is a row with an expiry by the database's clock, 8 s ahead and renewed every 2 s for all
//     uploads of a process with one statement. The later request wins: the holder is told through the
//     row, stores what it has (a PUT removes it) and releases the lease. A killed process has lost its leases within
//     8 s. A process that wakes up after its lease has ended notices so by its own clock before it
//     writes.
//   - Beginning an upload, or continuing it at a later address, moves the video's expiry to the end of
//     that address. Every other rule follows from that: nothing is swept or expired before.
//   - Every request that wrote checks once more whether the video still waits for a file
//     (DiscardIfClosed). If it was deleted or completed meanwhile, what was written is removed at once.
//
// # Completion
//
// Complete opens the uploaded object, looks at its first 8 KiB, and pins that very version under a
// new random key: whatever is written to the upload address later has another key. Then one
// transaction turns the video to processing and enqueues its first task. From the copy on it goes on
// without its client: in a bucket a copy may take longer than a proxy waits. Of several calls at the
// same time one wins; the others remove their copy and answer with what the winner did.
package uploads
