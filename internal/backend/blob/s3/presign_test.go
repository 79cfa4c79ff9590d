package s3_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

// request sends a request as a client without credentials does.
func request(t *testing.T, method, address, body string, header ...string) (status int, h http.Header, content string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func TestPresignedPutTakesThisFileOnly(t *testing.T) {
	t.Parallel()
	s, _ := inBucket(t, s3test.Start(t))
	address, err := s.Capabilities().Presign.PresignPut(t.Context(), "uploads/one", "video/mp4", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, method, address string
		header                []string
		want                  int
	}{
		{"another content type", http.MethodPut, address, []string{"Content-Type", "video/webm"}, http.StatusForbidden},
		{"a content type with a parameter", http.MethodPut, address, []string{"Content-Type", "video/mp4; a=b"}, http.StatusForbidden},
		{"no content type", http.MethodPut, address, nil, http.StatusForbidden},
		{"another key", http.MethodPut, strings.Replace(address, "/one?", "/two?", 1), []string{"Content-Type", "video/mp4"}, http.StatusForbidden},
		{"a longer validity", http.MethodPut, strings.Replace(address, "X-Amz-Expires=60", "X-Amz-Expires=600", 1), []string{"Content-Type", "video/mp4"}, http.StatusForbidden},
		{"another method", http.MethodGet, address, []string{"Content-Type", "video/mp4"}, http.StatusForbidden},
		{"exactly what was signed", http.MethodPut, address, []string{"Content-Type", "video/mp4"}, http.StatusOK},
	} {
		status, _, body := request(t, tt.method, tt.address, "the film", tt.header...)
		if status == http.StatusBadRequest && strings.Contains(body, "<Code>AccessDenied</Code>") {
			status = http.StatusForbidden // MinIO's answer when a signed header is missing
		}
		if status != tt.want {
			t.Errorf("a request with %s gets %d %s; want %d", tt.name, status, body, tt.want)
		}
	}
	wantObject(t, s, "uploads/one", []byte("the film"))
	wantNoObject(t, s, "uploads/two")
}

// A client that dies in the middle of an upload has uploaded nothing.
func TestPresignedPutThatBreaksOffLeavesNothing(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	if server.Program == "versitygw" {
		t.Skip("versitygw keeps what has arrived; docs/storage.md says so")
	}
	s, _ := inBucket(t, server)
	address, err := s.Capabilities().Presign.PresignPut(t.Context(), "broken", "video/mp4", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	body, cut := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = 8 << 20
	req.Header.Set("Content-Type", "video/mp4")
	go func() {
		_, _ = cut.Write(noise(6 << 20))
		_ = cut.CloseWithError(errors.New("the client dies"))
	}()
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		resp.Body.Close()
		t.Fatalf("the upload is answered %d", resp.StatusCode)
	}
	// The server may take a moment to notice. A whole upload afterwards is what counts.
	wantNoObject(t, s, "broken")
	if status, _, answer := request(t, http.MethodPut, address, "the film", "Content-Type", "video/mp4"); status != http.StatusOK {
		t.Fatalf("the second try is answered %d %s", status, answer)
	}
	wantObject(t, s, "broken", []byte("the film"))
}

func TestPresignedPutReplaces(t *testing.T) {
	t.Parallel()
	s, _ := inBucket(t, s3test.Start(t))
	address, err := s.Capabilities().Presign.PresignPut(t.Context(), "key", "video/mp4", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"the first try, which is longer", "the second"} {
		status, h, _ := request(t, http.MethodPut, address, content, "Content-Type", "video/mp4")
		info, err := s.Stat(t.Context(), "key")
		if status != http.StatusOK || err != nil || h.Get("ETag") != `"`+info.ETag+`"` {
			t.Errorf("PUT = %d with ETag %s; Stat = %+v, %v; want the same", status, h.Get("ETag"), info, err)
		}
		wantObject(t, s, "key", []byte(content))
	}
}

// The address is asked again until it has expired: nothing tells when that is.
func TestPresignedAddressesExpire(t *testing.T) {
	t.Parallel()
	s, _ := inBucket(t, s3test.Start(t))
	put(t, s, "key", []byte("here"))
	up, errPut := s.Capabilities().Presign.PresignPut(t.Context(), "key", "video/mp4", time.Second)
	down, errGet := s.Capabilities().Presign.PresignGet(t.Context(), "key", time.Second, "")
	if err := errors.Join(errPut, errGet); err != nil {
		t.Fatal(err)
	}
	for method, address := range map[string]string{http.MethodPut: up, http.MethodGet: down} {
		expired := func() bool {
			status, _, _ := request(t, method, address, "here", "Content-Type", "video/mp4")
			return status == http.StatusForbidden
		}
		for start := time.Now(); !expired(); time.Sleep(50 * time.Millisecond) {
			if time.Since(start) > 10*time.Second {
				t.Fatalf("%s still works after ten times its validity", method)
			}
		}
	}
}

func TestPresignedAddressesAreAtThePublicEndpoint(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	inside, outside := newProxy(t, server), newProxy(t, server)
	s := open(t, server, through(inside, server.URL(server.Bucket(t), "spool"), server)+"&public_endpoint="+outside.URL)
	inside.reset()
	up, err := s.Capabilities().Presign.PresignPut(t.Context(), "key", "video/mp4", time.Minute)
	if err != nil || !strings.HasPrefix(up, outside.URL+"/") {
		t.Fatalf("PresignPut = %s, %v; want one at %s", up, err, outside.URL)
	}
	if status, _, body := request(t, http.MethodPut, up, "the film", "Content-Type", "video/mp4"); status != http.StatusOK {
		t.Errorf("PUT = %d %s", status, body)
	}
	down, err := s.Capabilities().Presign.PresignGet(t.Context(), "key", time.Minute, "")
	if err != nil || !strings.HasPrefix(down, outside.URL+"/") {
		t.Fatalf("PresignGet = %s, %v; want one at %s", down, err, outside.URL)
	}
	if status, _, body := request(t, http.MethodGet, down, ""); status != http.StatusOK || body != "the film" {
		t.Errorf("GET = %d %s", status, body)
	}
	if origin, err := s.Capabilities().Presign.Origin(t.Context()); err != nil || origin != outside.URL {
		t.Errorf("Origin = %s, %v; want %s", origin, err, outside.URL)
	}
	if n := len(inside.counted()); n != 0 {
		t.Errorf("the client used the inner endpoint: %v", inside.counted())
	}
	wantObject(t, s, "key", []byte("the film"))
	if n := outside.counted()["get"]; n != 1 {
		t.Errorf("the store itself used the public endpoint")
	}
}

// Whoever signs more headers than this asks browsers for more than they send.
func TestPresignedPutSignsContentTypeOnly(t *testing.T) {
	t.Parallel()
	s, _ := inBucket(t, s3test.Start(t))
	address, err := s.Capabilities().Presign.PresignPut(t.Context(), "key", "video/mp4", 90*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if signed := q.Get("X-Amz-SignedHeaders"); signed != "content-type;host" || q.Get("X-Amz-Expires") != "5400" {
		t.Errorf("the address signs %s for %s seconds; want content-type;host for 5400", signed, q.Get("X-Amz-Expires"))
	}
	for name := range q {
		if strings.Contains(strings.ToLower(name), "checksum") || strings.Contains(strings.ToLower(name), "acl") {
			t.Errorf("the address has the parameter %s", name)
		}
	}
}

func TestPresignedGetIsFitForPlayers(t *testing.T) {
	t.Parallel()
	s, _ := inBucket(t, s3test.Start(t))
	put(t, s, "work/staged", []byte("0123456789"))
	if _, err := s.Copy(t.Context(), "work/staged", "public/720p.mp4", ""); err != nil {
		t.Fatal(err)
	}
	put(t, s, "public/720p-0.jpg", []byte("0123456789"))
	for key, want := range map[string]string{
		"public/720p.mp4": "video/mp4", "public/720p-0.jpg": "image/jpeg", "work/staged": "application/octet-stream",
	} {
		address, err := s.Capabilities().Presign.PresignGet(t.Context(), key, time.Minute, "")
		if err != nil {
			t.Fatal(err)
		}
		status, h, body := request(t, http.MethodGet, address, "", "Range", "bytes=2-4")
		if status != http.StatusPartialContent || body != "234" || h.Get("Content-Type") != want {
			t.Errorf("GET of a range of %s = %d %q %s; want 206, 234 and %s", key, status, body, h.Get("Content-Type"), want)
		}
	}
}

func TestPresignRefusesWhatS3WouldNotHonour(t *testing.T) {
	t.Parallel()
	s, _ := inBucket(t, s3test.Start(t))
	for _, ttl := range []time.Duration{-time.Second, 0, 999 * time.Millisecond, 7*24*time.Hour + time.Second} {
		_, errPut := s.Capabilities().Presign.PresignPut(t.Context(), "key", "video/mp4", ttl)
		_, errGet := s.Capabilities().Presign.PresignGet(t.Context(), "key", ttl, "")
		if errPut == nil || errGet == nil {
			t.Errorf("with a validity of %s: %v, %v; want errors", ttl, errPut, errGet)
		}
	}
	if _, err := s.Capabilities().Presign.PresignPut(t.Context(), "key", "", time.Minute); err == nil {
		t.Error("PresignPut without a content type succeeded")
	}
	_, errPut := s.Capabilities().Presign.PresignPut(t.Context(), "../key", "video/mp4", time.Minute)
	_, errGet := s.Capabilities().Presign.PresignGet(t.Context(), "../key", time.Minute, "")
	if !errors.Is(errPut, blob.ErrBadKey) || !errors.Is(errGet, blob.ErrBadKey) {
		t.Errorf("with a bad key: %v, %v; want ErrBadKey", errPut, errGet)
	}
}

// TestPresignedAddressesGoByTheClockOfTheServer has a machine sign whose own
// clock is wrong by more than the URLs are valid for.
func TestPresignedAddressesGoByTheClockOfTheServer(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	for name, ahead := range map[string]time.Duration{"ahead": 7 * time.Minute, "behind": -7 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := quick(server)
			options.Now = func() time.Time { return time.Now().Add(ahead) }
			s, err := s3.Open(t.Context(), server.URL(bucket, name), options)
			if err != nil {
				t.Fatal(err)
			}
			upload, err := s.Capabilities().Presign.PresignPut(t.Context(), "film", "video/mp4", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if status, _, body := request(t, http.MethodPut, upload, "the film", "Content-Type", "video/mp4"); status != http.StatusOK {
				t.Errorf("an upload at once is answered %d %s", status, body)
			}
			address, err := s.Capabilities().Presign.PresignGet(t.Context(), "film", time.Minute, "")
			if err != nil {
				t.Fatal(err)
			}
			if status, _, body := request(t, http.MethodGet, address, ""); status != http.StatusOK || body != "the film" {
				t.Errorf("a download at once is answered %d %s", status, body)
			}
			u, _ := url.Parse(address)
			signed, err := time.Parse("20060102T150405Z", u.Query().Get("X-Amz-Date"))
			if off := time.Since(signed); err != nil || off.Abs() > 30*time.Second {
				t.Errorf("an address of a minute is signed as of %s ago, %v", off, err)
			}
		})
	}
}
