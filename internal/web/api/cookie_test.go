package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/signin"
	"github.com/spool-video/spool/internal/video"
)

// newPeople returns a rig where people can sign in.
func newPeople(t *testing.T, c Config) *rig {
	t.Helper()
	return newRig(t, c, func(c *servicetest.Config) { c.SignIn = signedIn })
}

// A browser sends the cookie with what pages of other sites request, so those requests are refused.
func TestOtherSitesCannotUseACookie(t *testing.T) {
	t.Parallel()
	r := newPeople(t, Config{BaseURL: "http://video.example.com"})
	cookie, me := r.admit("boss@example.com")
	up := r.Create(video.Draft{IsPublic: true})
	path := "/api/video/" + string(up.Video.ID)
	for _, tt := range []struct {
		name, method, path, header, value string
		refused                           bool
	}{
		{"a form of another site", "POST", "/api/video", "Sec-Fetch-Site", "cross-site", true},
		{"a page of another host of the domain", "DELETE", path, "Sec-Fetch-Site", "same-site", true},
		{"an old browser", "DELETE", path, "Origin", "https://evil.example", true},
		{"a page in a sandbox", "DELETE", path, "Origin", "null", true},
		{"a read by another site", "GET", path, "Sec-Fetch-Site", "cross-site", true},
		{"the stream of another site", "GET", path + "/events", "Sec-Fetch-Site", "cross-site", true},
		{"the end of the session", "DELETE", "/api/session/" + me.Session.ID, "Sec-Fetch-Site", "cross-site", true},
		{"a read by the console", "GET", path, "Sec-Fetch-Site", "same-origin", false},
		{"an address that was typed", "GET", path, "Sec-Fetch-Site", "none", false},
		{"a change by the console, behind a proxy", "PATCH", path, "Origin", "http://video.example.com", false},
	} {
		q := request(tt.method, tt.path, "")
		q.AddCookie(cookie)
		q.Header.Set(tt.header, tt.value)
		w := do(r.handler, q)
		if refused := w.Code == 403 && strings.Contains(w.Body.String(), `"cross_origin"`); refused != tt.refused {
			t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the answer may be read by %s", tt.name, w.Header().Get("Access-Control-Allow-Origin"))
		}
	}
	q := request("GET", path, "") // a program is of no site
	q.Header.Set("Sec-Fetch-Site", "cross-site")
	if w := r.send(q); w.Code != 200 {
		t.Errorf("with a key: %d", w.Code)
	}
}

func TestPeopleDoWhatTheyMay(t *testing.T) {
	t.Parallel()
	r := newPeople(t, Config{})
	reader, me := r.admit("ann@example.com", "default:read")
	stranger, _ := r.admit("bea@example.com", "other:read,write,delete,admin")
	up := r.Create(video.Draft{IsPublic: true})
	path := "/api/video/" + string(up.Video.ID)
	for _, tt := range []struct {
		name               string
		cookie             *http.Cookie
		method, path, body string
		status             int
		code               string
	}{
		{"reads", reader, "GET", path, "", 200, ""},
		{"a change", reader, "PATCH", path, `{"title":"x"}`, 403, "insufficient_scope"},
		{"a deletion", reader, "DELETE", path, "", 403, "insufficient_scope"},
		{"a key", reader, "POST", "/api/key", `{"name":"x"}`, 403, "insufficient_scope"},
		{"the sessions", reader, "GET", "/api/session", "", 403, "insufficient_scope"},
		{"the log", reader, "GET", "/api/audit", "", 403, "insufficient_scope"},
		{"a video of another tenant", stranger, "GET", path, "", 404, "video_not_found"},
		{"deleting it", stranger, "DELETE", path, "", 404, "video_not_found"},
		{"the whole service", stranger, "GET", "/api/system", "", 403, "operator_only"},
		{"a session of another tenant", stranger, "DELETE", "/api/session/" + me.Session.ID, "", 404, "session_not_found"},
		{"working in another tenant", stranger, "PATCH", "/api/session/" + me.Session.ID, `{"tenant":"other"}`, 404, "session_not_found"},
		{"a tenant that is not theirs", reader, "PATCH", "/api/session/" + me.Session.ID, `{"tenant":"other"}`, 403, "tenant_not_allowed"},
	} {
		w := r.askWith(tt.cookie, tt.method, tt.path, tt.body)
		if w.Code != tt.status || tt.code != "" && !strings.Contains(w.Body.String(), `"code":"`+tt.code+`"`) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, w.Code, w.Body, tt.status, tt.code)
		}
	}
	if v := r.Video(up.Video.ID); !v.DeletedAt.IsZero() || v.Title != up.Video.Title {
		t.Errorf("the video was changed: %+v", v)
	}
}

