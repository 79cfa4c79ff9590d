package s3_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

func TestPresignedAddressesOfABucketWithAHostOfItsOwn(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	bucket := server.Bucket(t)
	s := openHost(t, server, bucket, "films")
	host := bucket + "." + s3test.Domain
	if origin, err := s.Capabilities().Presign.Origin(t.Context()); err != nil || origin != "http://"+host {
		t.Errorf("Origin = %s, %v; want the host %s", origin, err, host)
	}
	upload, err := s.Capabilities().Presign.PresignPut(t.Context(), "uploads/one", "video/mp4", time.Minute)
	if err != nil || !strings.HasPrefix(upload, "http://"+host+"/films/uploads/one?") {
		t.Fatalf("PresignPut = %s, %v", upload, err)
	}
	play, err := s.Capabilities().Presign.PresignGet(t.Context(), "uploads/one", time.Minute, "")
	if err != nil || !strings.HasPrefix(play, "http://"+host+"/films/uploads/one?") {
		t.Fatalf("PresignGet = %s, %v", play, err)
	}
	wantAnswer(t, server.Dial, http.MethodPut, upload, "the film", http.StatusOK, "")
	wantAnswer(t, server.Dial, http.MethodGet, play, "", http.StatusOK, "the film")
	wantAnswer(t, server.Dial, http.MethodGet, strings.Replace(play, "/one?", "/two?", 1), "", http.StatusForbidden, "SignatureDoesNotMatch")
	wantObject(t, s, "uploads/one", []byte("the film"))
}

// wantAnswer sends a request as a client without credentials does, who finds the
// host in this way. The answer must have the status, and hold the text.
func wantAnswer(t *testing.T, dial func(context.Context, string, string) (net.Conn, error), method, address, body string, status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "video/mp4")
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status || !strings.Contains(string(content), text) {
		t.Errorf("%s of %s is answered %d %s, %v; want %d %q", method, address, resp.StatusCode, content, err, status, text)
	}
}
