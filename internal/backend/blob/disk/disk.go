// Package disk keeps objects as files below one folder. The path of a file is
// its object's key, so an operator can read a store with ordinary tools.
//
// A file is never changed once it has its final name: a write makes a new inode
// and renames it into place. That is why a reader keeps the version it opened,
// why Copy and Fetch may use hard links, and why an ETag can be made from an inode.
//
// Names that start with a dot are no keys; writes in progress use them.
//
// Since a key is a path, no key can be a folder of another: while "a" exists,
// writing "a/b" is ErrBadKey, and vice versa.
package disk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/diskspace"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
)

// Options are optional settings of a Store.
type Options struct {
	// Now is the clock for the times of objects; nil means time.Now. It should advance
	// between any two writes: see etag.
	Now func() time.Time
	// ETagKey is a secret that ETags are made with. Clients see ETags, and without it they would
	// tell them inode numbers and exact times. The same key must be used at each start:
	// otherwise what clients have cached is sent to them again.
	ETagKey string
}

// Store is a blob.Store in a folder. The folder belongs to one Store at a time.
type Store struct {
	blob.Checked
	raw *rawStore
}

// rawStore implements blob.Store for keys that were checked.
type rawStore struct {
	dir  string // absolute; for calls that os.Root does not have
	root *os.Root
	// folder is the same as root, for openBeneath.
	folder *os.File
	now    func() time.Time
	free   func() (uint64, error)

	etagKey [sha256.Size]byte

	run   string // in the names of this Store's temporary files, and of no other's
	temps atomic.Uint64

	idle idleFiles

	// folders is locked for writing while folders are made or removed, and for
	// reading while a name is made in one. So a folder that exists is safely on disk,
	// and does not vanish between being made and being used.
	folders sync.RWMutex
}

// Open returns the store in dir, which it creates if it does not exist.
func Open(dir string, opts Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := makeRoot(dir); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	folder, err := os.Open(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store: %w", err), root.Close())
	}
	s := &rawStore{dir: dir, root: root, folder: folder, now: opts.Now, run: rand.Text(), etagKey: sha256.Sum256([]byte(opts.ETagKey))}
	s.free = func() (uint64, error) { return diskspace.Free(dir) }
	if s.now == nil {
		s.now = time.Now
	}
	return &Store{blob.NewChecked(s), s}, nil
}

// Close releases the folder. Objects that are open stay readable.
func (s *Store) Close() error {
	s.raw.idle.close()
	return errors.Join(s.raw.root.Close(), s.raw.folder.Close())
}

// CleanTemp removes what a crash left: temporary files of earlier Stores in this
// folder, whose number it returns, and empty folders. This Store may go on writing
// meanwhile.
func (s *Store) CleanTemp(ctx context.Context) (int, error) { return s.raw.cleanTemp(ctx) }

// Ping reports whether the folder is there, and whether files can be made in it.
func (s *rawStore) Ping(context.Context) error { return diskspace.CheckWritable(s.dir) }

// Capabilities says that the objects are on this machine, and how much more fits.
func (s *rawStore) Capabilities() blob.Capabilities {
	return blob.Capabilities{Local: true, Free: s.free}
}

// pathOf returns the path of key for calls that os.Root does not have. Only the check
// of the key keeps this path inside the store.
func (s *rawStore) pathOf(key string) string {
	return filepath.Join(s.dir, filepath.FromSlash(key))
}

func (s *rawStore) describe(key string, fi fs.FileInfo) blob.Info {
	return blob.Info{Key: key, Size: fi.Size(), ETag: s.etag(fi), Modified: fi.ModTime()}
}

// etag is the same for all links of an inode. The number of the inode is not enough:
// the file system reuses it when the last link is gone. Nor is the kernel's time stamp,
// which advances every few milliseconds only; so writes set the time themselves, to
// the nanosecond.
//
// The key keeps these values secret: without it, an ETag neither reveals them nor confirms a guess.
// A hash with the key in front is enough for that, since the input always has the same length.
func (s *rawStore) etag(fi fs.FileInfo) string {
	input := make([]byte, 0, sha256.Size+3*8)
	input = append(input, s.etagKey[:]...)
	input = binary.BigEndian.AppendUint64(input, inode(fi))
	input = binary.BigEndian.AppendUint64(input, uint64(fi.ModTime().UnixNano()))
	input = binary.BigEndian.AppendUint64(input, uint64(fi.Size()))
	sum := sha256.Sum256(input)
	return hex.EncodeToString(sum[:16])
}

// isMissing reports whether err says that there is no such file. A file in the
// place of a folder (ENOTDIR) means that too: nothing is below it.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// explain gives the errors of a write the meaning they have in the contract.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.EEXIST):
		return fmt.Errorf("%w: one key would be the folder of another: %w", blob.ErrBadKey, err)
	}
	return err
}
