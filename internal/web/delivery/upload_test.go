package delivery

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// serveUploads starts a server and opens a raw connection to it.
func (r *rig) serveUploads(t *testing.T) (conn *net.TCPConn, answers *bufio.Reader) {
	t.Helper()
	server := httptest.NewServer(r.handler)
	t.Cleanup(server.Close)
	conn = dial(t, server)
	return conn, bufio.NewReader(conn)
}

// dial opens a raw connection to a server.
func dial(t *testing.T, server *httptest.Server) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func readAnswer(t *testing.T, from *bufio.Reader) *http.Response {
	t.Helper()
	res, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatalf("there is no response: %v", err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// put writes the head of an upload and the beginning of its body.
func put(conn io.Writer, path, headers, body string) {
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Type: video/mp4\r\n%s\r\n%s", path, headers, body)
}

func TestUpload(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, Config{})
	s := httptest.NewServer(r.handler)
	defer s.Close()
	for _, body := range []io.Reader{strings.NewReader("the file"), io.MultiReader(strings.NewReader("the file"))} { // the second is chunked
		up, path := r.newUpload()
		q, err := http.NewRequestWithContext(t.Context(), "PUT", s.URL+path, body)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "video/mp4")
		res, err := s.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || len(answer) > 0 || len(res.Header.Get("ETag")) < 3 {
			t.Errorf("answer is %d %q, ETag %q", res.StatusCode, answer, res.Header.Get("ETag"))
		}
		if res.Header.Get("Access-Control-Allow-Origin") != "*" || res.Header.Get("Access-Control-Expose-Headers") != "ETag" {
			t.Errorf("a browser cannot read the ETag: %v", res.Header)
		}
		if got := r.uploaded(up); got != "the file" {
			t.Errorf("stored %q", got)
		}
	}
}

func TestUploadRefusals(t *testing.T) {
	t.Parallel()
	var storage *broken
	r := newRigOn(t, nil, Config{}, func(s *disk.Store) blob.Store {
		storage = &broken{Store: s}
		return storage
	})
	expired, expiredPath := r.newUpload()
	r.Advance(2 * time.Hour)
	up, path := r.newUpload()
	closed, closedPath := r.newUpload()
	r.Put(closed, servicetest.LikeVideo)
	_, err := r.Uploads.Complete(t.Context(), r.By, closed.Video.ID)
	r.Must(err)
	for _, tt := range []struct {
		up     catalog.Upload
		path   string
		header string // besides the type
		fault  error
		status int
		code   string
	}{
		{up, "/upload/17.k1.sig/" + string(up.Video.ID), "", nil, 403, "url_invalid"},
		{up, strings.Replace(path, string(up.Video.ID), "not-a-uuid", 1), "", nil, 403, "url_invalid"},
		{expired, expiredPath, "", nil, 403, "url_expired"},
		{up, path, "Content-Type", nil, 403, "content_type_mismatch"},
		{up, path, "Content-Range", nil, 400, "partial_upload_unsupported"}, // a part must not be stored as the whole file
		{closed, closedPath, "", nil, 409, "upload_closed"},
		{up, path, "", errors.New("open /srv: the disk is broken"), 503, "storage_unavailable"},
		{up, path, "", blob.ErrFull, 507, "insufficient_storage"},
	} {
		storage.err = tt.fault
		q := httptest.NewRequest("PUT", tt.path, strings.NewReader("the file"))
		q.Header.Set("Content-Type", "video/mp4")
		if tt.header != "" {
			q.Header.Set(tt.header, "bytes 0-9/100")
		}
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, q)
		p := wantProblem(t, w.Code, w.Header(), w.Body, tt.status, tt.code)
		if token := strings.Split(tt.path, "/")[2]; strings.Contains(p.Instance, token) || strings.Contains(p.Detail, "/srv") {
			t.Errorf("the problem shows too much: %+v", p)
		}
		storage.err = nil
		if got := r.uploaded(tt.up); got != "" {
			t.Errorf("%s: stored %q", tt.code, got)
		}
	}
}

func TestRefusedUploadIsAnsweredBeforeItsBodyIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, Config{})
	_, path := r.newUpload()
	for name, tt := range map[string]struct {
		path, headers string
		status        int
		code          string
	}{
		"Expect":                 {path, "Content-Length: 5000000000\r\nExpect: 100-continue\r\n", 413, "file_too_large"},
		"a long upload":          {path, "Content-Length: 5000000000\r\n", 413, "file_too_large"},
		"a short upload":         {path + "0", "Content-Length: 1000\r\n", 403, "url_invalid"},
		"no length":              {path + "0", "Transfer-Encoding: chunked\r\n", 403, "url_invalid"},
		"no length, with Expect": {path + "0", "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n", 403, "url_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, answers := r.serveUploads(t)
			start := time.Now()
			put(conn, tt.path, tt.headers, "")
			res := readAnswer(t, answers)
			if waited := time.Since(start); waited > testDrain/2 {
				t.Errorf("the answer took %s", waited)
			}
			wantProblem(t, res.StatusCode, res.Header, res.Body, tt.status, tt.code)
			if !res.Close {
				t.Error("the connection is kept open, with an unread body on it")
			}
		})
	}
}

