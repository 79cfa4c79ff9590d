// Package blob is the contract for storing bytes: whole objects under keys, on a
// local disk (blob/disk) or in a bucket (blob/s3). Back ends hold no policy: who
// may read an object, how long it is kept and what its key is are decided in
// internal/service. Every back end passes the suite in blob/blobtest.
//
// # What back ends may do differently
//
// Nothing outside a back end's package knows its concrete type, except the wiring
// in cmd/spool. What only some back ends need or can do is one of two things:
//
//   - Part of the contract, if a back end without the need can implement it
//     trivially. FetchParts saves a bucket most of a download; a disk links the
//     whole file. Prepare does the slow part of a large copy ahead of time; on a
//     disk every copy is quick. AbortUnfinished removes the parts of multipart
//     uploads; a disk has none. Object.Span is one request to a bucket, and a
//     section of a file on disk.
//   - A field of [Capabilities], if a back end may be unable to do it at all, and
//     the caller then takes another way. Signed URLs let clients reach a bucket
//     directly; to objects on a disk they come through this process. Free space is
//     known for a disk only.
package blob
