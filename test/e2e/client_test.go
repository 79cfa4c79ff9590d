package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// header is one more header of a request.
type header struct{ name, value string }

// call sends a request with the test's key to a path of the API. body is nil,
// a string or something that JSON can tell.
func (s *server) call(method, path string, body any, headers ...header) reply {
	s.t.Helper()
	return s.callAs(s.key, method, path, body, headers...)
}

// callAs is call with another key; an empty one is not sent.
func (s *server) callAs(key, method, path string, body any, headers ...header) reply {
	s.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	default:
		r = bytes.NewReader(encode(s.t, b))
	}
	if r != nil {
		headers = append([]header{{"Content-Type", "application/json"}}, headers...)
	}
	if key != "" {
		headers = append(headers, header{"X-API-KEY", key})
	}
	return s.send(method, s.url+path, r, headers...)
}

// get asks for any address, without a key.
func (s *server) get(url string, headers ...header) reply {
	s.t.Helper()
	return s.send(http.MethodGet, url, nil, headers...)
}

// send sends any request and reads its answer.
func (s *server) send(method, url string, body io.Reader, headers ...header) reply {
	s.t.Helper()
	r, err := s.trySend(method, url, body, headers...)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, url, err)
	}
	return r
}

// sized is a body whose length is told beforehand, as S3 wants it.
type sized struct {
	io.Reader
	length int64
}

// openSized opens a file that is to be sent.
func openSized(file string) (body sized, done func(), err error) {
	f, err := os.Open(file)
	if err != nil {
		return sized{}, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return sized{}, nil, err
	}
	return sized{f, info.Size()}, func() { f.Close() }, nil
}

// trySend is send for a server that may die before it answers.
func (s *server) trySend(method, url string, body io.Reader, headers ...header) (reply, error) {
	req, err := http.NewRequestWithContext(s.t.Context(), method, url, body)
	if err != nil {
		return reply{}, err
	}
	if b, ok := body.(sized); ok {
		req.ContentLength = b.length
	}
	for _, h := range headers {
		req.Header.Set(h.name, h.value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, text}, err
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode request: %v", err)
	}
	return b
}

// decode reads the body of a reply that must have the given status.
func decode[T any](t testing.TB, r reply, status int) T {
	t.Helper()
	var v T
	if r.status != status {
		t.Fatalf("answer is %d %s; want %d", r.status, r.body, status)
	}
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("decode %s: %v", r.body, err)
	}
	return v
}

// problem reads a refusal, which must be problem+json with this status and code.
func (r reply) problem(t testing.TB, status int, code string) problem {
	t.Helper()
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("refusal is %d with Content-Type %q, body %.200q; want %d %s as application/problem+json", r.status, got, r.body, status, code)
		return problem{}
	}
	p := decode[problem](t, r, status)
	if p.Code != code || p.Status != status {
		t.Errorf("refusal is %d %s (%s); want %d %s", p.Status, p.Code, p.Detail, status, code)
	}
	if p.Type == "" || p.Title == "" || p.Detail == "" || p.Instance == "" || p.RequestID == "" {
		t.Errorf("refusal lacks a part: %s", r.body)
	}
	return p
}

// create makes a video.
func (s *server) create(v newVideo) upload {
	s.t.Helper()
	return decode[upload](s.t, s.call("POST", "/api/video", v), http.StatusCreated)
}

// put uploads a file to the address of u.
func (s *server) put(u upload, file string) {
	s.t.Helper()
	body, done, err := openSized(file)
	if err != nil {
		s.t.Fatalf("open upload: %v", err)
	}
	defer done()
	s.putBody(u, body)
}

func (s *server) putBody(u upload, body io.Reader) {
	s.t.Helper()
	r := s.send("PUT", u.UploadURL, body, header{"Content-Type", u.ContentType})
	if r.status != http.StatusOK || r.header.Get("ETag") == "" {
		s.t.Fatalf("PUT answers %d %s, ETag %q; want 200 with an ETag", r.status, r.body, r.header.Get("ETag"))
	}
}

