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

	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

const uploadPath = "/upload/17.k1.sig/" + testID

// storing returns a service that reads each upload to its end, into got.
func storing(got *[]byte, seen *uploads.Incoming) *fakeService {
	return &fakeService{receive: func(in uploads.Incoming) (string, error) {
		b, err := io.ReadAll(in.Body)
		if err != nil {
			return "", fmt.Errorf("store the upload: %w", err)
		}
		*got, *seen = b, in
		return "abc", nil
	}}
}

func refusing(kind video.Kind, code string) *fakeService {
	return &fakeService{receive: func(uploads.Incoming) (string, error) {
		return "", &video.Error{Kind: kind, Code: code, Msg: "No."}
	}}
}

// serveUploads starts a server and opens a raw connection to it.
func serveUploads(t *testing.T, s service, c Config) (conn *net.TCPConn, answers *bufio.Reader) {
	t.Helper()
	server := httptest.NewServer(newHandler(s, c))
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

func TestUpload(t *testing.T) {
	t.Parallel()
	var got []byte
	var seen uploads.Incoming
	s := httptest.NewServer(newHandler(storing(&got, &seen), Config{}))
	defer s.Close()
	for _, body := range []io.Reader{strings.NewReader("the file"), io.MultiReader(strings.NewReader("the file"))} {
		r, err := http.NewRequestWithContext(t.Context(), "PUT", s.URL+uploadPath, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "video/mp4")
		res, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || len(answer) > 0 || res.Header.Get("ETag") != `"abc"` {
			t.Errorf("answer is %d %q, ETag %q", res.StatusCode, answer, res.Header.Get("ETag"))
		}
		if res.Header.Get("Access-Control-Allow-Origin") != "*" || res.Header.Get("Access-Control-Expose-Headers") != "ETag" {
			t.Errorf("a browser cannot read the ETag: %v", res.Header)
		}
		wantLength := r.ContentLength
		if wantLength == 0 {
			wantLength = -1 // chunked encoding
		}
		if string(got) != "the file" || seen.Token != "17.k1.sig" || seen.Video != testID || seen.ContentType != "video/mp4" || seen.Length != wantLength {
			t.Errorf("stored %q of %+v", got, seen)
		}
	}
}

func TestUploadRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind   video.Kind
		status int
		code   string
	}{
		{video.Forbidden, 403, "url_invalid"},
		{video.Forbidden, 403, "url_expired"},
		{video.Forbidden, 403, "content_type_mismatch"},
		{video.Conflict, 409, "upload_closed"},
		{video.TooLarge, 413, "file_too_large"},
		{video.Unavailable, 503, "storage_unavailable"},
		{video.InsufficientStorage, 507, "insufficient_storage"},
	}
	for _, tt := range tests {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			w := do(newHandler(refusing(tt.kind, tt.code), Config{}), "PUT", uploadPath)
			p := wantProblem(t, w.Code, w.Header(), w.Body, tt.status, tt.code)
			if strings.Contains(p.Instance, "sig") {
				t.Errorf("instance shows the signature: %s", p.Instance)
			}
		})
	}
}

// No signature matches a malformed ID, so the service rejects it like any other
// URL that was tampered with.
func TestAMalformedIDIsLeftToTheSignatureCheck(t *testing.T) {
	t.Parallel()
	f := refusing(video.Forbidden, "url_invalid")
	refuse := f.receive
	f.receive = func(in uploads.Incoming) (string, error) { f.id = in.Video; return refuse(in) }
	w := do(newHandler(f, Config{}), "PUT", "/upload/17.k1.sig/not-a-uuid")
	wantProblem(t, w.Code, w.Header(), w.Body, 403, "url_invalid")
	if f.id != "not-a-uuid" {
		t.Errorf("the service was asked about %q", f.id)
	}
}

func TestAPartIsNotStoredAsTheWholeFile(t *testing.T) {
	t.Parallel()
	var got []byte
	var seen uploads.Incoming
	w := do(newHandler(storing(&got, &seen), Config{}), "PUT", uploadPath, "Content-Range", "bytes 0-9/100")
	wantProblem(t, w.Code, w.Header(), w.Body, 400, "partial_upload_unsupported")
	if seen.Token != "" {
		t.Errorf("stored %q", got)
	}
}

func TestRefusedUploadIsAnsweredBeforeItsBodyIsSent(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{
		"Expect":                 "Content-Length: 5000000000\r\nExpect: 100-continue\r\n",
		"a long upload":          "Content-Length: 5000000000\r\n",
		"a short upload":         "Content-Length: 1000\r\n",
		"no length":              "Transfer-Encoding: chunked\r\n",
		"no length, with Expect": "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, answers := serveUploads(t, refusing(video.TooLarge, "file_too_large"), Config{})
			start := time.Now()
			fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Type: video/mp4\r\n%s\r\n", uploadPath, head)
			res := readAnswer(t, answers)
			if waited := time.Since(start); waited > testDrain/2 {
				t.Errorf("the answer took %s", waited)
			}
			wantProblem(t, res.StatusCode, res.Header, res.Body, 413, "file_too_large")
			if !res.Close {
				t.Error("the connection is kept open, with an unread body on it")
			}
		})
	}
}

