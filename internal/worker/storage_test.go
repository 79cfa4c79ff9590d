package worker

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// gate stands between a store and the server and refuses what a test wants
// refused.
type gate struct {
	refuses atomic.Pointer[func(*http.Request) (status int, code string)]
}

// newGate returns a bench whose storage is a bucket behind a gate.
func newGate(t *testing.T) (*bench, *gate) {
	t.Helper()
	server, g := s3test.Start(t), new(gate)
	forward := server.Forward(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses := g.refuses.Load(); refuses != nil {
			if status, code := (*refuses)(r); status != 0 {
				s3test.Refuse(w, r, status, code)
				return
			}
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	address := strings.Replace(server.URL(server.Bucket(t), ""), server.Endpoint, front.URL, 1)
	blobs, err := s3.Open(t.Context(), address, s3.Options{Credentials: server.Credentials(), MaxBackoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return newBenchOn(t, "", blobs), g
}

// refuse sets what is refused from now on; nil refuses nothing.
func (g *gate) refuse(f func(*http.Request) (status int, code string)) {
	if f == nil {
		g.refuses.Store(nil)
		return
	}
	g.refuses.Store(&f)
}

// noise makes a short clip that does not compress well, so that its chunk files are
// larger than what comes along when they are opened.
func noise(t *testing.T) string {
	t.Helper()
	clip := filepath.Join(t.TempDir(), "noise.mp4")
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=192x144:r=25:d=2,noise=alls=100:allf=t",
		"-f", "lavfi", "-i", "sine=d=2", clip).CombinedOutput()
	if err != nil {
		t.Fatalf("make clip: %v\n%s", err, out)
	}
	return clip
}

// parts takes a clip through all tasks before its assembly.
func (b *bench) parts(clip string) video.Video {
	b.t.Helper()
	v := b.uploaded(clip)
	b.must(b.do(queue.Inspect, v, 0))
	b.must(b.do(queue.Encode, v, 0))
	b.must(b.do(queue.Audio, v, 0))
	b.must(b.do(queue.Thumbnails, v, 0))
	return b.video(v.ID)
}

// A storage that answers some requests and refuses others is a transient error,
// also where it is read in the middle of joining chunk files: it may last as long as
// it likes.
func TestChunkFilesThatCannotBeReadAreRetried(t *testing.T) {
	t.Parallel()
	b, g := newGate(t)
	v := b.parts(noise(t))
	g.refuse(func(r *http.Request) (int, string) {
		if strings.Contains(r.URL.Path, "/chunk-") && !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
			return http.StatusServiceUnavailable, "SlowDown"
		}
		return 0, ""
	})
	for range maxFailures + 1 {
		if err := b.do(queue.Assemble, v, 0); err == nil {
			t.Fatal("a rendition was assembled, or given up, though its chunk files cannot be read")
		}
	}
	if got := b.video(v.ID); got.Status != video.Processing {
		t.Fatalf("the video is %s: %v", got.Status, got.Failure)
	}
	g.refuse(nil)
	b.must(b.do(queue.Assemble, v, 0))
	if got := b.video(v.ID); got.Status != video.Ready {
		t.Errorf("the video is %s: %v; want it ready when the storage is", got.Status, got.Failure)
	}
}

// A storage that does not find the audio of a video, which is there, must not make
// it a silent one.
func TestMissingAudioDoesNotMakeASilentVideo(t *testing.T) {
	t.Parallel()
	b, g := newGate(t)
	v := b.parts(noise(t))
	g.refuse(func(r *http.Request) (int, string) {
		if strings.Contains(r.URL.Path, "/audio-0-") || strings.HasSuffix(r.URL.Path, "/audio.m4a") { // its pieces, its file
			return http.StatusNotFound, "NoSuchKey"
		}
		return 0, ""
	})
	if err := b.do(queue.Assemble, v, 0); err == nil {
		t.Errorf("the rendition was assembled without its audio, and the video is %s", b.video(v.ID).Status)
	}
}

// A storage may deny an object that it has: one that is not consistent at once
// soon after it was written, or one that has just changed machines. Half a minute
// of that costs nothing.
func TestASourceThatIsMissingForAWhileIsNotGone(t *testing.T) {
	t.Parallel()
	b, g := newGate(t)
	v := b.uploaded(noise(t))
	g.refuse(func(r *http.Request) (int, string) {
		if strings.Contains(r.URL.Path, "/source/") {
			return http.StatusNotFound, "NoSuchKey"
		}
		return 0, ""
	})
	var denied time.Duration
	for try := 1; denied < 30*time.Second; try++ {
		if err := b.do(queue.Inspect, v, 0); err == nil {
			t.Fatalf("after %s the video is %s: %v", denied, b.video(v.ID).Status, b.video(v.ID).Failure)
		}
		denied += queue.Backoff(try)
	}
	g.refuse(nil)
	b.must(b.do(queue.Inspect, v, 0))
	if got := b.video(v.ID); got.Status != video.Processing || got.Plan == nil {
		t.Errorf("the video is %s: %v; want its plan", got.Status, got.Failure)
	}
}