// putLate sends a file to an address that leads nowhere any more. The server
// refuses it so. A bucket knows nothing about videos and keeps it for the sweep.
func (s *server) putLate(u upload, status int, code string) {
	s.t.Helper()
	r := s.send("PUT", u.UploadURL, strings.NewReader("late"), header{"Content-Type", u.ContentType})
	switch {
	case !onFleet():
		r.problem(s.t, status, code)
	case r.status != http.StatusOK:
		s.t.Errorf("a late PUT to the bucket answers %d %s; want 200", r.status, r.body)
	}
}

// complete tells the server that the upload is complete.
func (s *server) complete(id string) completed {
	s.t.Helper()
	return decode[completed](s.t, s.tryComplete(id), http.StatusCreated)
}

// tryComplete is complete for a call that may be refused.
func (s *server) tryComplete(id string) reply {
	s.t.Helper()
	return s.call("POST", "/api/video/"+id+"/complete-upload", nil)
}

// submit creates a video, uploads the file and completes the upload.
func (s *server) submit(v newVideo, file string) upload {
	s.t.Helper()
	u := s.create(v)
	s.put(u, file)
	s.complete(u.ID)
	return u
}

// publish submits a video and waits until it is ready.
func (s *server) publish(v newVideo, file string) watch {
	s.t.Helper()
	return s.waitReady(s.submit(v, file))
}

// read reads a video on the route that fits its visibility. Private addresses
// live for an hour.
func (s *server) read(u upload) watch {
	s.t.Helper()
	return decode[watch](s.t, s.tryRead(u), http.StatusOK)
}

// tryRead is read for a video that may be gone.
func (s *server) tryRead(u upload) reply {
	s.t.Helper()
	if u.IsPublic {
		return s.call("GET", "/api/video/"+u.ID+"/public", nil)
	}
	return s.readPrivate(u.ID, 3600)
}

// readPrivate reads a private video whose addresses shall live for so long.
func (s *server) readPrivate(id string, seconds int) reply {
	s.t.Helper()
	return s.call("GET", fmt.Sprintf("/api/video/%s/private/%d", id, seconds), nil)
}

// waitReady waits until a video is ready; any other end fails the test.
func (s *server) waitReady(u upload) watch {
	s.t.Helper()
	w := s.waitFinished(u)
	if w.Status != "ready" {
		s.t.Fatalf("video is %s (%+v); want ready", w.Status, w.Failure)
	}
	return w
}

// waitFinished waits until a video is ready or has failed.
func (s *server) waitFinished(u upload) watch {
	s.t.Helper()
	var w watch
	s.until("video "+u.ID+" to be finished", readyTimeout, func() bool {
		s.mustRun()
		w = s.read(u)
		return w.Status == "ready" || w.Status == "fail"
	})
	return w
}

// getReady asks for a file that may come a little later than its video turns
// ready, as thumbnails do.
func (s *server) getReady(url string) reply {
	s.t.Helper()
	var r reply
	s.until(url+" to be ready", readyTimeout, func() bool {
		r = s.get(url)
		return r.status != http.StatusNotFound || !bytes.Contains(r.body, []byte(`"not_ready"`))
	})
	return r
}

// deleteVideo deletes a video.
func (s *server) deleteVideo(id string) {
	s.t.Helper()
	if r := s.call("DELETE", "/api/video/"+id, nil); r.status != http.StatusOK {
		s.t.Fatalf("DELETE answers %d %s; want 200", r.status, r.body)
	}
}

// deleteResolution deletes one resolution of a video.
func (s *server) deleteResolution(id string) {
	s.t.Helper()
	if r := s.call("DELETE", "/api/video/resolution/"+id, nil); r.status != http.StatusOK {
		s.t.Fatalf("DELETE of a resolution answers %d %s; want 200", r.status, r.body)
	}
}
