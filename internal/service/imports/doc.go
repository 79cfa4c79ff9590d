// Package imports fetches the files of videos from the addresses that clients name.
//
// # Who fetches
//
// An import is a task of the queue's lane for imports, on which processes that answer requests work.
// Workers run ffmpeg on files of strangers: they need no way to the internet. The task is enqueued in the
// transaction that creates the video, or has a failed import tried again. If its process dies, another
// one, or the same after its next start, goes on from the bytes that are stored. The queue shares the
// places among tenants.
//
// # Where to
//
// The bytes are stored like a resumable upload, part by part (Storage): they survive a kill, and any
// process can continue. A try holds the lease of the upload, so that a process that only slept cannot
// write when another one has its task. The row of an import remembers of which version of the file the
// bytes are, by ETag or date. The rest is asked for with Range and If-Range, so that a file that has
// changed is fetched from its beginning, and so is one of a server that knows no ranges. When all bytes
// are there, the video is completed as by a client: the same verification, the same transaction, which
// also ends the task.
//
// # What ends a fetch
//
// A try that breaks off is followed by another, with growing pauses. Tries that bring next to nothing
// for a minute fail the video; what will not heal fails it at once. Trouble of our own (the disk is
// full, the database or the storage does not answer, a limit on the work of the tenant) fails nothing:
// the import waits. A server must be as fast as a client that uploads.
package imports