func TestExpectContinueIsAnsweredWith100(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, Config{})
	up, path := r.newUpload()
	conn, answers := r.serveUploads(t)
	put(conn, path, "Content-Length: 4\r\nExpect: 100-continue\r\n", "")
	if res := readAnswer(t, answers); res.StatusCode != 100 {
		t.Fatalf("the first answer is %d, want 100", res.StatusCode)
	}
	fmt.Fprint(conn, "file")
	if res := readAnswer(t, answers); res.StatusCode != 200 || r.uploaded(up) != "file" || res.Close {
		t.Errorf("answer is %d, stored %q, connection closed: %v", res.StatusCode, r.uploaded(up), res.Close)
	}
}

func TestStalledUpload(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, Config{IdleTimeout: 50 * time.Millisecond})
	up, path := r.newUpload()
	conn, answers := r.serveUploads(t)
	put(conn, path, "Content-Length: 100\r\n", "only this")
	res := readAnswer(t, answers)
	wantProblem(t, res.StatusCode, res.Header, res.Body, 400, "upload_stalled")
	if got := r.uploaded(up); got != "" {
		t.Errorf("stored %q", got)
	}
}

// A later PUT to the same URL ends the earlier one, which may be waiting for bytes that never come.
func TestAStoppedUploadIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, Config{})
	up, path := r.newUpload()
	conn, answers := r.serveUploads(t)
	put(conn, path, "Content-Length: 100\r\nExpect: 100-continue\r\n", "")
	readAnswer(t, answers) // it waits for the body now
	fmt.Fprint(conn, "only this")
	began := time.Now()
	r.Put(up, []byte("the later one"))
	res := readAnswer(t, answers)
	wantProblem(t, res.StatusCode, res.Header, res.Body, 409, "upload_replaced")
	if waited := time.Since(began); waited > testDrain {
		t.Errorf("the answer took %s", waited)
	}
	if got := r.uploaded(up); got != "the later one" {
		t.Errorf("stored %q", got)
	}
}

func TestSlowButSteadyUploadIsTaken(t *testing.T) {
	t.Parallel()
	const idle = 400 * time.Millisecond
	r := newRig(t, nil, Config{IdleTimeout: idle})
	up, path := r.newUpload()
	conn, answers := r.serveUploads(t)
	put(conn, path, "Content-Length: 10\r\n", "")
	tick := time.NewTicker(idle / 8) // ten of them are longer than the timeout
	defer tick.Stop()
	for i := range 10 {
		<-tick.C
		fmt.Fprint(conn, i)
	}
	if res := readAnswer(t, answers); res.StatusCode != 200 || r.uploaded(up) != digits {
		t.Errorf("answer is %d, stored %q", res.StatusCode, r.uploaded(up))
	}
}

// The read deadline must be lifted at the end of the body. Otherwise the server,
// which watches the connection meanwhile, would cancel the request.
func TestStoringMayTakeLongerThanTheIdleTimeout(t *testing.T) {
	t.Parallel()
	const idle = 50 * time.Millisecond
	r := newRigOn(t, nil, Config{IdleTimeout: idle}, func(s *disk.Store) blob.Store { return slow{s, 4 * idle} })
	_, path := r.newUpload()
	conn, answers := r.serveUploads(t)
	put(conn, path, "Content-Length: 4\r\n", "file")
	if res := readAnswer(t, answers); res.StatusCode != 200 {
		t.Errorf("answer is %d, want 200", res.StatusCode)
	}
}

func TestInterruptedUpload(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, Config{})
	up, path := r.newUpload()
	conn, answers := r.serveUploads(t)
	put(conn, path, "Content-Length: 100\r\n", "only this")
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res := readAnswer(t, answers)
	wantProblem(t, res.StatusCode, res.Header, res.Body, 400, "upload_interrupted")
	if got := r.uploaded(up); got != "" {
		t.Errorf("stored %q", got)
	}
}

// An ID is compared with the signature in its usual form.
func TestAnIDMayBeWrittenInCapitals(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, Config{})
	up := r.Create(video.Draft{})
	path := strings.Replace(strings.TrimPrefix(up.URL, servicetest.Base), string(up.Video.ID), strings.ToUpper(string(up.Video.ID)), 1)
	conn, answers := r.serveUploads(t)
	put(conn, path, "Content-Length: 4\r\n", "file")
	if res := readAnswer(t, answers); res.StatusCode != 200 || r.uploaded(up) != "file" {
		t.Errorf("answer is %d, stored %q", res.StatusCode, r.uploaded(up))
	}
}
