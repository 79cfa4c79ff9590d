package backup

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/diskspace"
)

// archive writes a tar file. It has another name until it is complete.
type archive struct {
	path     string
	file     *os.File
	tar      *tar.Writer
	manifest *lineFile
	created  time.Time
	complete bool // it has its name
}

// partialOf is the name of a file that is not complete yet.
func partialOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".partial")
}

// openPartial opens the file that becomes the one at path, and locks it.
func openPartial(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(partialOf(path), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		mine, err := lockPartial(f)
		if err != nil {
			err = fmt.Errorf("another backup is writing %s", path)
		}
		if mine {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
}

// lockPartial locks a file that was just opened. It reports false if the file has another name by now: a
// backup that ended in between has completed or removed it.
func lockPartial(f *os.File) (bool, error) {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, err
	}
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(f.Name())
	return err == nil && os.SameFile(opened, named), nil
}

// createArchive begins a file. A file of the same name that a killed process left is replaced. A file that
// is still being written is left alone.
func createArchive(path string, h Header) (*archive, error) {
	f, err := openPartial(path)
	if err != nil {
		return nil, err
	}
	a := &archive{path: path, file: f, tar: tar.NewWriter(f), created: h.CreatedAt}
	if err := f.Truncate(0); err != nil {
		a.abandon()
		return nil, err
	}
	if a.manifest, err = newLineFile(filepath.Dir(path)); err != nil {
		a.abandon()
		return nil, err
	}
	text, err := json.Marshal(h)
	if err == nil {
		_, err = a.add(headerName, int64(len(text)), bytes.NewReader(text))
	}
	if err != nil {
		a.abandon()
		return nil, err
	}
	return a, nil
}

// add writes a member and its line of the manifest.
func (a *archive) add(name string, size int64, r io.Reader) (entry, error) {
	sum, err := a.write(name, size, r)
	if err != nil {
		return entry{}, explainFull(a.path, err)
	}
	e := entry{Name: name, Size: size, SHA256: sum}
	return e, a.manifest.writeLine(e)
}

// write writes a member and returns its checksum.
func (a *archive) write(name string, size int64, r io.Reader) (string, error) {
	h := &tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: a.created, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(h); err != nil {
		return "", err
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(a.tar, sum)}, struct{ io.Reader }{r}, make([]byte, 256<<10))
	if err == nil && n != size {
		err = fmt.Errorf("it has %d bytes instead of %d", n, size)
	}
	return hexSum(sum), err
}

// finish writes what comes last, and gives the file its name.
func (a *archive) finish(tasks, rows *lineFile, s *Summary) error {
	for _, part := range []struct {
		name string
		from *lineFile
	}{{tasksName, tasks}, {rowsName, rows}} {
		r, err := part.from.reader()
		if err != nil {
			return err
		}
		if _, err := a.add(part.name, r.Size(), r); err != nil {
			return err
		}
	}
	if err := a.manifest.out.Flush(); err != nil {
		return explainFull(a.path, err)
	}
	seal, err := s.checksum(a.manifest.sum)
	if err != nil {
		return err
	}
	s.SHA256 = seal
	if err := a.manifest.writeLine(lastLine{s}); err != nil {
		return explainFull(a.path, err)
	}
	r, err := a.manifest.reader()
	if err != nil {
		return explainFull(a.path, err)
	}
	if _, err := a.write(manifestName, r.Size(), r); err != nil {
		return explainFull(a.path, err)
	}
	if err := errors.Join(a.tar.Close(), a.file.Sync()); err != nil {
		return explainFull(a.path, err)
	}
	if err := os.Rename(partialOf(a.path), a.path); err != nil {
		return err
	}
	a.complete = true
	a.manifest.close()
	return errors.Join(a.file.Close(), syncFolder(filepath.Dir(a.path)))
}

// abandon removes the unfinished file.
func (a *archive) abandon() {
	if a.complete { // what has the name of an unfinished file now is another one
		return
	}
	if a.manifest != nil {
		a.manifest.close()
	}
	_ = os.Remove(partialOf(a.path)) // the next backup of this name would replace it
	a.file.Close()
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// syncFolder brings the names in a folder to disk.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// explainFull says which disk is full.
func explainFull(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("the disk of %s is full: make space, or write the backup elsewhere: %w", filepath.Dir(path), err)
	}
	return err
}

// checkSpace refuses to begin what cannot end.
func checkSpace(dir string, bytes int64) error {
	free, err := diskspace.Free(dir)
	if err != nil {
		return fmt.Errorf("measure the free disk space of %s: %w", dir, err)
	}
	if needed := uint64(bytes) + uint64(bytes)/50; free < needed { // 2 % for thumbnails and headers
		return fmt.Errorf("the disk of %s has %s free, and the backup needs about %s: make space, or write it elsewhere", dir, humanize.Bytes(free), humanize.Bytes(needed))
	}
	return nil
}

// fileSink writes a backup into one file.
type fileSink struct {
	path string
	*archive
}

func (s *fileSink) begin(_ context.Context, h Header, bytes int64) (err error) {
	if err := checkSpace(filepath.Dir(s.path), bytes); err != nil {
		return err
	}
	s.archive, err = createArchive(s.path, h)
	return err
}

func (s *fileSink) findStored(context.Context, blob.Info) (entry, bool, error) {
	return entry{}, false, nil
}

func (s *fileSink) put(_ context.Context, info blob.Info, r io.Reader) (entry, error) {
	return s.add(objectsRoot+info.Key, info.Size, r)
}

func (s *fileSink) finish(_ context.Context, tasks, rows *lineFile, sum *Summary) error {
	return s.archive.finish(tasks, rows, sum)
}

func (s *fileSink) abandon() {
	if s.archive != nil {
		s.archive.abandon()
	}
}

// ToFile writes a backup into a file, which it replaces when it is complete, also with a NotNotedError.
func ToFile(ctx context.Context, src Source, path string, o Options) (*Summary, error) {
	path = followLinks(path) // the file is replaced, and not the link to it
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s: make it first", dir)
	}
	o.Scratch = cmp.Or(o.Scratch, dir)
	if err := checkReplaceable(ctx, path); err != nil {
		return nil, err
	}
	return backUp(ctx, src, &fileSink{path: path}, o)
}

// followLinks returns the file that a path leads to, which need not exist yet.
func followLinks(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	target, noLink := os.Readlink(path)
	if noLink != nil || !errors.Is(err, fs.ErrNotExist) { // links in a circle give another error
		return path
	}
	if !filepath.IsAbs(target) {
		dir := filepath.Dir(path)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		target = filepath.Join(dir, target)
	}
	return followLinks(target)
}

// checkReplaceable refuses to replace what is no backup: a device, or a file that was named by mistake.
func checkReplaceable(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0:
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no ordinary file, and a backup would replace it: name another one", path)
	}
	r, err := openTar(ctx, path, filepath.Dir(path))
	_, damaged := errors.AsType[*DamagedError](err)
	switch {
	case err == nil:
		r.close()
		return nil
	case damaged || errors.Is(err, errNewer) || errors.Is(err, errUnreleased):
		return nil
	case errors.Is(err, errNoBackup):
		return fmt.Errorf("%s exists and is no backup: remove it first, or name another file", path)
	}
	return fmt.Errorf("see whether %s is a backup, which may be replaced: %w", path, err)
}
