package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
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

	// FetchParts is Fetch for a reader who needs only some ranges. The file at path has the size
	// of the object and at least the bytes of the ranges, all of one version. What else it holds is
	// up to the back end: sparse reports that the rest are holes, which read as zeros and take no
	// disk space. A back end on which Fetch costs nothing delivers the whole object. Ranges may
	// extend beyond the end of the object.
	FetchParts(ctx context.Context, key, path string, ranges []Range) (info Info, sparse bool, err error)

	// Stat describes an object without reading it.
	Stat(ctx context.Context, key string) (Info, error)

	// Copy stores the object from under the key to as well, without moving bytes
	// through this process. With a non-empty etag, an object that is no longer
	// that version is ErrChanged and nothing is copied.
	Copy(ctx context.Context, from, to, etag string) (Info, error)

	// Prepare does the slow part of Copy, of whatever version it finds, in advance: publishing the
	// copy then takes a moment, however large it is. A back end on which every copy takes a moment
	// need not do anything in advance. ctx must last until the copy is published or discarded.
	Prepare(ctx context.Context, from, to string) (Prepared, error)

	// Delete removes the objects. Those that do not exist count as removed. Until ctx ends, it tries
	// all of them: one that cannot be removed does not keep the others. The error joins the errors of
	// the objects that may still be there. With a bad key among them, nothing is removed.
	Delete(ctx context.Context, keys ...string) error

	// List yields the objects whose key starts with prefix, in no set order.
	// Objects written or deleted meanwhile may or may not be seen.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]

	// AbortUnfinished removes what an interrupted write left that List does not show, such as the
	// parts of a multipart upload that was never completed. It considers the objects whose key
	// starts with prefix, and removes those for which drop, given the key and the time of the first
	// write, returns true. It returns how many it removed. A back end without such leftovers
	// returns 0.
	AbortUnfinished(ctx context.Context, prefix string, drop func(key string, begun time.Time) (bool, error)) (int, error)

	// Ping reports whether the store answers at all.
	Ping(ctx context.Context) error

	// Capabilities returns what this back end can do beyond the contract. It never changes while the
	// store is open.
	Capabilities() Capabilities
}

// Object is an open object. Reading at a range is cheap.
type Object interface {
	io.ReadSeekCloser
	io.ReaderAt
	Info() Info
	// Span returns a reader of one range, independent of all other reads. A remote back end serves
	// it with a single request, which it sends with the first Read.
	Span(Range) io.ReadCloser
}

// Info describes an object.
type Info struct {
	Key      string
	Size     int64
	ETag     string // changes with the content; without quotes
	Modified time.Time
}

// Prepared is a copy that is not visible yet. A crash before Publish leaves nothing visible.
type Prepared interface {
	// Publish makes the copy visible. It may be called once.
	Publish(ctx context.Context) (Info, error)
	// Discard removes whatever was not published. It must always be called in the end.
	Discard()
}

// Range is a part of an object: the bytes From up to, but not with, To.
type Range struct{ From, To int64 }

var (
	// ErrBadKey means that a key has a form no store accepts.
	ErrBadKey = errors.New("bad object key")
	// ErrChanged means that an object is not the version asked for.
	ErrChanged = errors.New("object has changed")
	// ErrFull means that the store has no space for the object.
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

// maxNamed is how many failures an error names: a storage that fails a thousand
// times does so for one reason.
const maxNamed = 5

// JoinErrors joins the errors of an operation on many objects. Only the first few
// are kept; of the rest, the error tells the number.
func JoinErrors(errs []error) error {
	if len(errs) > maxNamed {
		errs = append(slices.Clone(errs[:maxNamed]), fmt.Errorf("and %d more", len(errs)-maxNamed))
	}
	return errors.Join(errs...)
}
