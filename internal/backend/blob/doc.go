// Package blob is the contract for storing bytes: whole objects under keys, on a
// local disk (blob/disk) or in a bucket (blob/s3). Every back end passes the suite
// in blob/blobtest.
//
// # Why back ends are simple
//
// Back ends hold no policy. Who may read an object, how long it is kept and what its
// key is are decided in internal/service, where the same rules apply to every
// storage. A key says what an object is for: playing a file therefore needs no
// database query, and a sweep can tell from the key which video an object belongs to.
//
// The contract promises three things that the services rely on:
//
//   - An object appears whole or not at all, also after a crash. So a process may be
//     killed between any two instructions: what it left is either complete or
//     invisible.
//   - An ETag names one version. So an upload can be verified and then copied in
//     exactly the version that was verified, although the client may still overwrite it.
//   - A missing object is fs.ErrNotExist, and nothing else is. A storage that cannot
//     be reached, or a bucket that does not exist, must never look like a video that
//     was lost.
//
// # What only some back ends need or can do
//
// Nothing outside a back end's package knows its concrete type, except the wiring in
// cmd/spool. A difference between back ends is one of two things:
//
//   - Part of the contract, if a back end without the need can implement it trivially.
//     FetchParts saves a bucket most of a download; a disk links the whole file.
//     Prepare copies a large object before the transaction that publishes it, which
//     holds a lock; on a disk every copy takes a moment. AbortUnfinished removes the
//     parts of multipart uploads; a disk has none. Object.Span is one request to a
//     bucket, and a section of a file on disk.
//   - A field of [Capabilities], if a back end may be unable to do it at all, and the
//     caller then takes another way. Signed URLs let clients reach a bucket directly;
//     objects on a disk are served by this process. Only a disk knows its free space,
//     and only on a disk fetching a source needs none.
//
// The client that the tus library needs of a bucket is neither: it is specific to S3.
// cmd/spool takes it from the *s3.Store that it opens.
//
// # Adding a back end
//
// Implement Store without checking keys or naming objects in errors, and embed the
// result of [NewChecked] in the exported type. Call blobtest.Run
// from a test, and open the store in cmd/spool.
package blob
