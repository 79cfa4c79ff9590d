package disk

import (
	"context"
	"io/fs"
	"iter"
	"path"
	"strings"

	"github.com/spool-video/spool/internal/backend/blob"
)

// List walks the part of the tree that can hold keys with the prefix.
func (s *rawStore) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		visit := func(name string, d fs.DirEntry) error {
			if d.IsDir() {
				return enterFolder(name+"/", prefix)
			}
			if !d.Type().IsRegular() || !strings.HasPrefix(name, prefix) {
				return nil
			}
			info, err := s.stat(name)
			if isMissing(err) {
				return nil
			}
			if err != nil {
				return err
			}
			if !yield(info, nil) {
				return fs.SkipAll
			}
			return nil
		}
		err := s.walk(ctx, path.Dir(prefix), func(name string, d fs.DirEntry) error {
			if blob.CheckKey(name) == nil {
				return visit(name, d)
			}
			return skipEntry(d)
		})
		if err != nil {
			yield(blob.Info{}, err)
		}
	}
}

// enterFolder skips a folder that cannot hold keys with the prefix.
func enterFolder(dir, prefix string) error {
	if strings.HasPrefix(dir, prefix) || strings.HasPrefix(prefix, dir) {
		return nil
	}
	return fs.SkipDir
}

// skipEntry skips what is not ours, such as a disk's lost+found.
func skipEntry(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// walk calls visit for everything below start, except what vanishes meanwhile.
func (s *rawStore) walk(ctx context.Context, start string, visit func(string, fs.DirEntry) error) error {
	return fs.WalkDir(s.root.FS(), start, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case isMissing(err):
			return nil
		case err != nil:
			return err
		case name == ".":
			return nil
		}
		return visit(name, d)
	})
}
