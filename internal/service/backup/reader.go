package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
)

// maxHeader bounds what is read before anything is known about a file.
const maxHeader = 1 << 20

// errNoBackup means that a file is something else.
var errNoBackup = errors.New("is not a backup of Spool")

// tarReader reads a tar file from its beginning to its end, and compares it with its manifest there.
type tarReader struct {
	path   string
	file   *os.File
	tar    *tar.Reader
	header Header

	current entry
	sum     hash.Hash
	seen    *lineFile // a line for each member, as the manifest has it
}

// openTar opens a backup and reads its header.
func openTar(ctx context.Context, path, scratch string) (_ *tarReader, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &tarReader{path: path, file: f, tar: tar.NewReader(&interruptible{ctx, f})}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.seen, err = newLineFile(scratch); err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	name, body, err := r.next()
	if _, is := errors.AsType[*DamagedError](err); is || err == nil && name != headerName {
		return nil, fmt.Errorf("%s %w", path, errNoBackup)
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(body, maxHeader))
	if err != nil {
		return nil, r.damaged(err)
	}
	if err := json.Unmarshal(text, &r.header); err != nil {
		return nil, &DamagedError{path: path, why: "its header cannot be read"}
	}
	return r, r.header.check()
}

// interruptible ends reading with its context.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

func (r *tarReader) close() {
	r.file.Close()
	if r.seen != nil {
		r.seen.close()
	}
}

// next returns the next member. What is left of the one before is read first, for its checksum.
func (r *tarReader) next() (string, io.Reader, error) {
	if err := r.endMember(); err != nil {
		return "", nil, err
	}
	h, err := r.tar.Next()
	if err != nil {
		return "", nil, r.damaged(err)
	}
	r.current, r.sum = entry{Name: h.Name, Size: h.Size}, sha256.New()
	return h.Name, io.TeeReader(r.tar, r.sum), nil
}

// endMember records the member that was read.
func (r *tarReader) endMember() error {
	if r.sum == nil {
		return nil
	}
	if _, err := io.Copy(r.sum, r.tar); err != nil {
		return r.damaged(err)
	}
	r.current.SHA256 = hexSum(r.sum)
	r.sum = nil
	return r.seen.writeLine(r.current)
}

// damaged says what an error of reading means. A context that has ended means nothing about the file.
func (r *tarReader) damaged(err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &DamagedError{path: r.path, why: "it is cut off"}
	case errors.Is(err, tar.ErrHeader):
		return &DamagedError{path: r.path, why: "a part of it cannot be read"}
	}
	return fmt.Errorf("read %s: %w", r.path, err)
}

// verify reads the manifest, which is the member that next has just returned, and compares it with what
// was read. stored is called with the objects of a folder, which are no members; nil: there are none.
func (r *tarReader) verify(body io.Reader, stored func(entry) error) (*Summary, error) {
	r.sum = nil // the manifest does not name itself
	lines, err := r.seen.reader()
	if err != nil {
		return nil, err
	}
	read := json.NewDecoder(lines)
	summary, err := readManifest(r.path, body, func(e entry) error {
		if e.Stored != "" {
			if stored == nil {
				return &DamagedError{path: r.path, why: "it names objects that are in a folder"}
			}
			return stored(e)
		}
		var have entry
		if err := read.Decode(&have); err != nil {
			return &DamagedError{path: r.path, why: e.Name + " is missing"}
		}
		if have != e {
			return &DamagedError{path: r.path, why: "the checksum of " + have.Name + " is wrong"}
		}
		return nil
	})
	if err != nil {
		return nil, r.asDamage(err)
	}
	if read.More() {
		return nil, &DamagedError{path: r.path, why: "it has more in it than its manifest says"}
	}
	return summary, nil
}

// asDamage explains an error of reading that is not explained yet.
func (r *tarReader) asDamage(err error) error {
	if _, ok := errors.AsType[*DamagedError](err); ok {
		return err
	}
	return r.damaged(err)
}

// members are what is done with the parts of a tar file; nil: nothing. The rows are handed over with
// what verifies the whole file, which is called when they have been read.
type members struct {
	object func(key string, size int64, r io.Reader) error
	tasks  func(io.Reader) error
	rows   func(r io.Reader, verify func() (*Summary, error)) error
	stored func(entry) error
}

// read reads the rest of a file and returns its summary.
func (r *tarReader) read(do members) (*Summary, error) {
	for {
		name, body, err := r.next()
		if err != nil {
			return nil, err
		}
		key, isObject := strings.CutPrefix(name, objectsRoot)
		switch {
		case isObject && do.object != nil:
			if err := do.object(key, r.current.Size, body); err != nil {
				return nil, r.readError(err)
			}
		case name == tasksName && do.tasks != nil:
			if err := r.unzip(body, do.tasks); err != nil {
				return nil, err
			}
		case name == rowsName && do.rows != nil:
			return r.readRows(body, do)
		case name == manifestName:
			return r.verify(body, do.stored)
		}
	}
}

// readRows hands over the rows; the manifest has to follow.
func (r *tarReader) readRows(body io.Reader, do members) (summary *Summary, err error) {
	verify := func() (*Summary, error) {
		name, manifest, err := r.next()
		if err != nil {
			return nil, err
		}
		if name != manifestName {
			return nil, &DamagedError{path: r.path, why: "its manifest is missing"}
		}
		summary, err = r.verify(manifest, do.stored)
		return summary, err
	}
	err = r.unzip(body, func(rows io.Reader) error { return do.rows(rows, verify) })
	return summary, err
}

// unzip gives f the content of a compressed member.
func (r *tarReader) unzip(body io.Reader, f func(io.Reader) error) error {
	z, err := gzip.NewReader(body)
	if err != nil {
		return &DamagedError{path: r.path, why: r.current.Name + " cannot be read"}
	}
	return r.readError(f(z))
}

// readError tells an error of this file from one of where it goes.
func (r *tarReader) readError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) {
		return r.asDamage(fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err))
	}
	return err
}
