// Package s3 keeps objects in a bucket of Amazon S3, or of a server that speaks its
// protocol, below one prefix. The key of an object in the bucket is the prefix
// followed by the key.
//
// S3 keeps most of the contract by itself: an object appears when its last byte has
// arrived, and an ETag names a version. This package adds the rest:
//
//   - Large objects are written in parts, which are removed when the write fails.
//     What a killed process leaves is invisible, but costs money; AbortUnfinished
//     removes it.
//   - All reads of an open object ask for the version that was opened. So a
//     connection may break and be replaced, and two versions never mix. Requests cost
//     time and money, so an open object sends few.
//   - A request on which no byte moves is given up and tried again. A limit on the whole
//     request would not do: a good one may take an hour.
//   - A copy of 100 GiB takes many minutes, even inside the bucket. Prepare has the
//     server copy everything above 512 MiB as parts of an object that does not exist
//     yet; publishing it is one request. That request runs inside the transaction
//     that holds the lock of the video: playing asks no database, so a copy that
//     appeared without the lock could show a video that was just deleted.
//   - Clients read and write the bucket directly, with signed URLs. The bucket
//     decides when such a URL expires, so it is signed by the clock of the bucket,
//     which is learned from the dates of its responses.
//
// Only what every server understands is used: no ACLs, no checksum headers beyond
// those that S3 requires, and parts of one size. In transit, a body is protected by
// TLS or, over plain HTTP, by its signed SHA-256.
package s3
