package diskspace

import (
	"fmt"
	"io"

	"github.com/spool-video/spool/internal/backend/blob"
)

// Reserve keeps a number of bytes of a disk free. The reserve belongs to the database: a service
// that cannot even record a deletion never recovers from a full disk.
type Reserve struct {
	free  func() (uint64, error) // of the storage; nil: its space is no concern of this machine
	local bool
	min   int64
}

// NewReserve returns a reserve of minFree bytes on the disk of the storage. Where the storage is
// elsewhere, only CheckDisk has anything to check.
func NewReserve(storage blob.Store, minFree int64) *Reserve {
	can := storage.Capabilities()
	return &Reserve{free: can.Free, local: can.Local, min: minFree}
}

// Local reports whether the storage lies on a disk of this machine, so that fetching an object is
// a link and copies nothing.
func (r *Reserve) Local() bool { return r.local }

// Check returns an error while the storage cannot take need more bytes without touching the
// reserve.
func (r *Reserve) Check(need int64) error {
	if r.free == nil {
		return nil
	}
	free, err := r.free()
	if err != nil {
		return blob.ServiceError("measure free space", err)
	}
	return r.CheckDisk(need, free)
}

// CheckDisk is Check for another disk of this machine, which has so many bytes free.
func (r *Reserve) CheckDisk(need int64, free uint64) error {
	if wanted := uint64(max(need, 0)) + uint64(r.min); free < wanted {
		return blob.ServiceError("reserve disk space", fmt.Errorf("%d bytes are free, %d are needed: %w", free, wanted, blob.ErrFull))
	}
	return nil
}

// checkEvery is how many bytes are read between two checks of the free space.
const checkEvery = 1 << 20

// Reader reads from src until the reserve is touched. When an upload begins, there may be enough
// space for it, but not for all the others that began at the same time.
func (r *Reserve) Reader(src io.Reader) io.Reader {
	if r.free == nil {
		return src
	}
	return &checkedReader{src: src, check: func() error { return r.Check(0) }}
}

// checkedReader calls check once for every checkEvery bytes.
type checkedReader struct {
	src   io.Reader
	check func() error
	left  int64 // bytes until the next check
}

func (c *checkedReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		if err := c.check(); err != nil {
			return 0, err
		}
		c.left = checkEvery
	}
	n, err := c.src.Read(p)
	c.left -= int64(n)
	return n, err
}
