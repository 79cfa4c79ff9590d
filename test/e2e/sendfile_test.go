package e2e

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

// sendfileSample is the configuration of nginx in docs/cdn.md: what stands beside the server block, and inside.
var sendfileSample = regexp.MustCompile("(?s)```nginx\n(map [^\n]*\n)(location / .*?)```")

// startSendfile runs nginx as docs/cdn.md says, but for the addresses.
func startSendfile(t *testing.T, s *server) *nginx {
	t.Helper()
	page, err := os.ReadFile("../../docs/cdn.md")
	if err != nil {
		t.Fatal(err)
	}
	sample := sendfileSample.FindStringSubmatch(string(page))
	if sample == nil {
		t.Fatal("docs/cdn.md has no sample of nginx that sends files")
	}
	return startNginx(t, sample[1], strings.NewReplacer("http://127.0.0.1:8080", s.url, "/var/lib/spool/objects", s.objectsDir).Replace(sample[2]))
}

// TestNginxSendsFiles plays through a real nginx that sends the files itself, with a CDN in front of it.
func TestNginxSendsFiles(t *testing.T) {
	oneBackend(t, "it is for files on a disk")
	t.Parallel()
	s := start(t, withEnv("SPOOL_SENDFILE_HEADER", "X-Accel-Redirect"), withEnv("SPOOL_SENDFILE_PROXIES", "127.0.0.1/32"),
		withEnv("SPOOL_CDN_URL", "http://cdn.example"))
	front := startSendfile(t, s)
	public := s.waitReady(s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, miniClip)))
	private := s.waitReady(s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, clip(t, miniClip)))
	at := func(host, address string, headers ...header) reply {
		t.Helper()
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return s.get(host+u.RequestURI(), headers...)
	}
	via := func(address string, headers ...header) reply { t.Helper(); return at(front.url, address, headers...) }
	for name, address := range map[string]string{"public": public.Resolutions["144p"].VideoURL, "private": private.Resolutions["144p"].VideoURL, "poster": public.PosterURL} {
		direct := at(s.url, address)
		if direct.status != 200 || len(direct.body) < 300 || direct.header.Get("X-Accel-Redirect") != "" || direct.header.Get("Cache-Tag") == "" || direct.header.Get("Surrogate-Key") == "" {
			t.Fatalf("%s: Spool itself answers %d with %d bytes: %v", name, direct.status, len(direct.body), direct.header)
		}
		if got := direct.header.Get("Vary"); (got == "Accept") != (name == "poster") {
			t.Errorf("%s: Spool itself says that it varies by %q", name, got)
		}
		whole, part := via(address), via(address, header{"Range", "bytes=100-299"})
		if whole.status != 200 || !bytes.Equal(whole.body, direct.body) || part.status != 206 || !bytes.Equal(part.body, direct.body[100:300]) {
			t.Errorf("%s: nginx answers %d with %d bytes, and a range with %d and %d bytes", name, whole.status, len(whole.body), part.status, len(part.body))
		}
		if several := via(address, header{"Range", "bytes=0-1,5-6"}); several.status != 200 || !bytes.Equal(several.body, direct.body) {
			t.Errorf("%s: nginx answers several ranges with %d and %d bytes; want the whole file", name, several.status, len(several.body))
		}
		wantSameHeaders(t, name, whole.header, direct.header)
		etag := whole.header.Get("ETag")
		if again := via(address, header{"If-None-Match", etag}); again.status != http.StatusNotModified || etag == "" {
			t.Errorf("%s: with the ETag %q the answer is %d; want 304", name, etag, again.status)
		}
	}
	wantRefusedBehind(t, s, via, front, public, private)
}

// wantSameHeaders wants a file to come through nginx with the headers that Spool itself sends, and no others.
func wantSameHeaders(t *testing.T, name string, got, want http.Header) {
	t.Helper()
	for h := range want {
		switch h {
		case "Date", "Etag", "X-Request-Id": // of each answer
			if got.Get(h) == "" {
				t.Errorf("%s: there is no %s behind nginx", name, h)
			}
		case "Cache-Control": // less of it is left
			a, _, _ := strings.Cut(got.Get(h), "=")
			if b, _, _ := strings.Cut(want.Get(h), "="); a == "" || a != b {
				t.Errorf("%s: %s is %q behind nginx, and %q without", name, h, got.Get(h), want.Get(h))
			}
		default:
			if a, b := strings.Join(got.Values(h), "; "), strings.Join(want.Values(h), "; "); a != b {
				t.Errorf("%s: %s is %q behind nginx, and %q without", name, h, a, b)
			}
		}
	}
	for h, values := range got {
		if want.Get(h) == "" && h != "Server" && h != "Connection" || strings.Contains(strings.Join(values, " "), "objects") {
			t.Errorf("%s: a client sees %s: %s", name, h, values)
		}
	}
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
