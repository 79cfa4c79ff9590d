package worker

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// counter stands between a store and the server and counts what is read.
type counter struct {
	*httptest.Server
	bytes atomic.Int64
}

func newCounter(t *testing.T, server *s3test.Server) *counter {
	t.Helper()
	target, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	c := new(counter)
	c.Server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodGet {
				r.Body = counted{r.Body, &c.bytes}
			}
			return nil
		},
	})
	t.Cleanup(c.Close)
	return c
}

type counted struct {
	io.ReadCloser
	sum *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.sum.Add(int64(n))
	return n, err
}

// TestAChunkIsReadWithoutTheRestOfItsSource counts what each task reads of a clip
// in a bucket.
func TestAChunkIsReadWithoutTheRestOfItsSource(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	c := newCounter(t, server)
	blobs, err := s3.Open(t.Context(), strings.Replace(server.URL(server.Bucket(t), ""), server.Endpoint, c.URL, 1), s3.Options{Credentials: server.Credentials()})
	if err != nil {
		t.Fatal(err)
	}
	b := newBenchOn(t, "", blobs)
	v := b.uploaded(longClip(t))
	b.must(b.do(queue.Inspect, v, 0))
	v = b.video(v.ID)
	if len(v.Plan.Chunks) < 4 || v.Plan.Head == nil {
		t.Fatalf("the plan has %d chunks and the head %v", len(v.Plan.Chunks), v.Plan.Head)
	}
	read := func(k queue.Kind, number int) int64 {
		c.bytes.Store(0)
		b.must(b.do(k, v, number))
		t.Logf("%s %d read %.1f of %.1f MiB", k, number, float64(c.bytes.Load())/(1<<20), float64(v.Source.Size)/(1<<20))
		return c.bytes.Load()
	}
	share := v.Source.Size / int64(len(v.Plan.Chunks))
	if got := read(queue.Encode, 1); got > share*3/2 {
		t.Errorf("a chunk read %d bytes of a file of %d in %d chunks", got, v.Source.Size, len(v.Plan.Chunks))
	}
	if got := read(queue.Thumbnails, 0); got > share {
		t.Errorf("a thumbnail read %d bytes of a file of %d", got, v.Source.Size)
	}
	b.spoilSpans(v, 2)
	if got := read(queue.Encode, 2); got < v.Source.Size {
		t.Errorf("a chunk whose bytes are noted wrongly read %d bytes; want the whole file of %d", got, v.Source.Size)
	}
	steps, err := b.store.Steps(t.Context(), v.ID)
	b.must(err)
	for _, s := range steps {
		if s.Kind == string(queue.Encode) && s.Done && s.Frames != int64(v.Plan.Chunks[s.Number].Frames) {
			t.Errorf("chunk %d has %d frames; want %d", s.Number, s.Frames, v.Plan.Chunks[s.Number].Frames)
		}
	}
}

// longClip makes a clip of some chunks that is large enough to be read in parts.
func longClip(t *testing.T) string {
	t.Helper()
	clip := filepath.Join(t.TempDir(), "film.mp4")
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x72:r=50:d=5,noise=alls=100:allf=t",
		"-c:v", "libx264", "-preset", "ultrafast", "-qp", "0", "-g", "100", clip+".mp4").CombinedOutput()
	if err != nil {
		t.Fatalf("make clip: %v\n%s", err, out)
	}
	out, err = exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-stream_loop", "21", "-i", clip+".mp4", "-c", "copy", clip).CombinedOutput()
	if err != nil {
		t.Fatalf("make clip: %v\n%s", err, out)
	}
	return clip
}

// uploaded makes a video whose file is in the storage.
func (b *bench) uploaded(clip string) video.Video {
	b.t.Helper()
	ctx := b.t.Context()
	up, err := b.Catalog.Create(ctx, b.by, video.Draft{Filename: "film.mp4", Resolutions: []video.Name{"144p"}, Thumbnails: []float64{50}}, "http://spool.test")
	b.must(err)
	_, err = b.blobs.PutFile(ctx, "upload/"+string(up.Video.ID)+"/file", clip)
	b.must(err)
	_, err = b.Uploads.Complete(ctx, b.by, up.Video.ID)
	b.must(err)
	return up.Video
}

// do does a task without the queue.
func (b *bench) do(k queue.Kind, v video.Video, number int) error {
	return b.work.Handle(b.t.Context(), queue.Task{Kind: k, Video: v.ID, Number: number, Attempt: 1})
}

func (b *bench) video(id video.ID) video.Video {
	b.t.Helper()
	v, err := b.store.VideoWithPlan(b.t.Context(), id)
	b.must(err)
	return v
}

// spoilSpans makes the plan say that a chunk needs other bytes than it does.
func (b *bench) spoilSpans(v video.Video, chunk int) {
	b.t.Helper()
	v.Plan.Chunks[chunk].Spans = []video.Span{{From: 1000, To: 2000}}
	b.must(b.store.InTx(b.t.Context(), func(tx *store.Tx) error { return tx.SetFindings(b.t.Context(), v.ID, store.Findings{Plan: v.Plan}) }))
}
