package disk

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// makeRoot makes the folder of a store and syncs its parents, so that it survives a
// crash.
func makeRoot(dir string) error {
	var made []string
	for p := dir; ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, p)
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	for _, p := range made {
		if err := syncOpened(os.Open(filepath.Dir(p))); err != nil {
			return err
		}
	}
	return nil
}

// inFolder runs step, which makes a name in the folder dir. If the folder is missing,
// it makes the folder and runs step again.
func (s *rawStore) inFolder(dir string, step func() error) error {
	s.folders.RLock()
	err := step()
	s.folders.RUnlock()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	s.folders.Lock()
	defer s.folders.Unlock()
	if err := s.makeFolder(dir); err != nil {
		return err
	}
	return step()
}

// makeFolder makes dir and its parents. Each is synced before the next is made.
func (s *rawStore) makeFolder(dir string) error {
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		err := s.root.Mkdir(dir[:i], dirMode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := s.syncFolder(path.Dir(dir[:i])); err != nil {
			return err
		}
	}
	return nil
}

// prune removes dir and its parents as far as they are empty, and returns the first
// that stays. A folder that cannot be removed for another reason stays as well: an
// empty folder does no harm.
func (s *rawStore) prune(dir string) string {
	s.folders.Lock()
	defer s.folders.Unlock()
	for ; dir != "."; dir = path.Dir(dir) {
		fi, err := s.root.Lstat(dir)
		if isMissing(err) || err == nil && !fi.IsDir() {
			continue
		}
		if err != nil || s.root.Remove(dir) != nil {
			break
		}
	}
	return dir
}

// syncNearest syncs dir, so that names that were made or removed in it survive a crash.
// If dir is gone, it syncs the nearest parent that exists.
func (s *rawStore) syncNearest(dir string) error {
	for ; dir != "."; dir = path.Dir(dir) {
		if err := s.syncFolder(dir); !isMissing(err) {
			return err
		}
	}
	return s.syncFolder(dir)
}

// syncFolder syncs the names in dir.
func (s *rawStore) syncFolder(dir string) error {
	return syncOpened(s.root.Open(dir))
}

// syncOpened takes what opening a folder returned. Some network file systems cannot
// sync a folder and say so; nothing more can be done then.
func syncOpened(f *os.File, err error) error {
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
