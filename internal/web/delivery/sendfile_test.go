package delivery

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestOnlyAProxyThatAsksSendsTheFile(t *testing.T) {
	t.Parallel()
	film := makeRendition(t)
	proxies := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	for _, tt := range []struct {
		name, header, asks, peer, file, want string
	}{
		{"nginx", XAccelRedirect, XAccelRedirect, "10.1.2.3:4", "720p.mp4", "/spool-objects/"},
		{"nginx, mapped address", XAccelRedirect, XAccelRedirect, "[::ffff:10.1.2.3]:4", "720p.mp4", "/spool-objects/"},
		{"Apache", XSendfile, XSendfile, "10.1.2.3:4", "720p.mp4", "/data/objects/"},
		{"a file that is made here", XAccelRedirect, XAccelRedirect, "10.1.2.3:4", "720p-0.m4s", ""},
		{"a proxy that does not ask", XAccelRedirect, "", "10.1.2.3:4", "720p.mp4", ""},
		{"a proxy that asks for another way", XAccelRedirect, XSendfile, "10.1.2.3:4", "720p.mp4", ""},
		{"a client that asks", XAccelRedirect, XAccelRedirect, "10.2.2.3:4", "720p.mp4", ""},
		{"turned off", "", "", "10.1.2.3:4", "720p.mp4", ""},
		{"no address", XAccelRedirect, XAccelRedirect, "@", "720p.mp4", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newRig(t, film, Config{Sendfile: Sendfile{Header: tt.header, Proxies: proxies, Dir: "/data/objects"}})
			r := httptest.NewRequest("GET", h.public(tt.file), nil)
			r.RemoteAddr = tt.peer
			r.Header.Set("X-Sendfile-Type", tt.asks)
			r.Header.Set("Range", "bytes=1-2")
			w := httptest.NewRecorder()
			h.handler.ServeHTTP(w, r)
			got := w.Header().Get(XAccelRedirect) + w.Header().Get(XSendfile)
			if tt.want == "" {
				if w.Header().Get("Vary") != "" {
					t.Errorf("a file that is sent from here varies by %q", w.Header().Get("Vary"))
				}
				if got != "" || w.Code != http.StatusPartialContent || w.Body.Len() != 2 {
					t.Errorf("answer is %d %q, with a path %q; want the range", w.Code, w.Body, got)
				}
				return
			}
			if got != tt.want+"public/"+string(h.film)+"/720p.mp4" || w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("ETag") != "" || w.Header().Get("Vary") != "X-Sendfile-Type" {
				t.Errorf("answer is %d with %d bytes, ETag %q and path %q; want the path alone, below %q", w.Code, w.Body.Len(), w.Header().Get("ETag"), got, tt.want)
			}
			if c := w.Header().Get("Cache-Control"); c != "public, max-age=0, s-maxage=3600" || w.Header().Get("Content-Type") != "video/mp4" {
				t.Errorf("headers are %v", w.Header())
			}
		})
	}
}

// A picture that is handed over still depends on Accept.
func TestAPictureIsHandedOverWithItsVary(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, Config{CDN: true, Sendfile: Sendfile{Header: XAccelRedirect, Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}})
	r.addFile("poster.jpg", []byte("a JPEG"))
	r.addFile("poster.webp", []byte("a WebP"))
	w := r.do("GET", r.public("poster.jpg"), "Accept", "image/webp", "X-Sendfile-Type", XAccelRedirect)
	if got := w.Header(); got.Get(XAccelRedirect) != "/spool-objects/public/"+string(r.film)+"/poster.webp" || got.Get("Vary") != "Accept, X-Sendfile-Type" || got.Get("Cache-Tag") != string(r.film) {
		t.Errorf("the answer has the headers %v", got)
	}
}
