// Package backup copies everything that a service keeps: rows, tasks and objects, into a file or a
// folder and from there into another database and storage, or directly from one to the other.
//
// # Consistency
//
// The rows are read as they were at one moment (store.Snapshot). The objects are copied after it, while the service
// goes on. Objects only appear under new keys, or are replaced by equal ones, so
// what appears later does no harm. What is removed later would be missing:
//
//   - Objects that a video does not need any more, such as the chunk files of a pass that has ended
//     meanwhile, are kept while a backup runs. The janitor asks for a hold (pipeline.RemovalHold) before it
//     removes something of a video that lives, and so does a request that replaces captions. A hold expires
//     a minute after its process was killed. A backup that finds its own hold expired, because its process
//     stood still, fails.
//   - A client's deletion never waits: its URLs are dead when it is answered. Such objects are missing,
//     and the backup records which. A restore then deletes the video, the resolution or the captions as
//     the client did.
//   - Anything else that is missing was lost before. It is reported.
//
// Uploads that are not completed are left out: the video and its captions are in the backup, its bytes
// have to be sent again. Work in progress is included: its tasks run on after a restore.
//
// # A file
//
// A backup is a tar file: a header, the objects as they are, the tasks, the rows (as lines of JSON,
// compressed), and last a manifest with the size and SHA-256 of every member before it. It is written
// under another name and gets its own when all of it is on disk. Without the manifest, it is not a backup.
//
// # A folder
//
// A folder has the same tar files without objects, one for each run, and the objects beside them. The
// name of an object's file has its version and its SHA-256, so that a later run finds it again and
// copies only what is new.
//
// # Restoring
//
// The target must be empty. Its database is marked as unfinished first, and nothing but another restore
// uses such a database. Objects come first, then all rows in one transaction that commits only when the
// manifest was found true, then the tasks, and then the mark goes. A restore that was killed is begun
// again: the mark and the id of the database outlive everything else in it. The new database has an id of its own, and marks its storage with that: see janitor.Marker.
package backup