func TestExpectContinueIsAnsweredWith100(t *testing.T) {
	t.Parallel()
	var got []byte
	var seen uploads.Incoming
	conn, answers := serveUploads(t, storing(&got, &seen), Config{})
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n", uploadPath)
	if res := readAnswer(t, answers); res.StatusCode != 100 {
		t.Fatalf("the first answer is %d, want 100", res.StatusCode)
	}
	fmt.Fprint(conn, "file")
	if res := readAnswer(t, answers); res.StatusCode != 200 || string(got) != "file" || res.Close {
		t.Errorf("answer is %d, stored %q, connection closed: %v", res.StatusCode, got, res.Close)
	}
}

func TestStalledUpload(t *testing.T) {
	t.Parallel()
	var got []byte
	var seen uploads.Incoming
	conn, answers := serveUploads(t, storing(&got, &seen), Config{IdleTimeout: 50 * time.Millisecond})
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nonly this", uploadPath)
	res := readAnswer(t, answers)
	wantProblem(t, res.StatusCode, res.Header, res.Body, 400, "upload_stalled")
	if got != nil {
		t.Errorf("stored %q", got)
	}
}

// A later PUT to the same URL ends the earlier one, which may be waiting for bytes that never come.
func TestAStoppedUploadIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	s := &fakeService{receive: func(in uploads.Incoming) (string, error) {
		go in.Stop()
		_, err := io.ReadAll(in.Body)
		if err == nil {
			return "", errors.New("the body ends as if it were whole")
		}
		return "", &video.Error{Kind: video.Conflict, Code: "upload_replaced"}
	}}
	conn, answers := serveUploads(t, s, Config{})
	began := time.Now()
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nonly this", uploadPath)
	res := readAnswer(t, answers)
	wantProblem(t, res.StatusCode, res.Header, res.Body, 409, "upload_replaced")
	if waited := time.Since(began); waited > testDrain {
		t.Errorf("the answer took %s", waited)
	}
}

func TestSlowButSteadyUploadIsTaken(t *testing.T) {
	t.Parallel()
	var got []byte
	var seen uploads.Incoming
	const idle = 400 * time.Millisecond
	conn, answers := serveUploads(t, storing(&got, &seen), Config{IdleTimeout: idle})
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n", uploadPath)
	tick := time.NewTicker(idle / 8) // ten of them are longer than the timeout
	defer tick.Stop()
	for i := range 10 {
		<-tick.C
		fmt.Fprint(conn, i)
	}
	if res := readAnswer(t, answers); res.StatusCode != 200 || string(got) != digits {
		t.Errorf("answer is %d, stored %q", res.StatusCode, got)
	}
}

// The read deadline must be lifted at the end of the body. Otherwise the server,
// which watches the connection meanwhile, would cancel the request.
func TestStoringMayTakeLongerThanTheIdleTimeout(t *testing.T) {
	t.Parallel()
	const idle = 50 * time.Millisecond
	f := &fakeService{}
	conn, answers := serveUploads(t, &slowService{f, idle}, Config{IdleTimeout: idle})
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nfile", uploadPath)
	if res := readAnswer(t, answers); res.StatusCode != 200 {
		t.Errorf("answer is %d, want 200", res.StatusCode)
	}
}

func TestInterruptedUpload(t *testing.T) {
	t.Parallel()
	var got []byte
	var seen uploads.Incoming
	s := storing(&got, &seen)
	store := s.receive
	s.receive = func(in uploads.Incoming) (string, error) {
		_, err := store(in)
		return "", &video.Error{Kind: video.Invalid, Code: "upload_interrupted", Err: err}
	}
	conn, answers := serveUploads(t, s, Config{})
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nonly this", uploadPath)
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res := readAnswer(t, answers)
	wantProblem(t, res.StatusCode, res.Header, res.Body, 400, "upload_interrupted")
	if got != nil {
		t.Errorf("stored %q", got)
	}
}

func TestStorageErrorsAreInternal(t *testing.T) {
	t.Parallel()
	f := &fakeService{receive: func(in uploads.Incoming) (string, error) { return "", errors.New("the disk is broken") }}
	w := do(newHandler(f, Config{}), "PUT", uploadPath)
	wantProblem(t, w.Code, w.Header(), w.Body, 500, "internal")
}
