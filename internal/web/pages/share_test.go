package pages

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/share"
	"github.com/spool-video/spool/internal/video"
)

// hidden returns a private video that can be played.
func hidden() video.Video {
	v := ready()
	v.IsPublic = false
	return v
}

// share makes a share and returns the path of its page.
func (s site) share(d share.Draft) string {
	s.T.Helper()
	made, err := s.Shares.Create(s.T.Context(), s.By, publicID, d)
	s.Must(err)
	return made.Path()
}

// visit sends a request with a cookie, and a form if there is one.
func (s site) visit(method, path, cookie string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestThePageOfAShare(t *testing.T) {
	t.Parallel()
	s := serve(t, hidden())
	path := s.share(share.Draft{Label: "a label"})
	w := s.visit("GET", path, "", nil)
	body := w.Body.String()
	if w.Code != 200 || !strings.Contains(body, `<title>&lt;script&gt;`) || !strings.Contains(body, `<meta name="robots" content="noindex, nofollow">`) || !strings.Contains(body, `data-renew="1200"`) {
		t.Errorf("the page is %d %s", w.Code, body)
	}
	for _, never := range []string{"og:", "canonical", "oembed", "a label", "Download", "/embed/", nasty} {
		if strings.Contains(body, never) {
			t.Errorf("the page of a private video has %q", never)
		}
	}
	for name, want := range map[string]string{
		"X-Robots-Tag": "noindex, nofollow", "Cache-Control": "private, no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Link": "", "Set-Cookie": "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if p := w.Header().Get("Content-Security-Policy"); !strings.HasSuffix(p, "frame-ancestors 'none'") || !strings.Contains(p, "form-action 'none'") {
		t.Errorf("the policy is %q", p)
	}
	var state struct{ HLS string }
	if w := s.visit("GET", path+"?state", "", nil); json.Unmarshal(w.Body.Bytes(), &state) != nil || !strings.Contains(state.HLS, "/v/") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("the state is %d %s", w.Code, w.Body)
	}
}

func TestOtherSitesSeeASharedPublicVideo(t *testing.T) {
	t.Parallel()
	s := serve(t, ready())
	if body := s.visit("GET", s.share(share.Draft{}), "", nil).Body.String(); !strings.Contains(body, `<meta property="og:image" content="`+base+`/v/`+publicID+`/poster.jpg">`) {
		t.Errorf("the page is %s", body)
	}
	locked := s.share(share.Draft{Password: "hush"})
	if body := s.visit("GET", locked, "", nil).Body.String(); strings.Contains(body, "og:") || strings.Contains(body, "script") {
		t.Errorf("the page with a password tells %s", body)
	}
}

func TestSharesThatDoNotWork(t *testing.T) {
	t.Parallel()
	s := serve(t, hidden())
	gone, brief := s.share(share.Draft{}), s.share(share.Draft{ExpiresAt: s.Now().Add(time.Minute)})
	all, err := s.Shares.List(t.Context(), s.By, publicID)
	s.Must(err)
	for _, one := range all {
		if one.Path() == gone {
			s.Must(s.Shares.Delete(t.Context(), s.By, publicID, one.ID))
		}
	}
	s.Advance(time.Minute)
	for path, want := range map[string]int{gone: 404, gone + "/download": 404, brief: 410, brief + "/download": 410, "/share/x": 404, "/share/" + publicID: 404} {
		w := s.visit("GET", path, "", nil)
		if w.Code != want || !strings.Contains(w.Body.String(), "This link ") || w.Header().Get("X-Robots-Tag") == "" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s is answered %d %v %s", path, w.Code, w.Header(), w.Body)
		}
		if w := s.visit("POST", path, "", url.Values{"password": {"x"}}); w.Code != want && !strings.HasSuffix(path, "/download") {
			t.Errorf("a password for %s is answered %d", path, w.Code)
		}
		if w := s.visit("GET", path+"?state", "", nil); w.Code != want || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("the state at %s is answered %d %s", path, w.Code, w.Body)
		}
	}
}

