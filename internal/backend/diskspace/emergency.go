package diskspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/spool-video/spool/internal/video"
)

const (
	// EmergencyFile is the name of the file in the data directory.
	EmergencyFile = "emergency"
	// EmergencySize is enough for SQLite's write-ahead log, which grows to 4 MiB before it is
	// used again from its beginning, and for what a start writes beside it.
	EmergencySize = 8 << 20
)

// Emergency is a file that holds disk space for what gets a service out of a full disk: starting it,
// and deleting videos. A Reserve keeps other parts of Spool from filling the disk; this is for when
// something else has filled it. The file is removed when its space is needed, and made again when
// there is enough for it.
type Emergency struct {
	path    string
	minFree int64
	size    int64

	mu sync.Mutex
}

// NewEmergency returns the emergency space in dir. It takes at most half as many bytes as are kept
// free besides.
func NewEmergency(dir string, minFree int64) *Emergency {
	return &Emergency{path: filepath.Join(dir, EmergencyFile), minFree: minFree, size: min(EmergencySize, minFree/2)}
}

// Hold makes the file, unless it is there or the disk has not enough space for it.
func (e *Emergency) Hold() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.size <= 0 {
		return nil
	}
	if info, err := os.Stat(e.path); err == nil && info.Size() == e.size {
		return nil
	}
	free, err := Free(filepath.Dir(e.path))
	if err != nil || free < uint64(e.minFree+e.size) {
		return err
	}
	if err := e.allocate(); err != nil {
		return errors.Join(fmt.Errorf("hold emergency disk space: %w", err), os.Remove(e.path))
	}
	return nil
}

func (e *Emergency) allocate() error {
	f, err := os.OpenFile(e.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	// Random bytes, because a file system may store zeros, or a hole, in no space at all. They are
	// no secret.
	var seed [32]byte
	rand.Read(seed[:])
	if _, err := io.CopyN(f, mathrand.NewChaCha8(seed), e.size); err != nil {
		return err
	}
	return f.Sync()
}

// Release gives the space back. It reports false if there was none.
func (e *Emergency) Release() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return os.Remove(e.path) == nil
}

// ReleaseIfFull gives the space back if the disk has less free space than that.
func (e *Emergency) ReleaseIfFull() error {
	free, err := Free(filepath.Dir(e.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was ever stored there
	}
	if err == nil && free < EmergencySize {
		e.Release()
	}
	return err
}

// releases is how often WithRelease asks for space: what is given back for one may be used by another that
// comes at the same time.
const releases = 5

// WithRelease does something that frees space, and again while the disk is full and release gives back
// space: a deletion has to be recorded, and must work when there is no other way to get space back. Where
// nothing can be given back, release is nil.
func WithRelease(release func() bool, step func() error) error {
	err := step()
	for n := 0; n < releases && video.KindOf(err) == video.InsufficientStorage && release != nil && release(); n++ {
		err = step()
	}
	return err
}
