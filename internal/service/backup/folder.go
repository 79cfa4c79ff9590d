package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spool-video/spool/internal/backend/blob"
)

const (
	folderMark    = "spool-backup-folder.json" // says that a folder belongs to backups
	snapshots     = "snapshots"
	folderObjects = "objects"
	snapshotEnd   = ".spool"
	unsynced      = "unsynced" // is there while objects may not be on disk yet
	damageMark    = "damaged"  // is there when an object was found damaged
	// snapshotTime is the form of a snapshot's name, which sorts by time.
	snapshotTime = "20060102T150405Z"
)

// folderSink writes a backup into a folder: objects once, and a small file for each run.
type folderSink struct {
	dir  string
	name string
	// doubtful means that an earlier run died, or that a check has found damage. Objects in the folder may then
	// be incomplete, so each is compared with its checksum before it is used.
	doubtful bool
	*archive
}

// openFolder makes or opens a folder of backups and locks it.
func openFolder(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, folderMark)); errors.Is(err, fs.ErrNotExist) {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			return nil, errors.Join(err, fmt.Errorf("%s is not empty, and not a folder of backups: name another one", dir))
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, folderMark), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("another backup is writing to %s", dir)
	}
	_, err = lock.WriteAt([]byte(`{"format":1}`+"\n"), 0)
	return lock, err
}

func (s *folderSink) begin(_ context.Context, h Header, _ int64) (err error) {
	dir := filepath.Join(s.dir, snapshots)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	mark := filepath.Join(s.dir, unsynced)
	if _, err := os.Stat(mark); err == nil {
		s.doubtful = true // and it stays: another user may have made it, and this one could not write to it
	} else if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return explainFull(mark, err)
	}
	if err := syncFolder(s.dir); err != nil {
		return err
	}
	s.takeOverDamage()
	s.name = h.CreatedAt.UTC().Format(snapshotTime)
	target := filepath.Join(dir, s.name+snapshotEnd)
	if _, err := os.Stat(target); err == nil {
		return fmt.Errorf("there is a backup of this second already: %s", s.name)
	}
	s.archive, err = createArchive(target, h)
	return err
}

// takeOverDamage looks whether a check has found damage. It removes the mark at once, because the mark of a run has
// the same effect until this run ends: damage that is found from now on is for the next run. A mark that cannot be
// removed is for both.
func (s *folderSink) takeOverDamage() {
	mark := filepath.Join(s.dir, damageMark)
	if _, err := os.Stat(mark); err == nil {
		s.doubtful = true
		_ = os.Remove(mark)
	}
}

// storedAs is what the file of an object is called: its key and its version. Its checksum follows.
func storedAs(info blob.Info) string {
	sum := sha256.Sum256([]byte(info.ETag))
	return fmt.Sprintf("%s~%d-%s~", info.Key, info.Size, hex.EncodeToString(sum[:8]))
}

// findStored finds an object that an earlier run has stored.
func (s *folderSink) findStored(ctx context.Context, info blob.Info) (entry, bool, error) {
	prefix := storedAs(info)
	names, err := os.ReadDir(filepath.Join(s.dir, folderObjects, filepath.FromSlash(path.Dir(prefix))))
	if errors.Is(err, fs.ErrNotExist) {
		return entry{}, false, nil
	}
	if err != nil {
		return entry{}, false, err
	}
	for _, f := range names {
		sum, ok := strings.CutPrefix(f.Name(), path.Base(prefix))
		if fi, err := f.Info(); !ok || err != nil || len(sum) != sha256.Size*2 || fi.Size() != info.Size {
			continue
		}
		e := entry{Name: objectsRoot + info.Key, Size: info.Size, SHA256: sum, Stored: prefix + sum}
		if s.doubtful && checkStored(ctx, s.dir, e) != nil {
			continue // it is stored again
		}
		return e, true, s.manifest.writeLine(e)
	}
	return entry{}, false, nil
}

