package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

const testID = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"

var modified = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// fakeService answers as the real service would.
type fakeService struct {
	err     error
	receive func(uploads.Incoming) (string, error)
	path    string // of the file to play
	address string // where GET is redirected to; "" serves the file
	key     string // of the file, if it is one of the storage
	early   bool   // the file is one of a rendition that is not published yet

	token    string
	id       video.ID
	file     string
	download bool // as asked of the redirect

	has        video.PictureFormat // of pictures, beside JPEG
	gone       string              // a file that was deleted since
	redirected string              // the file
}

func (f *fakeService) Receive(_ context.Context, in uploads.Incoming) (string, error) {
	return f.receive(in)
}

func (f *fakeService) OpenPublic(_ context.Context, id video.ID, file string) (playback.Content, error) {
	f.id, f.file = id, file
	if file == f.gone {
		return nil, &video.Error{Kind: video.NotFound, Code: "not_found", Msg: "There is no such file."}
	}
	return f.open()
}

func (f *fakeService) OpenSigned(_ context.Context, token string, id video.ID, file string) (playback.Content, error) {
	f.token, f.id, f.file = token, id, file
	return f.open()
}

func (f *fakeService) PublicRedirect(_ context.Context, _ video.ID, file string, download bool) (string, error) {
	f.download, f.redirected = download, file
	return f.address, nil
}

func (f *fakeService) SignedRedirect(_ context.Context, _ string, _ video.ID, _ string, download bool) (string, error) {
	f.download = download
	return f.address, nil
}

func (f *fakeService) PublicPicture(_ context.Context, _ video.ID, file string, takes []video.PictureFormat) string {
	if slices.Contains(takes, f.has) {
		return video.AlternateFile(file, f.has)
	}
	return file
}

func (f *fakeService) SignedPicture(ctx context.Context, _ string, id video.ID, file string, takes []video.PictureFormat) string {
	return f.PublicPicture(ctx, id, file, takes)
}

func (f *fakeService) Disposition(_ context.Context, id video.ID, file string) (string, error) {
	return "attachment; filename=" + file, f.err
}

func (f *fakeService) open() (playback.Content, error) {
	if f.err != nil {
		return nil, f.err
	}
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("open the file to play: %w", err)
	}
	stat, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("stat the file to play: %w", err)
	}
	return object{file, blob.Info{Key: f.key, Size: stat.Size(), ETag: "e1", Modified: modified}, f.early}, nil
}

type object struct {
	*os.File
	info  blob.Info
	early bool
}

func (o object) Info() blob.Info { return o.info }

func (o object) Early() bool { return o.early }

// playing returns a service that plays content.
func playing(t testing.TB, content []byte) *fakeService {
	t.Helper()
	path := filepath.Join(t.TempDir(), "720p.mp4")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return &fakeService{path: path}
}

// service is both what receives files and what serves them.
type service interface {
	Uploads
	Player
}

// newHandler returns the handler chain as the server wires it.
func newHandler(s service, c Config) http.Handler {
	mux := http.NewServeMux()
	Register(mux, s, s, c)
	edge := problem.RequestID(slog.New(slog.DiscardHandler), problem.Recover(problem.Mux(mux)))
	return Guard(edge, Timeouts{Idle: c.IdleTimeout, Drain: testDrain})
}

// testDrain is long enough to tell whether a response came before it or after.
const testDrain = 3 * time.Second

func do(h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
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

// slowService reads an upload to its end, reads once more as some readers do, and
// is then busy for longer than the idle timeout, unless its context ends.
type slowService struct {
	*fakeService
	idleTimeout time.Duration
}

func (s *slowService) Receive(ctx context.Context, in uploads.Incoming) (string, error) {
	if _, err := io.Copy(io.Discard, in.Body); err != nil {
		return "", fmt.Errorf("read the upload: %w", err)
	}
	if n, err := in.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return "", fmt.Errorf("read behind the end: %d bytes, %w", n, err)
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(4 * s.idleTimeout):
		return "abc", nil
	}
}
