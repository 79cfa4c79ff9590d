package encode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

// The programs of these tests stand for an ffmpeg that a file has taken over.
// Its large files are sparse, so that they cost no time.

// TestHugeThumbnailsAreNotRead wants the server's memory not to depend on what
// ffmpeg wrote.
func TestHugeThumbnailsAreNotRead(t *testing.T) {
	const size = 250 << 20
	script := fmt.Sprintf(`for i in 0 1 2; do printf '\377\330' > s0_$i.jpg; truncate -s %d s0_$i.jpg; printf '\377\331' >> s0_$i.jpg; done`, size)
	e := scripted(t, script, time.Minute)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	outputs, err := e.Thumbnails(t.Context(), ffmpeg.Job{OutDir: t.TempDir()}, basicPlan(nil), nil)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ffmpeg.ErrTooBig) {
		t.Errorf("Thumbnails = %v, %v; want ErrTooBig", outputs, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > size/4 {
		t.Errorf("took %d MiB of memory", used>>20)
	}
}

// TestAHugeIndexIsNotRead does the same with a chunk file that claims to be all
// index.
func TestAHugeIndexIsNotRead(t *testing.T) {
	const size = 120 << 20
	script := fmt.Sprintf(`for i in 0 1 2; do printf '\007\200\000\000moov' > v$i.mp4; truncate -s %d v$i.mp4; done`, size)
	e := scripted(t, script, time.Minute)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	outputs, err := e.EncodeChunk(t.Context(), ffmpeg.Job{OutDir: t.TempDir()}, basicPlan(func(p *video.Plan) { p.Chunks = p.Chunks[:1] }), 0, nil)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ffmpeg.ErrTooBig) {
		t.Errorf("EncodeChunk = %v, %v; want ErrTooBig", outputs, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > size/4 {
		t.Errorf("took %d MiB of memory: %v", used>>20, err)
	}
}

// TestManyFilesAreTooMuch has a run fill its folder and stay.
func TestManyFilesAreTooMuch(t *testing.T) {
	t.Parallel()
	e := scripted(t, "i=0; while [ $i -lt 500 ]; do : > x$i; i=$((i+1)); done; exec sleep 600", time.Hour)
	job := ffmpeg.Job{OutDir: t.TempDir()}
	if _, err := e.EncodeChunk(t.Context(), job, basicPlan(nil), 0, nil); !errors.Is(err, ffmpeg.ErrTooBig) {
		t.Errorf("EncodeChunk = %v; want ErrTooBig", err)
	}
	if _, err := e.Thumbnails(t.Context(), job, basicPlan(nil), nil); !errors.Is(err, ffmpeg.ErrTooBig) {
		t.Errorf("Thumbnails = %v; want ErrTooBig", err)
	}
}

func TestHugeNumbersAreNotRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stats")
	if err := os.WriteFile(path, []byte("n:1 Y:0.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readStats(path, "Y"); err != nil || len(got) != 1 {
		t.Errorf("readStats = %v, %v; want a number", got, err)
	}
	if err := os.Truncate(path, maxStats+1); err != nil {
		t.Fatal(err)
	}
	if got, err := readStats(path, "Y"); !errors.Is(err, ffmpeg.ErrTooBig) {
		t.Errorf("readStats = %d numbers, %v; want ErrTooBig", len(got), err)
	}
}