func TestAShareWithAPassword(t *testing.T) {
	t.Parallel()
	s := serve(t, hidden())
	path, other := s.share(share.Draft{Password: "hush", Download: true}), s.share(share.Draft{Password: "hush"})
	hush := url.Values{"password": {"hush"}}
	w := s.visit("GET", path, "", nil)
	if p := w.Header().Get("Content-Security-Policy"); w.Code != 200 || !strings.Contains(w.Body.String(), `type="password"`) || strings.Contains(w.Body.String(), "alert(1)") || !strings.Contains(p, "form-action 'self'") || w.Header().Get("Referrer-Policy") != "same-origin" {
		t.Errorf("the form is %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := s.visit("GET", path+"?state", "", nil); w.Code != 403 || strings.Contains(w.Body.String(), "/v/") {
		t.Errorf("without the password the state is %d %s", w.Code, w.Body)
	}
	if w := s.visit("GET", path+"/download", "", nil); w.Code != 303 || w.Header().Get("Location") != ".."+strings.TrimPrefix(path, "/share") {
		t.Errorf("without the password the download is %d %s", w.Code, w.Header().Get("Location"))
	}
	if w := s.visit("POST", path, "", url.Values{"password": {"x"}}); w.Code != 403 || !strings.Contains(w.Body.String(), "not the password") || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("a wrong password is answered %d %v", w.Code, w.Header())
	}
	w = s.visit("POST", path, "", hush)
	set := w.Header().Get("Set-Cookie")
	if w.Code != 303 || "/share/"+w.Header().Get("Location") != path || !strings.Contains(set, "; Path=/spool"+path+"; ") || !strings.Contains(set, "; HttpOnly; Secure; SameSite=Lax") {
		t.Errorf("the password is answered %d %v", w.Code, w.Header())
	}
	cookie, _, _ := strings.Cut(set, ";")
	if w := s.visit("GET", path, cookie, nil); w.Code != 200 || !strings.Contains(w.Body.String(), "<spool-player") || w.Header().Get("Set-Cookie") == "" {
		t.Errorf("with the cookie the page is %d %s", w.Code, w.Body)
	}
	if w := s.visit("GET", path+"/download", cookie, nil); w.Code != 302 || !strings.Contains(w.Header().Get("Location"), "/1080p.mp4?download=1") {
		t.Errorf("the download is %d %s", w.Code, w.Header().Get("Location"))
	}
	if w := s.visit("GET", other, cookie, nil); strings.Contains(w.Body.String(), "<spool-player") {
		t.Error("the cookie of one share opens another")
	}
}

// A form of another site is refused before its password counts, whatever headers the browser has.
func TestAPasswordComesFromTheOwnPage(t *testing.T) {
	t.Parallel()
	s := serve(t, hidden())
	path, hush := s.share(share.Draft{Password: "hush"}), url.Values{"password": {"hush"}}
	for _, tt := range []struct {
		name, value string
		want        int
	}{
		{"Sec-Fetch-Site", "same-origin", 303}, {"Sec-Fetch-Site", "cross-site", 403}, {"Sec-Fetch-Site", "same-site", 403},
		{"Origin", "https://video.example.com", 303}, {"Origin", "https://evil.example", 403}, {"Origin", "null", 403}, {"X", "", 303},
	} {
		if w := s.visit("POST", path, "", hush, tt.name, tt.value); w.Code != tt.want {
			t.Errorf("%s: %s is answered %d; want %d", tt.name, tt.value, w.Code, tt.want)
		}
	}
}

func TestGuessingAtThePage(t *testing.T) {
	t.Parallel()
	s := serve(t, hidden())
	path := s.share(share.Draft{Password: "hush"})
	var w *httptest.ResponseRecorder
	for range 11 {
		w = s.visit("POST", path, "", url.Values{"password": {"x"}})
	}
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `type="password"`) {
		t.Errorf("the eleventh guess is answered %d %v", w.Code, w.Header())
	}
	if w := s.visit("POST", path, "", url.Values{"password": {strings.Repeat("x", 1<<20)}}); w.Code != 400 {
		t.Errorf("a long form is answered %d", w.Code)
	}
}

func TestNoDownloadWhereThePublisherOffersNone(t *testing.T) {
	t.Parallel()
	s := serve(t, hidden())
	path := s.share(share.Draft{})
	if w := s.visit("GET", path+"/download", "", nil); w.Code != 404 || w.Header().Get("Location") != "" {
		t.Errorf("a download is answered %d %v", w.Code, w.Header())
	}
	with := s.share(share.Draft{Download: true})
	if body := s.visit("GET", with, "", nil).Body.String(); !strings.Contains(body, `href="`+strings.TrimPrefix(with, "/share/")+`/download"`) {
		t.Errorf("the page offers no download: %s", body)
	}
}
