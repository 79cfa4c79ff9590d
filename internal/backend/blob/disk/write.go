package disk

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"syscall"

	"github.com/spool-video/spool/internal/backend/blob"
)

// Put stores what r yields. Until r has ended and everything is on disk, the
// bytes are in a temporary file beside the final name.
func (s *rawStore) Put(ctx context.Context, key string, r io.Reader) (blob.Info, error) {
	if err := ctx.Err(); err != nil {
		return blob.Info{}, err
	}
	temp := s.tempName(path.Dir(key))
	f, err := s.create(temp)
	if err != nil {
		s.discard(temp)
		return blob.Info{}, explain(err)
	}
	stored := false
	defer func() { // also after a panic of r
		if !stored {
			f.Close()
			s.discard(temp)
		}
	}()

	if err := transfer(ctx, f, r); err != nil {
		return blob.Info{}, err
	}
	info, err := s.finish(f, temp, key)
	if err != nil {
		return blob.Info{}, explain(err)
	}
	if err := ctx.Err(); err != nil {
		return blob.Info{}, err
	}
	if err := s.root.Rename(temp, key); err != nil {
		return blob.Info{}, explain(err)
	}
	stored = true
	s.idle.drop(key)
	// A Delete may have removed the object and its folder by now.
	return info, s.syncNearest(path.Dir(key))
}

// finish sets the time of a file that was written, syncs it and closes it.
func (s *rawStore) finish(f *os.File, temp, key string) (blob.Info, error) {
	now := s.now()
	if err := s.root.Chtimes(temp, now, now); err != nil {
		return blob.Info{}, err
	}
	if err := f.Sync(); err != nil {
		return blob.Info{}, err
	}
	fi, err := f.Stat()
	if err != nil {
		return blob.Info{}, err
	}
	return s.describe(key, fi), f.Close()
}

// PutFile renames the file into the store. Where that is impossible, because it
// lies on another file system or shares its inode with another name, its bytes
// are copied.
func (s *rawStore) PutFile(ctx context.Context, key, file string) (blob.Info, error) {
	if err := ctx.Err(); err != nil {
		return blob.Info{}, err
	}
	f, fi, err := blob.OpenRegular(file)
	if err != nil {
		return blob.Info{}, err
	}
	defer f.Close()
	if links(fi) > 1 { // setting its time would change the ETag of its other name
		return s.putAndRemove(ctx, key, f)
	}
	info, err := s.takeOver(key, f)
	if errors.Is(err, syscall.EXDEV) {
		return s.putAndRemove(ctx, key, f)
	}
	return info, err
}

// takeOver moves the file f into place under key.
func (s *rawStore) takeOver(key string, f *os.File) (blob.Info, error) {
	now := s.now()
	if err := errors.Join(f.Chmod(fileMode), os.Chtimes(f.Name(), now, now), f.Sync()); err != nil {
		return blob.Info{}, explain(err)
	}
	fi, err := f.Stat()
	if err != nil {
		return blob.Info{}, err
	}
	dir := path.Dir(key)
	err = s.inFolder(dir, func() error { return os.Rename(f.Name(), s.pathOf(key)) })
	if err != nil {
		s.prune(dir)
		return blob.Info{}, explain(err)
	}
	s.idle.drop(key)
	return s.describe(key, fi), s.syncNearest(dir)
}

func (s *rawStore) putAndRemove(ctx context.Context, key string, f *os.File) (blob.Info, error) {
	info, err := s.Put(ctx, key, f)
	if err != nil {
		return blob.Info{}, err
	}
	return info, os.Remove(f.Name())
}

// create creates a file for writing, with its folder.
func (s *rawStore) create(name string) (f *os.File, err error) {
	err = s.inFolder(path.Dir(name), func() error {
		f, err = s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		return err
	})
	return f, err
}

// tempName returns a new name in dir that cannot be a key.
func (s *rawStore) tempName(dir string) string {
	return path.Join(dir, s.ownTempPrefix()+strconv.FormatUint(s.temps.Add(1), 10))
}

// discard removes a temporary file and the folders that were made for it. What it
// fails to remove, CleanTemp removes later.
func (s *rawStore) discard(temp string) {
	_ = s.root.Remove(temp)
	s.prune(path.Dir(temp))
}
