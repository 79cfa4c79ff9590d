package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
)

// tempPrefix starts the name of every temporary file. Because of the dot, none of them
// is a key.
const tempPrefix = ".tmp-"

// ownTempPrefix starts the names of this Store's temporary files.
func (s *rawStore) ownTempPrefix() string { return tempPrefix + s.run + "-" }

// Delete removes the objects and the folders that they leave empty.
func (s *rawStore) Delete(ctx context.Context, keys ...string) error {
	var errs []error
	var stopped error
	touched := make(map[string]bool)
	for _, key := range keys {
		if stopped = ctx.Err(); stopped != nil {
			break
		}
		if err := s.unlink(key); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
			continue
		}
		touched[path.Dir(key)] = true
	}
	return errors.Join(stopped, blob.JoinErrors(errs), s.pruneAndSync(touched))
}

func (s *rawStore) unlink(key string) error {
	// Remove would remove an empty folder as well, but a folder is not an object.
	fi, err := s.root.Lstat(key)
	if err == nil && !fi.IsDir() {
		err = s.root.Remove(key)
		s.idle.drop(key)
	}
	if isMissing(err) {
		return nil
	}
	return err
}

// pruneAndSync removes the folders that are empty now, and brings the
// removals to disk. A folder is synced even if nothing was removed from it just
// now: the caller may be repeating a Delete that failed after its removal.
func (s *rawStore) pruneAndSync(dirs map[string]bool) error {
	left := make(map[string]bool)
	for dir := range dirs {
		left[s.prune(dir)] = true
	}
	for dir := range left {
		if err := s.syncNearest(dir); err != nil {
			return fmt.Errorf("bring a deletion to disk: %w", err)
		}
	}
	return nil
}

// AbortUnfinished finds nothing: an interrupted write leaves a temporary file, and
// CleanTemp removes those.
func (s *rawStore) AbortUnfinished(context.Context, string, func(string, time.Time) (bool, error)) (int, error) {
	return 0, nil
}

func (s *rawStore) cleanTemp(ctx context.Context) (int, error) {
	var removed int
	var dirs []string
	err := s.walk(ctx, ".", func(name string, d fs.DirEntry) error {
		base := d.Name()
		switch {
		case d.IsDir() && blob.CheckKey(name) == nil:
			dirs = append(dirs, name)
			return nil
		case !d.Type().IsRegular(), !strings.HasPrefix(base, tempPrefix), strings.HasPrefix(base, s.ownTempPrefix()):
			return skipEntry(d)
		}
		if err := s.root.Remove(name); err != nil && !isMissing(err) {
			return err
		}
		removed++
		return nil
	})
	if err != nil {
		return removed, fmt.Errorf("clean temporary files: %w", err)
	}
	for _, dir := range slices.Backward(dirs) { // children before parents
		s.prune(dir)
	}
	return removed, nil
}
