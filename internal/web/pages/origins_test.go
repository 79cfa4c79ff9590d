package pages

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
)

// The pages of a video that may be played on some sites play it anywhere that they may be shown, with addresses of their
// own. What is shown where links are shared lives on.
func TestPagesOfAVideoForSomeSites(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{true, false} {
		v := ready()
		v.IsPublic, v.AllowedOrigins = public, []string{"example.com", "https://*.example.org:8443"}
		s := serve(t, v)
		path := "/embed/" + publicID
		if !public {
			path = "/embed/" + s.Signing.Sign(sign.Embed, publicID, s.Now().Add(time.Minute)) + "/" + publicID
		}
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w
		}
		w := get(path)
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != 200 || !strings.HasSuffix(policy, "; frame-ancestors 'self' http://example.com https://*.example.org:8443") || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s is answered %d, %s, %s", path, w.Code, policy, w.Header().Get("Cache-Control"))
		}
		var shown state
		s.Must(json.Unmarshal(get(path+"?state").Body.Bytes(), &shown))
		token := strings.Split(strings.TrimPrefix(shown.HLS, base+"/v/"), "/")[0]
		if err := s.Signing.Verify(t.Context(), sign.Page, map[bool]string{true: "public/", false: "private/"}[public]+publicID, token); err != nil {
			t.Errorf("the page plays %s: %v", shown.HLS, err)
		}
		if left := sign.Expiry(token).Sub(s.Now()); !public && left > time.Minute || public && left > time.Hour {
			t.Errorf("the addresses of the page live %s", left)
		}
		if !public {
			continue
		}
		if want := base + "/v/" + publicID + "/poster.jpg"; shown.Poster != want {
			t.Errorf("the poster is %s; want %s", shown.Poster, want)
		}
		watch := get("/watch/" + publicID)
		if watch.Code != http.StatusOK || strings.Contains(watch.Body.String(), "og:video\"") || !strings.HasSuffix(watch.Header().Get("Content-Security-Policy"), "'none'") {
			t.Errorf("the watch page is answered %d %v", watch.Code, watch.Header())
		}
	}
}