func (s *folderSink) put(_ context.Context, info blob.Info, r io.Reader) (entry, error) {
	prefix := storedAs(info)
	dir := filepath.Join(s.dir, folderObjects, filepath.FromSlash(path.Dir(prefix)))
	if err := checkSpace(s.dir, info.Size); err != nil {
		return entry{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return entry{}, explainFull(s.dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, ".partial"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return entry{}, explainFull(s.dir, err)
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(f, sum)}, struct{ io.Reader }{r}, make([]byte, 256<<10))
	if err == nil && n != info.Size {
		err = fmt.Errorf("it has %d bytes instead of %d", n, info.Size)
	}
	if err = errors.Join(err, syncFile(f), f.Close()); err != nil {
		_ = os.Remove(f.Name()) // the next run replaces it
		return entry{}, explainFull(s.dir, err)
	}
	e := entry{Name: objectsRoot + info.Key, Size: n, SHA256: hexSum(sum), Stored: prefix + hexSum(sum)}
	if err := os.Rename(f.Name(), filepath.Join(s.dir, folderObjects, filepath.FromSlash(e.Stored))); err != nil {
		return entry{}, err
	}
	return e, s.manifest.writeLine(e)
}

// finish has all objects on disk before the snapshot that names them.
func (s *folderSink) finish(_ context.Context, tasks, rows *lineFile, sum *Summary) error {
	if err := syncAll(s.dir); err != nil {
		return explainFull(filepath.Join(s.dir, folderObjects), err)
	}
	if err := s.archive.finish(tasks, rows, sum); err != nil {
		return err
	}
	return os.Remove(filepath.Join(s.dir, unsynced))
}

func (s *folderSink) abandon() {
	if s.archive != nil {
		s.archive.abandon()
	}
}

// ToFolder adds a backup to a folder, and then removes all but the newest keep ones; 0 keeps all. It
// returns the name of the new one, also with a DamagedSnapshotsError or a NotNotedError.
func ToFolder(ctx context.Context, src Source, dir string, keep int, o Options) (*Summary, string, error) {
	lock, err := openFolder(dir)
	if err != nil {
		return nil, "", err
	}
	defer lock.Close()
	o.Scratch = cmp.Or(o.Scratch, dir)
	to := &folderSink{dir: dir}
	summary, err := backUp(ctx, src, to, o)
	if summary == nil || keep <= 0 {
		return summary, to.name, err
	}
	return summary, to.name, errors.Join(err, prune(ctx, dir, keep))
}

// SnapshotInfo is one backup of a folder.
type SnapshotInfo struct {
	Name   string `json:"name"`
	Header Header `json:"-"`
	Summary
	Damaged    bool   `json:"damaged,omitempty"`
	Unreadable string `json:"unreadable,omitempty"` // why it cannot be read, if it is not known to be damaged
}

// List returns the backups in a folder, the oldest first. One that cannot be read hides no other.
func List(ctx context.Context, dir string) ([]SnapshotInfo, error) {
	names, err := snapshotNames(dir)
	if err != nil {
		return nil, err
	}
	all := []SnapshotInfo{}
	for _, name := range names {
		info, err := describe(ctx, dir, name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if isDamaged(err) {
			info = SnapshotInfo{Name: name, Damaged: true}
		} else if err != nil {
			info = SnapshotInfo{Name: name, Unreadable: err.Error()}
		}
		all = append(all, info)
	}
	return all, nil
}

func describe(ctx context.Context, dir, name string) (SnapshotInfo, error) {
	r, err := openTar(ctx, snapshotPath(dir, name), "")
	if err != nil {
		return SnapshotInfo{}, err
	}
	defer r.close()
	summary, err := r.read(members{stored: func(entry) error { return nil }})
	if err != nil {
		return SnapshotInfo{}, err
	}
	return SnapshotInfo{Name: name, Header: r.header, Summary: *summary}, nil
}

// isDamaged reports whether an error means that a backup is damaged, or something else instead of one.
func isDamaged(err error) bool {
	_, is := errors.AsType[*DamagedError](err)
	return is || errors.Is(err, errNoBackup)
}

func snapshotPath(dir, name string) string { return filepath.Join(dir, snapshots, name+snapshotEnd) }

// snapshotNames returns the names of the complete backups in a folder, the oldest first.
func snapshotNames(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, folderMark)); err != nil {
		return nil, fmt.Errorf("%s is not a folder of backups", dir)
	}
	entries, err := os.ReadDir(filepath.Join(dir, snapshots))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), snapshotEnd); ok && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// choose returns the file of the snapshot that was asked for, or of the newest one.
func choose(dir, name string) (string, error) {
	names, err := snapshotNames(dir)
	if err != nil {
		return "", err
	}
	switch {
	case len(names) == 0:
		return "", fmt.Errorf("%s has no complete backup", dir)
	case name == "":
		return snapshotPath(dir, names[len(names)-1]), nil
	case !slices.Contains(names, name):
		return "", fmt.Errorf("%s has no backup called %s; spool restore --list %s shows what it has", dir, name, dir)
	}
	return snapshotPath(dir, name), nil
}

// DamagedSnapshotsError means that a new backup is complete, but others in its folder cannot be read.
type DamagedSnapshotsError struct {
	dir        string
	Names      []string
	Unreadable []error // why others cannot be read that may not be damaged; each names its file
}

