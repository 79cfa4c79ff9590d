package disk_test

import (
	"io"
	"runtime"
	"testing"
)

// zeros is an endless reader that costs nothing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// This test does not run in parallel: it measures what the whole process allocates.
func TestMemoryOfAPutDoesNotGrowWithTheObject(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 256 MiB")
	}
	const size, limit = 256 << 20, 2 << 20
	s := open(t, t.TempDir())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	info, err := s.Put(t.Context(), "large", io.LimitReader(zeros{}, size))
	runtime.ReadMemStats(&after)

	if err != nil || info.Size != size {
		t.Fatalf("Put = %+v, %v; want %d bytes", info, err, size)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > limit {
		t.Errorf("Put of %d bytes allocated %d; want at most %d", size, spent, limit)
	}
}
