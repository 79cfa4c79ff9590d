// Package imports fetches the files of videos from the addresses that clients name.
//
// # Who fetches
//
// The processes that answer requests. Workers run ffmpeg on files of strangers: they need no way to
// the internet. So imports are no tasks of the queue; they have a table of their own (store.Imports).
// A process claims what is due by a lease, and renews it while it fetches. If it dies, another one, or
// the same after its next start, goes on from the bytes that are stored. The lease of the upload keeps
// a process that only slept from writing.
//
// # Where to
//
// The bytes are stored like a resumable upload, part by part (Storage): they survive a kill,
// and any process can continue. A row remembers of which version of the file they are, by ETag or
// date. The rest is asked for with Range and If-Range, so that a file that has changed is fetched
// from its beginning, and so is one of a server that knows no ranges. When all bytes are there, the
// video is completed as by a client: the same verification, the same transaction.
//
// # What ends a fetch
//
// A try that breaks off is followed by another, with growing pauses. Tries that bring next to nothing
// for a minute fail the video; what will not heal fails it at once. Trouble of our own (the disk is
// full, the database or the storage does not answer, a limit on the work of the tenant) fails nothing:
// the import waits. A server must be as fast as a client that uploads.
//
// # Fairness
//
// A lane is the imports of one tenant. The next import to start is from the tenant that has the
// fewest running in this process, and no tenant has more than half of the limit.
package imports
