package delivery

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestOnlyAProxyThatAsksSendsTheFile(t *testing.T) {
	t.Parallel()
	const key = "public/" + testID + "/720p.mp4"
	proxies := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	for _, tt := range []struct {
		name, header, asks, peer, key, want string
	}{
		{"nginx", XAccelRedirect, XAccelRedirect, "10.1.2.3:4", key, "/spool-objects/" + key},
		{"nginx, mapped address", XAccelRedirect, XAccelRedirect, "[::ffff:10.1.2.3]:4", key, "/spool-objects/" + key},
		{"Apache", XSendfile, XSendfile, "10.1.2.3:4", key, "/data/objects/" + key},
		{"a file that is made here", XAccelRedirect, XAccelRedirect, "10.1.2.3:4", "", ""},
		{"a proxy that does not ask", XAccelRedirect, "", "10.1.2.3:4", key, ""},
		{"a proxy that asks for another way", XAccelRedirect, XSendfile, "10.1.2.3:4", key, ""},
		{"a client that asks", XAccelRedirect, XAccelRedirect, "10.2.2.3:4", key, ""},
		{"turned off", "", "", "10.1.2.3:4", key, ""},
		{"no address", XAccelRedirect, XAccelRedirect, "@", key, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := playing(t, []byte(digits))
			f.key = tt.key
			h := newHandler(f, Config{Sendfile: Sendfile{Header: tt.header, Proxies: proxies, Dir: "/data/objects"}})
			r := httptest.NewRequest("GET", playPath, nil)
			r.RemoteAddr = tt.peer
			r.Header.Set("X-Sendfile-Type", tt.asks)
			r.Header.Set("Range", "bytes=1-2")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Header().Get(XAccelRedirect) + w.Header().Get(XSendfile)
			if tt.want == "" {
				if w.Header().Get("Vary") != "" {
					t.Errorf("a file that is sent from here varies by %q", w.Header().Get("Vary"))
				}
				if got != "" || w.Code != http.StatusPartialContent || w.Body.String() != digits[1:3] {
					t.Errorf("answer is %d %q, with a path %q; want the range", w.Code, w.Body, got)
				}
				return
			}
			if got != tt.want || w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("ETag") != "" || w.Header().Get("Vary") != "X-Sendfile-Type" {
				t.Errorf("answer is %d with %d bytes, ETag %q and path %q; want the path %q alone", w.Code, w.Body.Len(), w.Header().Get("ETag"), got, tt.want)
			}
			if c := w.Header().Get("Cache-Control"); c != "public, max-age=3600, immutable" || w.Header().Get("Content-Type") != "video/mp4" {
				t.Errorf("headers are %v", w.Header())
			}
		})
	}
}

// A picture that is handed over still depends on Accept.
func TestAPictureIsHandedOverWithItsVary(t *testing.T) {
	t.Parallel()
	f := playing(t, []byte(digits))
	f.key, f.has = "public/"+testID+"/poster.webp", "webp"
	h := newHandler(f, Config{Vary: true, CDN: true, Sendfile: Sendfile{Header: XAccelRedirect, Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}})
	w := do(h, "GET", "/v/"+testID+"/poster.jpg", "Accept", "image/webp", "X-Sendfile-Type", XAccelRedirect)
	if got := w.Header(); got.Get(XAccelRedirect) == "" || got.Get("Vary") != "Accept, X-Sendfile-Type" || got.Get("Cache-Tag") != testID {
		t.Errorf("the answer has the headers %v", got)
	}
}
