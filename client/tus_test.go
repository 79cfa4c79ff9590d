package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiver takes one upload, and misbehaves. How a real server behaves is tested in test/e2e.
type receiver struct {
	mu      sync.Mutex
	url     string
	length  int64 // -1 until one was created
	got     []byte
	cuts    int // connections that still break after cutAt bytes
	cutAt   int64
	closed  bool // completed
	expired bool // the first URL
	posts   int
	creates int
}

func newReceiver(t *testing.T, r *receiver) *Client {
	t.Helper()
	r.length = -1
	srv := httptest.NewServer(r)
	t.Cleanup(srv.Close)
	r.url = srv.URL
	c, err := New(srv.URL, "key")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case req.URL.Path == "/api/video":
		r.creates++
		if r.creates > 1 {
			w.Header().Set("Idempotency-Replayed", "true")
			r.expired = false
		}
		io.WriteString(w, `{"id":"v1","tusUrl":"`+r.url+`/tus?`+strconv.Itoa(r.creates)+`","uploadUrl":"`+r.url+`/put","contentType":"video/mp4","resolutions":{"720p":{"status":"pending_upload"}}}`)
	case strings.HasPrefix(req.URL.Path, "/api/"):
		io.WriteString(w, `{"id":"v1","status":"processing"}`)
	case r.expired:
		refuse(w, 403, CodeURLExpired)
	case r.closed:
		refuse(w, 409, CodeUploadClosed)
	default:
		r.tus(w, req)
	}
}

func (r *receiver) tus(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.Method == http.MethodPut:
		r.got, _ = io.ReadAll(req.Body)
	case req.Method == http.MethodPost:
		r.posts++
		r.length, _ = strconv.ParseInt(req.Header.Get("Upload-Length"), 10, 64)
		r.got = nil
		w.Header().Set("Location", r.url+req.URL.RequestURI())
		w.WriteHeader(201)
	case r.length < 0:
		refuse(w, 404, "upload_not_found")
	case req.Method == http.MethodHead:
		w.Header().Set("Upload-Offset", strconv.Itoa(len(r.got)))
		w.Header().Set("Upload-Length", strconv.FormatInt(r.length, 10))
	case req.Header.Get("Upload-Offset") != strconv.Itoa(len(r.got)):
		refuse(w, 409, "offset_mismatch")
	default:
		var body io.Reader = req.Body
		if r.cuts > 0 {
			body = io.LimitReader(body, r.cutAt)
		}
		part, _ := io.ReadAll(body)
		r.got = append(r.got, part...)
		if r.cuts > 0 {
			r.cuts--
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Upload-Offset", strconv.Itoa(len(r.got)))
		w.WriteHeader(204)
	}
}

