package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// sendfileLocations are those of docs/cdn.md, but for the addresses.
const sendfileLocations = `
location / {
  proxy_pass $SPOOL;
  proxy_http_version 1.1;
  proxy_set_header Host $host;
  proxy_set_header X-Sendfile-Type X-Accel-Redirect;
}
location /spool-objects/ {
  internal;
  alias $OBJECTS/;
  add_header Access-Control-Allow-Origin $upstream_http_access_control_allow_origin;
  add_header Access-Control-Expose-Headers $upstream_http_access_control_expose_headers;
  add_header Content-Security-Policy $upstream_http_content_security_policy;
  add_header X-Content-Type-Options $upstream_http_x_content_type_options;
  add_header X-Request-Id $upstream_http_x_request_id;
}`

// TestNginxSendsFiles plays through a real nginx that sends the files itself.
func TestNginxSendsFiles(t *testing.T) {
	oneBackend(t, "it is for files on a disk")
	t.Parallel()
	s := start(t, withEnv("SPOOL_SENDFILE_HEADER", "X-Accel-Redirect"), withEnv("SPOOL_TRUSTED_PROXIES", "127.0.0.1/32"))
	front := startNginx(t, "", strings.NewReplacer("$SPOOL", s.url, "$OBJECTS", s.objectsDir).Replace(sendfileLocations))
	public := s.waitReady(s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, miniClip)))
	private := s.waitReady(s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, clip(t, miniClip)))
	via := func(address string, headers ...header) reply {
		t.Helper()
		return s.get(strings.Replace(address, s.url, front.url, 1), headers...)
	}
	for name, address := range map[string]string{"public": public.Resolutions["144p"].VideoURL, "private": private.Resolutions["144p"].VideoURL} {
		direct := s.get(address)
		if direct.status != 200 || len(direct.body) < 1000 || direct.header.Get("X-Accel-Redirect") != "" {
			t.Fatalf("%s: Spool itself answers %d with %d bytes", name, direct.status, len(direct.body))
		}
		whole, part := via(address), via(address, header{"Range", "bytes=100-299"})
		if whole.status != 200 || !bytes.Equal(whole.body, direct.body) || part.status != 206 || !bytes.Equal(part.body, direct.body[100:300]) {
			t.Errorf("%s: nginx answers %d with %d bytes, and a range with %d and %d bytes", name, whole.status, len(whole.body), part.status, len(part.body))
		}
		for _, h := range []string{"Content-Type", "Content-Disposition", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
			"Content-Security-Policy", "X-Content-Type-Options", "Accept-Ranges", "Last-Modified"} {
			if got, want := whole.header.Get(h), direct.header.Get(h); got != want || want == "" {
				t.Errorf("%s: %s is %q behind nginx, and %q without", name, h, got, want)
			}
		}
		if got, want := whole.header.Get("Cache-Control"), direct.header.Get("Cache-Control"); got == "" || got[:strings.Index(got, "=")] != want[:strings.Index(want, "=")] {
			t.Errorf("%s: Cache-Control is %q behind nginx, and %q without", name, got, want)
		}
		etag := whole.header.Get("ETag")
		if again := via(address, header{"If-None-Match", etag}); again.status != http.StatusNotModified || etag == "" {
			t.Errorf("%s: with the ETag %q the answer is %d; want 304", name, etag, again.status)
		}
		for h, values := range whole.header {
			if strings.Contains(h, "Accel") || strings.Contains(strings.Join(values, " "), "objects") {
				t.Errorf("%s: a client sees %s: %s", name, h, values)
			}
		}
	}
	wantRefusedBehind(t, s, via, front, public, private)
}

// wantRefusedBehind checks what nobody may get through nginx.
func wantRefusedBehind(t *testing.T, s *server, via func(string, ...header) reply, front *nginx, public, private watch) {
	t.Helper()
	address := public.Resolutions["144p"].VideoURL
	signed := private.Resolutions["144p"].VideoURL
	if r := via(strings.Replace(signed, "/v/1", "/v/2", 1)); r.status != http.StatusForbidden {
		t.Errorf("a forged address answers %d; want 403", r.status)
	}
	if r := s.get(front.url + "/spool-objects/private/" + private.ID + "/144p.mp4"); r.status != http.StatusNotFound {
		t.Errorf("the files themselves answer %d; want 404", r.status)
	}
	if r := via(strings.Replace(address, "144p.mp4", "144p-0.m4s", 1)); r.status != 200 || len(r.body) < 1000 {
		t.Errorf("a segment answers %d with %d bytes", r.status, len(r.body))
	}
	s.deleteVideo(public.ID)
	if r := via(address); r.status != http.StatusNotFound {
		t.Errorf("a deleted video answers %d; want 404", r.status)
	}
}
