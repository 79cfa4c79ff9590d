package api

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

func TestCreateToken(t *testing.T) {
	t.Parallel()
	const path, want = "/api/video/" + testID + "/token", `{"token":"17.k1.sig","expiresAt":"2030-01-02T11:00:00Z"}`
	for body, life := range map[string]time.Duration{
		"": time.Hour, "{}": time.Hour, `{"expiresIn":null}`: time.Hour, `{"expiresIn":1}`: time.Second, `{"expiresIn":86400}`: 24 * time.Hour,
	} {
		f := &fakeService{}
		w := do(newHandler(t, f, Config{}), request("POST", path, body))
		if w.Code != http.StatusCreated || strings.TrimSpace(w.Body.String()) != want || f.id != testID || f.ttl != life {
			t.Errorf("%s: answer is %d %s for %s, %s; want %s", body, w.Code, w.Body, f.id, f.ttl, life)
		}
	}
	for body, want := range map[string]string{
		`{"expiresIn":0}`: "expiresIn out_of_range", `{"expiresIn":86401}`: "expiresIn out_of_range", `{"expiresIn":-1}`: "expiresIn out_of_range",
		`{"expiresIn":99999999999999999999}`: "expiresIn out_of_range", `{"expiresIn":"60"}`: "expiresIn wrong_type", `{"expiresIn":1.5}`: "expiresIn wrong_type", `[]`: " wrong_type",
	} {
		f := &fakeService{}
		p := wantProblem(t, do(newHandler(t, f, Config{}), request("POST", path, body)), 400, "invalid_request")
		if diff := cmp.Diff([]string{want}, faultNames(p)); diff != "" || f.calls != 0 {
			t.Errorf("%s: %d calls, faults (-want +got):\n%s", body, f.calls, diff)
		}
	}
}

// withoutKey is a request of a page that has no API key.
func withoutKey(method, path string) *http.Request {
	r := request(method, path, "")
	r.Header.Del(headerKey)
	r.Header.Set("Origin", "https://shop.example.com")
	return r
}

func TestTokenOpensOneVideo(t *testing.T) {
	t.Parallel()
	const state, events = "/api/video/" + testID, "/api/video/" + testID + "/events"
	f := &fakeService{state: readyState()}
	f.state.Settled = true // so that the stream ends
	h := newHandler(t, f, Config{RateLimit: 10})
	for _, path := range []string{state, events, "/api/video/" + strings.ToUpper(testID)} {
		w := do(h, withoutKey("GET", path+"?token="+testToken))
		if w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("RateLimit") == "" {
			t.Errorf("%s is answered %d with %v", path, w.Code, w.Header())
		}
		if f.actor.Video != testID || f.actor.Tenant != "" {
			t.Errorf("%s was asked for by %+v", path, f.actor)
		}
		for _, wrong := range []string{"", "x", testToken + "x"} {
			w := do(h, withoutKey("GET", path+"?token="+wrong))
			wantProblem(t, w, 401, "invalid_token")
			if w.Header().Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("a page cannot read why %q is refused", wrong)
			}
		}
		if w := do(h, withoutKey("OPTIONS", path+"?token="+testToken)); w.Code != 204 || w.Header().Get("Access-Control-Allow-Headers") != "Last-Event-ID" {
			t.Errorf("a preflight of %s is answered %d with %v", path, w.Code, w.Header())
		}
	}
	other := strings.Replace(testID, "0198", "0199", 1)
	wantProblem(t, do(h, withoutKey("GET", "/api/video/"+other+"?token="+testToken)), 401, "invalid_token")
}

// A token is no key: whatever else it is sent to is refused as if there were none.
func TestTokenOpensNothingElse(t *testing.T) {
	t.Parallel()
	f := &fakeService{state: readyState(), playback: readyPlayback(), report: readyReport()}
	h := newHandler(t, f, Config{})
	for _, op := range everyOperation {
		if op.name == "state" || op.name == "events" {
			continue
		}
		w := do(h, withoutKey(op.method, op.path+"?token="+testToken))
		wantProblem(t, w, 401, "missing_api_key")
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s: pages of other origins may read it: %q", op.name, got)
		}
	}
	for _, path := range []string{"/api/video?token=" + testToken, "/api/video/" + testID + "%2Fevents?token=" + testToken, "/api/video/" + testID + "/events/?token=" + testToken} {
		wantProblem(t, do(h, withoutKey("GET", path)), 401, "missing_api_key")
	}
	wantProblem(t, do(h, withoutKey("OPTIONS", "/api/video/"+testID+"/events")), 401, "missing_api_key")
	if f.calls != 0 {
		t.Errorf("the service was called %d times", f.calls)
	}
	r := request("GET", "/api/video/"+testID+"?token=wrong", "")
	if w := do(h, r); w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("with a valid key beside a token: %d %v", w.Code, w.Header())
	}
}

// openWithToken opens the stream of a video as a page does.
func (r *streamRig) openWithToken(id video.ID, token string) *http.Response {
	r.Helper()
	response, err := r.client.Get("http://spool.test/api/video/" + string(id) + "/events?token=" + token)
	r.must(err)
	r.Cleanup(func() { response.Body.Close() })
	return response
}

// subscribeWithToken is subscribe for the holder of a token.
func (r *streamRig) subscribeWithToken(id video.ID, token string) *stream {
	r.Helper()
	response := r.openWithToken(id, token)
	if response.StatusCode != http.StatusOK {
		r.Fatalf("the answer is %s", response.Status)
	}
	return &stream{r, response, bufio.NewReader(response.Body)}
}

func TestAStreamEndsWithItsToken(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v, other := r.create(), r.create()
		token, expires, err := r.services.Tokens.Create(r.Context(), r.by, v.ID, 20*time.Second)
		r.must(err)
		if life := time.Until(expires); life != 20*time.Second {
			r.Errorf("the token lives for %s", life)
		}
		s := r.subscribeWithToken(v.ID, token)
		s.want(video.PendingUpload, 0)
		if res := r.openWithToken(other.ID, token); res.StatusCode != http.StatusUnauthorized {
			r.Errorf("another video is answered %s, want 401", res.Status)
		}
		if took := s.endsAfter(); took < 20*time.Second || took > 20*time.Second+keyCheckInterval+2*pollInterval {
			r.Errorf("the stream ended after %s; its token was valid for 20 s", took)
		}
		if res := r.openWithToken(v.ID, token); res.StatusCode != http.StatusUnauthorized {
			r.Errorf("reconnecting is answered %s, want 401", res.Status)
		}
	})
}

func TestARevokedSigningKeyEndsTheStreamsOfItsTokens(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		kept := r.subscribe(v.ID)
		kept.want(video.PendingUpload, 0)
		token, _, err := r.services.Tokens.Create(r.Context(), r.by, v.ID, time.Hour)
		r.must(err)
		s := r.subscribeWithToken(v.ID, token)
		s.want(video.PendingUpload, 0)
		_, id, _ := strings.Cut(token, ".")
		id, _, _ = strings.Cut(id, ".")
		_, err = r.services.Signing.Revoke(r.Context(), id)
		r.must(err)
		if took := s.endsAfter(); took > auth.FollowEvery+keyCheckInterval+2*pollInterval {
			r.Errorf("the stream ended after %s", took)
		}
		r.accept(v)
		kept.want(video.Processing, 0)
	})
}