func random(t *testing.T, size int) []byte {
	t.Helper()
	b := make([]byte, size)
	if _, err := rand.NewChaCha8([32]byte{1}).Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAResumableUploadContinuesAfterEveryCut(t *testing.T) {
	t.Parallel()
	r := &receiver{cuts: 5, cutAt: 1 << 20}
	c := newReceiver(t, r)
	whole := random(t, 12<<20)
	var last, backwards int64
	v, err := c.Upload(t.Context(), NewVideo{Filename: "a.mp4"}, bytes.NewReader(whole), int64(len(whole)), &UploadOptions{
		Progress: func(sent, total int64) {
			if sent < last {
				backwards++
			}
			last = sent
		},
	})
	if err != nil || v.ID != "v1" {
		t.Fatalf("Upload = %+v, %v", v, err)
	}
	if !bytes.Equal(r.got, whole) || r.posts != 1 {
		t.Errorf("received %d of %d bytes after %d creations", len(r.got), len(whole), r.posts)
	}
	if last != int64(len(whole)) || backwards > 5 {
		t.Errorf("the progress ends at %d and went back %d times", last, backwards)
	}
}

func TestAnotherProcessContinuesAnUpload(t *testing.T) {
	t.Parallel()
	r := &receiver{cuts: 1, cutAt: 3 << 20}
	c := newReceiver(t, r)
	whole := random(t, 9<<20)
	v := NewVideo{Filename: "a.mp4", IdempotencyKey: "mine"}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Upload(ctx, v, bytes.NewReader(whole), int64(len(whole)), &UploadOptions{Progress: func(sent, _ int64) {
		if sent > 4<<20 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the first process ends with %v", err)
	}
	if _, err := c.Upload(t.Context(), v, bytes.NewReader(whole), int64(len(whole)), nil); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.got, whole) || r.posts != 1 {
		t.Errorf("received %d of %d bytes after %d creations", len(r.got), len(whole), r.posts)
	}
	if _, err := c.Upload(t.Context(), v, bytes.NewReader(whole[1:]), int64(len(whole))-1, nil); err == nil || !strings.Contains(err.Error(), "was begun with 9437184") {
		t.Errorf("another file under the same key gets %v", err)
	}
}

func TestAnExpiredURLIsRenewedOnce(t *testing.T) {
	t.Parallel()
	for _, how := range []Transfer{Whole, Resumable} {
		r := &receiver{expired: true}
		c := newReceiver(t, r)
		_, err := c.Upload(t.Context(), NewVideo{}, strings.NewReader("abc"), 3, &UploadOptions{Transfer: how})
		if err != nil || r.creates != 2 {
			t.Errorf("transfer %d ends with %v after %d creations", how, err, r.creates)
		}
	}
}

func TestAnUploadThatWasCompletedIsDone(t *testing.T) {
	t.Parallel()
	for _, how := range []Transfer{Whole, Resumable} {
		for _, replayed := range []int{0, 1} {
			r := &receiver{closed: true, creates: replayed}
			c := newReceiver(t, r)
			if _, err := c.Upload(t.Context(), NewVideo{}, strings.NewReader("abc"), 3, &UploadOptions{Transfer: how}); err != nil {
				t.Errorf("transfer %d ends with %v", how, err)
			}
		}
	}
}

// unreadable is a file on a disk that fails.
type unreadable struct{}

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errors.New("input/output error") }

func TestAFileThatCannotBeReadEndsTheUpload(t *testing.T) {
	t.Parallel()
	for _, how := range []Transfer{Whole, Resumable} {
		c := newReceiver(t, &receiver{})
		_, err := c.Upload(t.Context(), NewVideo{}, unreadable{}, 100, &UploadOptions{Transfer: how})
		if err == nil || !strings.Contains(err.Error(), "input/output error") {
			t.Errorf("transfer %d ends with %v", how, err)
		}
	}
}

// A file that is still being written, or replaced, must not become a video of one half and the other.
func TestAFileThatChangesEndsTheUpload(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for what, change := range map[string]func(*os.File) error{
		"shorter": func(f *os.File) error { return f.Truncate(size / 2) },
		"longer":  func(f *os.File) error { return f.Truncate(2 * size) },
		"changed": func(f *os.File) error { return os.Chtimes(f.Name(), time.Time{}, time.Unix(1, 0)) },
	} {
		for _, how := range []Transfer{Whole, Resumable} {
			f, err := os.Create(filepath.Join(t.TempDir(), "film.mp4"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Truncate(size); err != nil {
				t.Fatal(err)
			}
			once := sync.OnceValue(func() error { return change(f) })
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			_, err = newReceiver(t, &receiver{}).Upload(ctx, NewVideo{}, f, size, &UploadOptions{Transfer: how, Progress: func(sent, _ int64) {
				if sent > 0 {
					if err := once(); err != nil {
						t.Error(err)
					}
				}
			}})
			if err == nil || !strings.Contains(err.Error(), "while it was uploaded") {
				t.Errorf("%s, transfer %d: the upload ends with %v", what, how, err)
			}
		}
	}
}
