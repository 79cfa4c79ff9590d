package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/spool-video/spool/internal/backend/blob"
)

// object is an open file. It embeds *os.File, and so is a syscall.Conn:
// http.ServeContent hands it to the kernel (sendfile) when the response writer
// lets it.
type object struct {
	*os.File
	info    blob.Info
	closed  atomic.Bool
	version version    // of a file that may stay open; zero where that is unknown
	idle    *idleFiles // where the file goes afterwards; nil: it is closed
}

func (o *object) Info() blob.Info { return o.info }

// Span reads a range of the file.
func (o *object) Span(r blob.Range) io.ReadCloser {
	return section{io.NewSectionReader(o.File, r.From, r.To-r.From)}
}

// section is a range of an open file. Closing it leaves the file open.
type section struct{ *io.SectionReader }

func (section) Close() error { return nil }

// Open returns the object. It stays readable, as it was, after it is replaced or
// deleted.
func (s *rawStore) Open(_ context.Context, key string) (blob.Object, error) {
	if o := s.openIdle(key); o != nil {
		return o, nil
	}
	o, err := s.open(key)
	if err != nil {
		return nil, err
	}
	o.idle = &s.idle
	return o, nil
}

func (s *rawStore) open(key string) (*object, error) {
	f, handled, err := openBeneath(s.folder, key)
	if !handled {
		f, err = s.root.Open(key)
	}
	if err != nil {
		return nil, readError(err)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &object{File: f, info: s.describe(key, fi), version: versionIn(fi)}, nil
}

// Stat describes an object.
func (s *rawStore) Stat(_ context.Context, key string) (blob.Info, error) { return s.stat(key) }

// stat describes the file called name, which may be a temporary one.
func (s *rawStore) stat(name string) (blob.Info, error) {
	fi, err := s.root.Lstat(name)
	if err != nil {
		return blob.Info{}, readError(err)
	}
	if !fi.Mode().IsRegular() {
		return blob.Info{}, fs.ErrNotExist
	}
	return s.describe(name, fi), nil
}

// Fetch links the object to the local file path, or copies it where that is
// impossible.
func (s *rawStore) Fetch(ctx context.Context, key, etag, path string) error {
	_, err := s.fetch(ctx, key, etag, path)
	return err
}

// FetchParts fetches the whole object: a link costs less than copying ranges.
func (s *rawStore) FetchParts(ctx context.Context, key, path string, _ []blob.Range) (blob.Info, bool, error) {
	info, err := s.fetch(ctx, key, "", path)
	return info, false, err
}

func (s *rawStore) fetch(ctx context.Context, key, etag, path string) (blob.Info, error) {
	o, err := s.open(key)
	if err != nil {
		return blob.Info{}, err
	}
	defer o.Close()
	if etag != "" && o.info.ETag != etag {
		return blob.Info{}, blob.ErrChanged
	}
	err = s.deliver(ctx, o, path)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New(err.Error()) // the folder of path is missing; the object is there
	}
	return o.info, err
}

// deliver makes exactly the version that o has open available as the file path.
func (s *rawStore) deliver(ctx context.Context, o *object, path string) error {
	err := os.Link(s.pathOf(o.info.Key), path)
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	if err == nil {
		if isSameFile(o.File, path) {
			return nil
		}
		// Another version took the key after o was opened.
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return copyOut(ctx, o.File, path)
}

func isSameFile(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Lstat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// copyOut copies f to the new file path, whole or not at all.
func copyOut(ctx context.Context, f *os.File, path string) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	err = transferFile(ctx, out, f)
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// readError makes every error that means "missing" an fs.ErrNotExist.
func readError(err error) error {
	if isMissing(err) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
