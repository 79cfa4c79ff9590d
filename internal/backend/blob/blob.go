// Package blob is the contract for storing bytes: whole objects under keys, on
// local disk (blob/disk) or in a bucket (blob/s3). Back ends are dumb; who may read what, when
// an object is kept and what its key is are decided above them, in package app.
// Every back end passes the suite in blob/blobtest.
package blob

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Store keeps objects. All methods may be called from many goroutines at once.
//
// A missing object is an error that wraps fs.ErrNotExist. An object that
// appears at all appears whole: a reader sees the old one, the new one or none,
// also after a crash, and what a successful write returned survives one.
//
// Keys are slash-separated paths of letters, digits, '.', '_' and '-', without
// empty, "." or ".." elements and without elements that start with '.'. A bad
// key is an error that wraps ErrBadKey.
type Store interface {
	// Put stores what r yields, replacing an object of the same key. If r fails,
	// its error is returned (wrapped) and nothing changes.
	Put(ctx context.Context, key string, r io.Reader) (Info, error)

	// PutFile stores the local file path and takes it over: on success the file
	// is gone from path. It must lie on a file system where that is cheap.
	PutFile(ctx context.Context, key, path string) (Info, error)

	// Open returns the object for reading; the caller closes it. Reading may need
	// ctx as long as the object is open. What is read is of one version: when the
	// object is replaced meanwhile, reading goes on with the old bytes or fails
	// with ErrChanged.
	Open(ctx context.Context, key string) (Object, error)

	// Fetch makes the object available as the local file path, which must not
	// exist. The file is for reading only: it may share its bytes with the store.
	// With a non-empty etag, an object that is no longer that version is
	// ErrChanged.
	Fetch(ctx context.Context, key, etag, path string) error

	// Stat describes an object without reading it.
	Stat(ctx context.Context, key string) (Info, error)

	// Copy stores the object from under the key to as well, without moving bytes
	// through this process. With a non-empty etag, an object that is no longer
	// that version is ErrChanged and nothing is copied.
	Copy(ctx context.Context, from, to, etag string) (Info, error)

	// Delete removes the objects. Those that do not exist count as removed.
	Delete(ctx context.Context, keys ...string) error

	// List yields the objects whose key starts with prefix, in no set order.
	// Objects written or deleted meanwhile may or may not be seen.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]

	// Ping reports whether the store answers at all.
	Ping(ctx context.Context) error
}

// Object is an open object. Reading at a range is cheap.
type Object interface {
	io.ReadSeekCloser
	io.ReaderAt
	Info() Info
}

// Info describes an object.
type Info struct {
	Key      string
	Size     int64
	ETag     string // changes with the content; without quotes
	Modified time.Time
}

// Presigner is a Store to which clients can upload directly.
type Presigner interface {
	// PresignPut returns an address that accepts one PUT of key with exactly
	// this content type until ttl has passed.
	PresignPut(ctx context.Context, key, contentType string, ttl time.Duration) (string, error)
}

// Redirector is a Store from which clients can read directly.
type Redirector interface {
	// PresignGet returns an address that answers GET, but not HEAD, of key until
	// ttl has passed; ranges work. Whether there is such an object is not looked at.
	PresignGet(ctx context.Context, key string, ttl time.Duration) (string, error)
}

// PartFetcher is a Store from which fetching a part of an object costs less than
// fetching all of it. Where Fetch is free, as on a local disk, it is not needed.
type PartFetcher interface {
	// FetchParts is Fetch of some ranges: the file path has the size of the
	// object, the bytes of the ranges, and holes elsewhere, which read as zeros
	// and take no room. All bytes are of the version that is described.
	FetchParts(ctx context.Context, key, path string, ranges []Range) (Info, error)
}

// Preparer is a Store in which a copy takes the longer the larger it is, and
// which can spend that time before anybody sees the copy. Where a copy is a link,
// as on a local disk, it is not needed.
type Preparer interface {
	// Prepare does what takes long about a Copy of any version. ctx must last
	// until the copy is published or discarded.
	Prepare(ctx context.Context, from, to string) (Prepared, error)
}

// Prepared is a copy that nobody sees yet. After a crash nothing is seen of it,
// either.
type Prepared interface {
	// Publish makes the copy visible. It may be called once.
	Publish(ctx context.Context) (Info, error)
	// Discard takes back what was not published. It must be called in the end.
	Discard()
}

// Spanner is an Object of which a part can be asked for with a single request.
// Where reading at a place is free, as on a local disk, it is not needed: see Span.
type Spanner interface {
	// Span reads the part; nothing is asked for before the first Read.
	Span(Range) io.ReadCloser
}

// Span reads a part of an object that is open, in one go.
func Span(o Object, r Range) io.ReadCloser {
	if s, ok := o.(Spanner); ok {
		return s.Span(r)
	}
	return section{io.NewSectionReader(o, r.From, r.To-r.From)}
}

// section can be closed, and be sought in.
type section struct{ *io.SectionReader }

func (section) Close() error { return nil }

// Aborter is a Store in which objects are written in parts that nobody sees, and
// that stay when nobody completes them. Where a write leaves at most a file that
// the next start removes, as on a local disk, it is not needed.
type Aborter interface {
	// AbortUnfinished takes back the parts of unfinished objects whose key starts
	// with prefix, and for which drop returns true, given when they were begun. It
	// returns how many objects there were.
	AbortUnfinished(ctx context.Context, prefix string, drop func(key string, begun time.Time) (bool, error)) (int, error)
}

// Range is a part of an object: the bytes From up to, but not with, To.
type Range struct{ From, To int64 }

var (
	// ErrBadKey means that a key has a form no store accepts.
	ErrBadKey = errors.New("bad object key")
	// ErrChanged means that an object is not the version asked for.
	ErrChanged = errors.New("object has changed")
	// ErrFull means that the store has no room for the object.
	ErrFull = errors.New("storage is full")
)

// DeletePrefix removes every object whose key starts with prefix and returns
// how many it removed.
func DeletePrefix(ctx context.Context, s Store, prefix string) (int, error) {
	var keys []string
	for info, err := range s.List(ctx, prefix) {
		if err != nil {
			return 0, err
		}
		keys = append(keys, info.Key)
	}
	return len(keys), s.Delete(ctx, keys...)
}
