package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestUploadsAreBoundToTheirAddress(t *testing.T) {
	t.Parallel()
	s := start(t)
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}
	u, other := s.create(ask), s.create(ask)
	forgeries := ownForgeries
	if onFleet() {
		forgeries = bucketForgeries
	}
	for _, f := range forgeries(s, u, other) {
		t.Run(f.name, func(t *testing.T) {
			r := s.in(t).send("PUT", f.url, strings.NewReader("x"), header{"Content-Type", f.contentType})
			checkForbidden(t, r, f.code)
		})
	}
	checkMethods(t, s, u.UploadURL, "POST", "GET", "DELETE")
	if files := s.objects(""); len(files) > 0 {
		t.Errorf("refused uploads left %q", files)
	}
}

// forgery is an upload that is not what its address was given for. A bucket has
// its own words for that.
type forgery struct{ name, url, contentType, code string }

func ownForgeries(s *server, u, other upload) []forgery {
	parts := strings.Split(u.UploadURL, "/") // http: "" host upload token id
	expiry, rest, _ := strings.Cut(parts[4], ".")
	at := func(token, id string) string { return strings.Join([]string{s.url, "upload", token, id}, "/") }
	return []forgery{
		{"another content type", u.UploadURL, "video/webm", "content_type_mismatch"},
		{"no content type", u.UploadURL, "", "content_type_mismatch"},
		{"a content type with a parameter", u.UploadURL, "video/mp4; codecs=avc1", "content_type_mismatch"},
		{"a later end", at("9"+expiry[1:]+"."+rest, u.ID), "video/mp4", "url_invalid"},
		{"another signature", at(expiry+"."+swapCase(rest), u.ID), "video/mp4", "url_invalid"},
		{"another video", at(parts[4], other.ID), "video/mp4", "url_invalid"},
		{"no video at all", at(parts[4], "x"), "video/mp4", "url_invalid"},
		{"nonsense instead of a token", at("nonsense", u.ID), "video/mp4", "url_invalid"},
	}
}

func bucketForgeries(s *server, u, other upload) []forgery {
	with := func(name, value string) string {
		q := query(s.t, u.UploadURL)
		q.Set(name, value)
		return strings.Split(u.UploadURL, "?")[0] + "?" + q.Encode()
	}
	at := func(from, to string) string { return strings.Replace(u.UploadURL, from, to, 1) }
	return []forgery{
		{"another content type", u.UploadURL, "video/webm", ""},
		{"no content type", u.UploadURL, "", ""},
		{"a content type with a parameter", u.UploadURL, "video/mp4; codecs=avc1", ""},
		{"a longer life", with("X-Amz-Expires", "36000"), "video/mp4", ""},
		{"a later beginning", with("X-Amz-Date", time.Now().UTC().Add(time.Minute).Format("20060102T150405Z")), "video/mp4", ""},
		{"a promise about the type dropped", with("X-Amz-SignedHeaders", "host"), "video/mp4", ""},
		{"another signature", with("X-Amz-Signature", strings.Repeat("0", 64)), "video/mp4", ""},
		{"another video", at(u.ID, other.ID), "video/mp4", ""},
		{"another place in the bucket", at("/upload/", "/public/"), "video/mp4", ""},
		{"no signature", strings.Split(u.UploadURL, "?")[0], "video/mp4", ""},
	}
}

// checkForbidden wants a refusal with this code, or with any words of the
// bucket's when there is none.
func checkForbidden(t testing.TB, r reply, code string) {
	t.Helper()
	if code != "" {
		r.problem(t, http.StatusForbidden, code)
	} else if r.status != http.StatusForbidden {
		t.Errorf("the bucket answers %d %s; want 403", r.status, r.body)
	}
}

// checkMethods wants an address to be good for nothing with these methods. A
// bucket refuses those that it knows by the signature.
func checkMethods(t testing.TB, s *server, address string, methods ...string) {
	t.Helper()
	for _, method := range methods {
		r := s.send(method, address, nil)
		if !onFleet() {
			r.problem(t, http.StatusMethodNotAllowed, "method_not_allowed")
		} else if r.status != http.StatusForbidden && r.status != http.StatusMethodNotAllowed {
			t.Errorf("%s answers %d %s; want 403 or 405", method, r.status, r.body)
		}
	}
}