func (e *DamagedSnapshotsError) Error() string {
	const counts = " They do not count for --keep, and no space is freed while they are there"
	var texts []string
	if len(e.Names) > 0 {
		texts = append(texts, fmt.Sprintf("backups in %s are damaged and cannot be restored: %s.%s: remove these files from its folder %s",
			e.dir, strings.Join(e.Names, ", "), counts, snapshots))
	}
	if len(e.Unreadable) > 0 {
		texts = append(texts, fmt.Sprintf("backups in %s cannot be read: %v.%s", e.dir, errors.Join(e.Unreadable...), counts))
	}
	return strings.Join(texts, "; and ")
}

// add notes why a backup cannot be read.
func (e *DamagedSnapshotsError) add(name string, err error) {
	if isDamaged(err) {
		e.Names = append(e.Names, name+snapshotEnd)
	} else {
		e.Unreadable = append(e.Unreadable, fmt.Errorf("%s (%w)", name+snapshotEnd, err))
	}
}

func (e *DamagedSnapshotsError) isEmpty() bool { return len(e.Names)+len(e.Unreadable) == 0 }

// prune removes old backups, and then the objects that none of the others has. Those to keep are read
// before anything is removed: one that is damaged, or cannot be read, does not count and stays.
func prune(ctx context.Context, dir string, keep int) error {
	names, err := snapshotNames(dir)
	if err != nil {
		return err
	}
	// Hashes take a tenth of the memory of the names. Two names with the same hash keep an object too many.
	used := map[uint64]struct{}{}
	damaged := &DamagedSnapshotsError{dir: dir}
	for good := 0; good < keep && len(names) > 0; names = names[:len(names)-1] {
		name := names[len(names)-1]
		err := readSnapshot(ctx, dir, name, func(e entry) { used[nameHash(e.Stored)] = struct{}{} })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			damaged.add(name, err)
			continue
		}
		good++
	}
	for _, name := range names { // the others
		if rm := os.Remove(snapshotPath(dir, name)); rm != nil { // it does not keep the rest
			err = errors.Join(err, rm)
		}
	}
	if err := errors.Join(err, syncFolder(filepath.Join(dir, snapshots))); err != nil {
		return err
	}
	if !damaged.isEmpty() { // it is not known which objects they need
		return damaged
	}
	return removeUnused(ctx, filepath.Join(dir, folderObjects), used)
}

// readSnapshot calls f with the objects of a backup in a folder.
func readSnapshot(ctx context.Context, dir, name string, f func(entry)) error {
	r, err := openTar(ctx, snapshotPath(dir, name), "")
	if err != nil {
		return err
	}
	defer r.close()
	_, err = r.read(members{stored: func(e entry) error { f(e); return nil }})
	return err
}

func nameHash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// removeUnused removes the files below root that are not used, and folders that become empty.
func removeUnused(ctx context.Context, root string, used map[uint64]struct{}) error {
	var folders []string
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if d.IsDir() {
			folders = append(folders, file)
			return nil
		}
		name, err := filepath.Rel(root, file)
		if _, is := used[nameHash(filepath.ToSlash(name))]; is || err != nil {
			return err
		}
		return os.Remove(file)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no backup had an object
	}
	for _, folder := range slices.Backward(folders) {
		_ = os.Remove(folder) // unless there is something in it
	}
	return err
}

// IsFolder reports whether a backup to this path is one to a folder: it ends with a slash, or the folder
// exists.
func IsFolder(path string) bool {
	fi, err := os.Stat(path)
	return strings.HasSuffix(path, "/") || err == nil && fi.IsDir()
}

// openStored opens an object of a folder.
func openStored(dir string, e entry) (*os.File, error) {
	if !filepath.IsLocal(filepath.FromSlash(e.Stored)) {
		return nil, &DamagedError{path: dir, why: "the name of an object is wrong"}
	}
	f, err := os.Open(filepath.Join(dir, folderObjects, filepath.FromSlash(e.Stored)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damagedObject(dir, "the object "+e.Name+" is missing")
	}
	return f, err
}

// damagedObject is the error of an object that is not what was stored.
func damagedObject(dir, why string) error { return &DamagedError{path: dir, why: why, object: true} }

// unreadableObject is the error of an object on a part of a disk that is broken.
func unreadableObject(dir string, e entry, err error) error {
	return damagedObject(dir, fmt.Sprintf("the object %s cannot be read (%v)", e.Name, err))
}

// markDamage has the next run compare the objects that it finds with their checksums if err is one of a damaged
// object, and returns err. It looks at lengths otherwise, and every backup from now on would have the damage.
func markDamage(dir string, err error) error {
	if e, is := errors.AsType[*DamagedError](err); is && e.object {
		mark := filepath.Join(dir, damageMark)
		_, missing := os.Stat(mark)
		e.noted = missing == nil || os.WriteFile(mark, nil, 0o600) == nil // the folder may be one that can only be read
	}
	return err
}
