// Package catalog creates, reads and lists videos, and reports on them.
//
// # Repeated create requests
//
// A create request with an Idempotency-Key that an earlier request had finds the earlier video again.
// The key and a digest of the request are a row that is inserted in the transaction of the video, so
// of several requests at once one makes the video and the others are told of it. The row is kept for
// a day.
//
// # States
//
// Progress is not stored: it is the weighted sum of a video's steps, added up by the database, since
// a video of three hours has some five hundred. A page of the list takes a fixed number of statements,
// however long it is. Plans, which are large, are read for processing videos only; their progress
// needs the renditions.
//
// A filter of metadata or tags is answered by an index, see package store. It may return a page early rather
// than read much.
//
// A cursor is the time and the id of the last video that was looked at, so a page costs the same
// wherever it begins, and needs nothing to be still there. It is not signed: the tenant comes from the
// key, and a forged cursor leads to another place in the caller's own list.
package catalog
