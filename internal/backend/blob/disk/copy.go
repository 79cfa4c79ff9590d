package disk

import (
	"context"
	"errors"
	"path"
	"syscall"

	"github.com/spool-video/spool/internal/backend/blob"
)

// Copy gives the object's file a second name.
func (s *rawStore) Copy(ctx context.Context, from, to, etag string) (blob.Info, error) {
	info, err := s.link(ctx, from, to, etag)
	if cannotLink(err) {
		return s.duplicate(ctx, from, to, etag)
	}
	return info, err
}

// Prepare only checks that the object exists: the copy is a link.
func (s *rawStore) Prepare(_ context.Context, from, to string) (blob.Prepared, error) {
	if _, err := s.stat(from); err != nil {
		return nil, err
	}
	return prepared{s, from, to}, nil
}

// prepared is a copy that Publish makes as a whole.
type prepared struct {
	store    *rawStore
	from, to string
}

func (p prepared) Publish(ctx context.Context) (blob.Info, error) {
	return p.store.Copy(ctx, p.from, p.to, "")
}

func (prepared) Discard() {}

func (s *rawStore) link(ctx context.Context, from, to, etag string) (blob.Info, error) {
	if err := ctx.Err(); err != nil {
		return blob.Info{}, err
	}
	// If the source is missing, no folder is made for the target.
	if _, err := s.statVersion(from, etag); err != nil {
		return blob.Info{}, err
	}
	temp := s.tempName(path.Dir(to))
	info, err := s.linkVia(temp, from, to, etag)
	if err != nil {
		s.discard(temp)
		return blob.Info{}, err
	}
	return info, s.syncNearest(path.Dir(to))
}

// replacedTries is how often linking is tried again when a writer replaces the object
// at that moment: Linux looks the file up first, and then finds that it has lost its
// name.
const replacedTries = 10

// linkVia links from to temp, checks that this is the right version, and only then
// renames it to to.
func (s *rawStore) linkVia(temp, from, to, etag string) (blob.Info, error) {
	err := s.inFolder(path.Dir(to), func() error { return s.root.Link(from, temp) })
	for range replacedTries {
		if !isMissing(err) {
			break
		}
		if _, gone := s.statVersion(from, etag); gone != nil {
			return blob.Info{}, gone
		}
		err = s.inFolder(path.Dir(to), func() error { return s.root.Link(from, temp) })
	}
	if err != nil {
		return blob.Info{}, explain(err)
	}
	info, err := s.statVersion(temp, etag)
	if err != nil {
		return blob.Info{}, err
	}
	if err := s.root.Rename(temp, to); err != nil {
		return blob.Info{}, explain(err)
	}
	s.idle.drop(to)
	// If temp and to were links of one file already, rename did nothing, and temp is
	// still there.
	if err := s.root.Remove(temp); err != nil && !isMissing(err) {
		return blob.Info{}, err
	}
	info.Key = to
	return info, nil
}

func (s *rawStore) statVersion(name, etag string) (blob.Info, error) {
	info, err := s.stat(name)
	if err != nil {
		return blob.Info{}, err
	}
	if etag != "" && info.ETag != etag {
		return blob.Info{}, blob.ErrChanged
	}
	return info, nil
}

// duplicate copies the bytes, inside the kernel if possible.
func (s *rawStore) duplicate(ctx context.Context, from, to, etag string) (blob.Info, error) {
	o, err := s.open(from)
	if err != nil {
		return blob.Info{}, err
	}
	defer o.Close()
	if etag != "" && o.info.ETag != etag {
		return blob.Info{}, blob.ErrChanged
	}
	return s.Put(ctx, to, o.File)
}

// cannotLink reports whether err means that the file system has no more links
// for this file, or none at all.
func cannotLink(err error) bool {
	return errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EPERM) ||
		errors.Is(err, syscall.EXDEV) || errors.Is(err, errors.ErrUnsupported)
}
