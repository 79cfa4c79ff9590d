package playback

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

func manyKeys() []string {
	keys := make([]string, 3*pieceReads)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	return keys
}

// aPiece is a chunk file of one frame.
func aPiece(t *testing.T) *mp4.Piece {
	t.Helper()
	path := filepath.Join(t.TempDir(), "chunk.mp4")
	args := "-v error -f lavfi -i color=s=32x18 -frames:v 1 -c:v libx264 -preset ultrafast -pix_fmt yuv420p " + path
	if out, err := exec.CommandContext(t.Context(), "ffmpeg", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, out)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	piece, err := mp4.ReadPiece(mp4.Input{ReaderAt: bytes.NewReader(file), Size: int64(len(file))})
	if err != nil {
		t.Fatal(err)
	}
	return piece
}

func TestPiecesAreReadSideBySide(t *testing.T) {
	t.Parallel()
	piece := aPiece(t)
	var running, most atomic.Int64
	var arrived sync.WaitGroup // as many as may read at a time
	arrived.Add(pieceReads)
	var calls atomic.Int64
	read := func(context.Context, string) (*mp4.Piece, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if calls.Add(1) <= pieceReads {
			arrived.Done()
		}
		arrived.Wait() // one after the other, they would wait for ever
		return piece, nil
	}
	pieces, err := newGrowingCaches().read(t.Context(), manyKeys(), read)
	if err != nil || len(pieces) != 3*pieceReads || pieces[0] == nil || most.Load() > pieceReads {
		t.Errorf("%d pieces were read, %d at a time at most, %v", len(pieces), most.Load(), err)
	}
}

// A viewer who goes away while a long film is opened leaves what was read to the next one.
func TestPiecesAreReadForTheNextRequest(t *testing.T) {
	t.Parallel()
	c, calls, gone := newGrowingCaches(), atomic.Int64{}, make(chan struct{})
	piece := aPiece(t)
	ctx, leave := context.WithCancel(t.Context())
	read := func(ctx context.Context, _ string) (*mp4.Piece, error) {
		calls.Add(1)
		leave()
		<-gone
		return piece, ctx.Err()
	}
	if _, err := c.read(ctx, manyKeys(), read); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that has ended returns %v", err)
	}
	close(gone)
	if pieces, err := c.read(t.Context(), manyKeys(), read); err != nil || pieces[0] == nil || calls.Load() != 3*pieceReads {
		t.Errorf("%d pieces were read %d times, %v; want each once", len(pieces), calls.Load(), err)
	}
}

func TestAPieceThatCannotBeReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	c, keys := newGrowingCaches(), []string{"a"}
	piece := aPiece(t)
	for _, failure := range []error{fs.ErrNotExist, nil} {
		_, err := c.read(t.Context(), keys, func(context.Context, string) (*mp4.Piece, error) { return piece, failure })
		if !errors.Is(err, failure) {
			t.Errorf("reading returns %v; want %v", err, failure)
		}
	}
	_, err := c.read(t.Context(), []string{"b"}, func(context.Context, string) (*mp4.Piece, error) { panic("broken tables") })
	if err == nil {
		t.Error("a panic is no error")
	}
}

func TestAnOlderRequestDoesNotShortenATrack(t *testing.T) {
	t.Parallel()
	c, cuts := newGrowingCaches(), 0
	join := func(all bool, keys ...string) {
		t.Helper()
		_, err := c.join(trackID{"a", "240p"}, pipeline.Parts{Keys: keys, All: all}, nil, func() (*mp4.Segments, error) {
			cuts++
			return &mp4.Segments{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(n int) {
		t.Helper()
		if cuts != n {
			t.Errorf("the track was cut %d times; want %d", cuts, n)
		}
	}
	join(false, "a", "b")
	join(false, "a") // asked the database before the other
	join(false, "a", "b")
	want(2)
	join(true, "a", "b")
	join(false, "a", "b")
	join(true, "a", "b")
	want(4)
	join(false, "c") // of another pass
	join(false, "c")
	want(5)
}

// What was read of a video is used for a moment, and not at all once anything of it has changed.
func TestWhatIsKnownOfAGrowingVideo(t *testing.T) {
	t.Parallel()
	all := newGrowingCaches()
	now, first := time.Now(), version{Status: video.Processing, Done: 3}
	if all.recentlyRead("a", first, now) != nil {
		t.Error("a video that nobody read is known")
	}
	g := &growingVideo{Video: video.Video{ID: "a"}, version: first}
	all.remember(g, now)
	later := first
	later.Done++
	for _, tt := range []struct {
		name  string
		at    version
		after time.Duration
		want  *growingVideo
	}{
		{"at once", first, 0, g}, {"soon", first, 900 * time.Millisecond, g}, {"later", first, time.Second, nil}, {"with one more part", later, 0, nil},
	} {
		if got := all.recentlyRead("a", tt.at, now.Add(tt.after)); got != tt.want {
			t.Errorf("%s: known is %v; want %v", tt.name, got, tt.want)
		}
	}
}
