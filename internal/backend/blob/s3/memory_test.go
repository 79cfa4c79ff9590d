package s3_test

import (
	"flag"
	"io"
	"runtime"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

// putSize can be set to look at larger objects than a test should write.
var putSize = flag.Int64("put-size", 128<<20, "bytes that the test of memory writes")

// zeros is an endless reader that costs nothing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// This test does not run in parallel: it measures what the whole process allocates.
func TestMemoryOfAPutDoesNotGrowWithTheObject(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 128 MiB")
	}
	// An upload that held the object would need all of it. The race detector and
	// the runtime's own arenas make the rest of the figure, so it has slack.
	limit := *putSize / 2
	s, _ := inBucket(t, s3test.Start(t))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	info, err := s.Put(t.Context(), "large", io.LimitReader(zeros{}, *putSize))
	runtime.ReadMemStats(&after)
	if err != nil || info.Size != *putSize {
		t.Fatalf("Put = %+v, %v; want %d bytes", info, err, *putSize)
	}
	spent := int64(after.HeapSys) - int64(before.HeapSys)
	t.Logf("Put of %d MiB: the heap grew by %d KiB, %d KiB were allocated", *putSize>>20, spent>>10, (after.TotalAlloc-before.TotalAlloc)>>10)
	if spent > limit {
		t.Errorf("the heap grew by %d; want at most %d", spent, limit)
	}
}