func TestSigningOut(t *testing.T) {
	t.Parallel()
	r := newPeople(t, Config{})
	cookie, me := r.admit("ann@example.com", "default:read")
	w := r.askWith(cookie, "DELETE", "/api/session/"+me.Session.ID, "")
	if w.Code != 200 || !isRemoved(w) {
		t.Fatalf("signing out is answered %d %v", w.Code, w.Header())
	}
	w = r.askWith(cookie, "GET", "/api/key", "")
	wantProblem(t, w, 401, "session_ended")
	if !isRemoved(w) {
		t.Error("the cookie of a session that has ended is kept")
	}
	wantProblem(t, r.askWith(signin.Cookie(signin.SessionCookie(false), "guess", false, 60), "GET", "/api/key", ""), 401, "session_ended")
}

func isRemoved(w *httptest.ResponseRecorder) bool {
	cookies := w.Result().Cookies()
	return len(cookies) == 1 && cookies[0].Name == signin.SessionCookie(false) && cookies[0].MaxAge < 0
}

// A program that sends a key never acts for the person whose browser it runs in, and a token opens no more than its video.
func TestAKeyGoesBeforeACookie(t *testing.T) {
	t.Parallel()
	r := newPeople(t, Config{})
	cookie, _ := r.admit("boss@example.com")
	q := request("GET", "/api/session", "")
	q.AddCookie(cookie)
	q.Header.Set(headerKey, "wrong")
	wantProblem(t, do(r.handler, q), 401, "invalid_api_key")

	up := r.Create(video.Draft{})
	wantProblem(t, r.askWith(cookie, "GET", "/api/video/"+string(up.Video.ID)+"?token=wrong", ""), 401, "invalid_token")
}

func TestCookiesAreForHTTPSWhereThereIsSome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		base, host string
		want       bool
	}{
		{"https://video.example.com", "video.example.com", true},
		{"https://video.example.com", "10.0.0.7:8080", true}, // behind a proxy that changes the host
		{"https://video.example.com", "127.0.0.1:8080", false},
		{"https://video.example.com", "[::1]:8080", false},
		{"https://video.example.com", "localhost:8080", false},
		{"https://video.example.com", "localhost.example.com", true},
		{"", "video.example.com", false},
	} {
		q := httptest.NewRequest("GET", "/", nil)
		q.Host = tt.host
		if got := (&API{config: Config{BaseURL: tt.base}}).Secure(q); got != tt.want {
			t.Errorf("base %q, host %q: %t, want %t", tt.base, tt.host, got, tt.want)
		}
	}
	c := signin.Cookie(signin.SessionCookie(true), "x", true, 60)
	if c.Name != "__Host-spool_session" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Valid() != nil {
		t.Errorf("the cookie is %+v", c)
	}
}

// The stream of somebody ends with their session.
func TestStreamsEndWithTheSession(t *testing.T) {
	t.Parallel()
	r := newPeople(t, Config{})
	cookie, me := r.admit("boss@example.com")
	ready := r.Ready(servicetest.Plan("720p", "240p"))
	if w := r.askWith(cookie, "GET", "/api/video/"+string(ready.ID)+"/events", ""); w.Code != 200 || w.Header().Get("Content-Type") != eventStream {
		t.Errorf("a stream with the cookie is answered %d %s", w.Code, w.Body)
	}
	by, err := r.Keys.Authenticate(t.Context(), r.key)
	r.Must(err)
	session := sessionPrefix + me.Session.ID
	valid, err := r.api.services.valid(t.Context(), []string{session, by.KeyID, sessionPrefix + by.KeyID, me.Session.ID})
	if err != nil || !valid[session] || !valid[by.KeyID] || valid[sessionPrefix+by.KeyID] || valid[me.Session.ID] {
		t.Errorf("valid are %v, %v", valid, err)
	}
	r.ask("DELETE", "/api/session/"+me.Session.ID, "")
	if valid, err = r.api.services.valid(t.Context(), []string{session}); err != nil || valid[session] {
		t.Errorf("after its end: %v, %v", valid, err)
	}
}