// query returns what an address says after its question mark.
func query(t testing.TB, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

func TestASecondUploadReplacesTheFirst(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	s.putBody(u, bytes.NewReader(bytes.Repeat([]byte("no video"), 1<<16)))
	s.put(u, clip(t, miniClip))
	s.complete(u.ID)
	s.waitReady(u)
}

// TestALaterUploadEndsTheEarlierOne sends a second file while the first is still on its way.
func TestALaterUploadEndsTheEarlierOne(t *testing.T) {
	oneMachineOnly(t, "a bucket keeps what comes last, whole")
	t.Parallel()
	s := shared(t)
	u := s.create(tinyVideo)
	body, sender := io.Pipe()
	defer sender.Close()
	first := make(chan reply, 1)
	go func() {
		r, err := s.trySend("PUT", u.UploadURL, body, header{"Content-Type", u.ContentType})
		if err != nil {
			t.Errorf("the first upload has no answer: %v", err)
		}
		first <- r
	}()
	// More than the sockets buffer: the server is reading when the second upload begins.
	if _, err := sender.Write(make([]byte, 32<<20)); err != nil {
		t.Fatal(err)
	}
	s.put(u, clip(t, smallClip))
	r := <-first
	r.problem(t, http.StatusConflict, "upload_replaced")
	s.complete(u.ID)
	s.wantVideo(s.waitReady(u), smallFrames)
}

func TestUploadsBeyondTheLimitAreRefused(t *testing.T) {
	oneMachineOnly(t, "a bucket takes them; completing them is refused, which has a test of its own")
	t.Parallel()
	const limit = 100_000
	s := start(t, withEnv("SPOOL_MAX_UPLOAD_BYTES", fmt.Sprint(limit)))
	bodies := map[string]io.Reader{
		"a length that is announced": bytes.NewReader(make([]byte, limit+1)),
		"a length that is not":       struct{ io.Reader }{bytes.NewReader(make([]byte, limit+1))},
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
			if u.MaxUploadBytes != limit {
				t.Errorf("maxUploadBytes is %d, want %d", u.MaxUploadBytes, limit)
			}
			p := s.send("PUT", u.UploadURL, body, header{"Content-Type", u.ContentType}).problem(t, http.StatusRequestEntityTooLarge, "file_too_large")
			if !strings.Contains(p.Detail, fmt.Sprint(limit)) {
				t.Errorf("detail is %q, want it to name the limit", p.Detail)
			}
			s.until("what was received to be removed", 5*time.Second, func() bool { return len(s.objects("")) == 0 })
			s.tryComplete(u.ID).problem(t, http.StatusUnprocessableEntity, "upload_missing")
			s.putBody(u, bytes.NewReader(make([]byte, limit)))
			s.deleteVideo(u.ID)
		})
	}
}

// dial opens a connection to the server of an address and begins a PUT there.
func dial(t testing.TB, u upload, length int, more string) net.Conn {
	t.Helper()
	at, err := url.Parse(u.UploadURL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n%s\r\n", at.RequestURI(), at.Host, length, more)
	return c
}

func TestABrokenUploadLeavesNothing(t *testing.T) {
	oneMachineOnly(t, "S3 receives uploads: Amazon keeps nothing of a broken one, versitygw what came")
	t.Parallel()
	s := start(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	c := dial(t, u, 1<<20, "Content-Type: video/mp4\r\n")
	if _, err := c.Write(make([]byte, 1<<19)); err != nil {
		t.Fatal(err)
	}
	s.until("the upload to begin", 10*time.Second, func() bool { return len(s.objects("")) > 0 })
	c.Close()
	s.until("what was received to be removed", 10*time.Second, func() bool { return len(s.objects("")) == 0 })
	s.tryComplete(u.ID).problem(t, http.StatusUnprocessableEntity, "upload_missing")
}

// TestARefusedUploadIsNotSent lets the client ask first, as curl does for large
// files: it must hear the refusal instead of "go on".
func TestARefusedUploadIsNotSent(t *testing.T) {
	oneMachineOnly(t, "S3 answers uploads")
	t.Parallel()
	s := start(t, withEnv("SPOOL_MAX_UPLOAD_BYTES", "1000000"))
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	const ask = "Expect: 100-continue\r\n"
	tests := []struct {
		name, more string
		length     int
		want       string
	}{
		{"a wrong type", "Content-Type: text/plain\r\n", 10, "HTTP/1.1 403"},
		{"too large", "Content-Type: video/mp4\r\n", 1_000_001, "HTTP/1.1 413"},
		{"welcome", "Content-Type: video/mp4\r\n", 10, "HTTP/1.1 100"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := bufio.NewReader(dial(t, u, tt.length, tt.more+ask))
			if line, err := answer.ReadString('\n'); !strings.HasPrefix(line, tt.want) {
				t.Errorf("the first answer is %q, %v; want %s", line, err, tt.want)
			}
		})
	}
}

func TestPagesOfOtherOriginsMayUpload(t *testing.T) {
	oneMachineOnly(t, "the rules of the bucket decide, which its operator makes")
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	origin := header{"Origin", "https://app.example"}
	r := s.send("OPTIONS", u.UploadURL, nil, origin, header{"Access-Control-Request-Method", "PUT"}, header{"Access-Control-Request-Headers", "content-type"})
	if r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(r.header.Get("Access-Control-Allow-Methods"), "PUT") || !strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Content-Type") {
		t.Errorf("preflight answers %d %v", r.status, r.header)
	}
	for name, contentType := range map[string]string{"accepted": u.ContentType, "refused": "text/plain"} {
		r := s.send("PUT", u.UploadURL, strings.NewReader("x"), origin, header{"Content-Type", contentType})
		if r.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("a page may not read how its upload was %s", name)
		}
	}
}
