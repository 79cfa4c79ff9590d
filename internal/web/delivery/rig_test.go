package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

const digits = "0123456789"

// rig is the handler chain as the server wires it, on real services.
type rig struct {
	*servicetest.Rig
	handler http.Handler
	film    video.ID // a public video
	secret  video.ID // a private one
	path    string   // of the 720p file of the public one
}

// newRig returns a rig on a disk. Both videos have a file 720p.mp4 with this content.
func newRig(t *testing.T, content []byte, c Config) *rig {
	t.Helper()
	return newRigOn(t, content, c, func(s *disk.Store) blob.Store { return s })
}

// newRigOn is newRig on another storage.
func newRigOn(t *testing.T, content []byte, c Config, wrap func(*disk.Store) blob.Store) *rig {
	t.Helper()
	b := servicetest.NewOn(t, wrap, func(c *servicetest.Config) { c.Redirect = true })
	if c.Now == nil {
		c.Now = b.Now
	}
	mux := http.NewServeMux()
	Register(mux, b.Uploads, b.Player, b.Pictures, c)
	edge := problem.RequestID(slog.New(slog.DiscardHandler), problem.Recover(problem.Mux(mux)))
	r := &rig{Rig: b, handler: Guard(edge, Timeouts{Idle: c.IdleTimeout, Drain: testDrain})}
	r.film = b.Create(video.Draft{IsPublic: true}).Video.ID
	r.secret = b.Create(video.Draft{}).Video.ID
	r.path = "/v/" + string(r.film) + "/720p.mp4"
	r.addFile("720p.mp4", content)
	return r
}

// testDrain is long enough to tell whether a response came before it or after.
const testDrain = 3 * time.Second

// addFile adds a file to both videos.
func (r *rig) addFile(name string, content []byte) {
	r.T.Helper()
	for _, key := range []string{"public/" + string(r.film), "private/" + string(r.secret)} {
		_, err := r.Blobs.Put(r.T.Context(), key+"/"+name, bytes.NewReader(content))
		r.Must(err)
	}
}

// info describes a file of the public video.
func (r *rig) info(file string) blob.Info {
	r.T.Helper()
	info, err := r.Blobs.Stat(r.T.Context(), "public/"+string(r.film)+"/"+file)
	r.Must(err)
	return info
}

// etag returns the ETag of the 720p file of the public video, as it is sent.
func (r *rig) etag() string { return quote(r.info("720p.mp4").ETag) }

// public returns the path of a file of the public video.
func (r *rig) public(file string) string { return "/v/" + string(r.film) + "/" + file }

// signed returns the path of a file of the private video.
func (r *rig) signed(file string, life time.Duration) string {
	return "/v/" + r.Signing.Sign(sign.Playback, string(r.secret)+"/"+file, r.Now().Add(life)) + "/" + string(r.secret) + "/" + file
}

// streamed returns the path of a file of a stream of the private video.
func (r *rig) streamed(file string, life time.Duration) string {
	return "/v/" + r.Signing.Sign(sign.Stream, string(r.secret), r.Now().Add(life)) + "/" + string(r.secret) + "/" + file
}

func (r *rig) do(method, path string, headers ...string) *httptest.ResponseRecorder {
	return do(r.handler, method, path, headers...)
}

func do(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// newUpload creates a video and returns the path of its upload.
func (r *rig) newUpload() (up catalog.Upload, path string) {
	r.T.Helper()
	up = r.Create(video.Draft{})
	return up, strings.TrimPrefix(up.URL, servicetest.Base)
}

// uploaded returns what was stored of an upload, or "".
func (r *rig) uploaded(up catalog.Upload) string {
	r.T.Helper()
	o, err := r.Blobs.Open(r.T.Context(), "upload/"+string(up.Video.ID)+"/file")
	if err != nil {
		return ""
	}
	return servicetest.ReadAll(r.T, o)
}

// rendition returns a short film with its tables first, as renditions have them.
var rendition = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "rendition-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "film.mp4")
	args := "-v error -f lavfi -i testsrc2=s=64x36:r=25:d=9 -f lavfi -i sine=r=48000:d=9 -c:a aac -c:v libx264 -preset ultrafast -g 50 -pix_fmt yuv420p -movflags +faststart"
	if err := exec.Command("ffmpeg", append(strings.Fields(args), path)...).Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func makeRendition(t *testing.T) []byte {
	t.Helper()
	film, err := rendition()
	if err != nil {
		t.Fatal(err)
	}
	return film
}

// remote is a storage that serves files itself.
type remote struct{ blob.Store }

func (remote) Capabilities() blob.Capabilities { return blob.Capabilities{Presign: signer{}} }

// signer returns addresses that name the key and what a browser does with the file.
type signer struct{}

func (signer) Origin(context.Context) (string, error) { return "https://bucket.example", nil }

func (signer) PresignPut(context.Context, string, string, time.Duration) (string, error) {
	return "https://bucket.example/upload", nil
}

func (signer) PresignGet(_ context.Context, key string, _ time.Duration, disposition string) (string, error) {
	return "https://bucket.example/" + key + "?" + url.QueryEscape(disposition), nil
}

// broken is a storage that does not store, and opens nothing, once it has an error.
type broken struct {
	blob.Store
	err error
}

func (b *broken) Put(ctx context.Context, key string, r io.Reader) (blob.Info, error) {
	if b.err != nil {
		return blob.Info{}, b.err
	}
	return b.Store.Put(ctx, key, r)
}

func (b *broken) Open(ctx context.Context, key string) (blob.Object, error) {
	if b.err != nil {
		return nil, b.err
	}
	return b.Store.Open(ctx, key)
}

// withoutWebP is a storage whose WebP files are gone when they are opened.
type withoutWebP struct{ blob.Store }

func (w withoutWebP) Open(ctx context.Context, key string) (blob.Object, error) {
	if strings.HasSuffix(key, ".webp") {
		return nil, fs.ErrNotExist
	}
	return w.Store.Open(ctx, key)
}

// slow is a storage that is busy with a file for some time after it has read it, unless the context ends.
type slow struct {
	blob.Store
	time time.Duration
}

func (s slow) Put(ctx context.Context, key string, r io.Reader) (blob.Info, error) {
	info, err := s.Store.Put(ctx, key, r)
	select {
	case <-ctx.Done():
		return blob.Info{}, ctx.Err()
	case <-time.After(s.time):
		return info, err
	}
}

// wantProblem checks that an answer is a problem with this status and code.
func wantProblem(t *testing.T, status int, header http.Header, body io.Reader, wantStatus int, wantCode string) problem.Problem {
	t.Helper()
	b, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	var p problem.Problem
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&p); err != nil {
		t.Fatalf("answer %d is not a problem: %v: %q", status, err, b)
	}
	if ct := header.Get("Content-Type"); ct != problem.ContentType {
		t.Errorf("Content-Type is %q", ct)
	}
	if status != wantStatus || p.Code != wantCode {
		t.Errorf("answer is %d %s, want %d %s: %s", status, p.Code, wantStatus, wantCode, b)
	}
	if got := header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("a page of another origin cannot read the problem: Access-Control-Allow-Origin is %q", got)
	}
	return p
}
