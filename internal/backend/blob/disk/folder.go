package disk

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// makeRoot makes the folder of a store so that it survives a crash.
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

// inFolder runs step, which makes a name in the folder dir, and makes the folder
// first if it is missing. A second fs.ErrNotExist is then not the folder's.
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

// makeFolder makes dir and its parents, each safely on disk before the next.
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

// prune removes dir and its parents as far as they are empty, and returns the
// first that stays. A folder that cannot be removed for another reason stays,
// too: an empty folder harms nobody.
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

// syncNearest makes the names in dir last, also that something is gone from it.
// If dir is gone as well, it is its nearest parent that has to be written.
func (s *rawStore) syncNearest(dir string) error {
	for ; dir != "."; dir = path.Dir(dir) {
		if err := s.syncFolder(dir); !isMissing(err) {
			return err
		}
	}
	return s.syncFolder(dir)
}

// syncFolder makes the names in dir last.
func (s *rawStore) syncFolder(dir string) error {
	return syncOpened(s.root.Open(dir))
}

// syncOpened takes what opening a folder returned. File systems that cannot
// sync a folder (some network ones) say so; there is nothing more to do then.
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
