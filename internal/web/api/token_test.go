package api

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestCreateToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	path := "/api/video/" + string(r.Create(video.Draft{}).Video.ID) + "/token"
	for body, life := range map[string]time.Duration{
		"": time.Hour, "{}": time.Hour, `{"expiresIn":null}`: time.Hour, `{"expiresIn":1}`: time.Second, `{"expiresIn":86400}`: 24 * time.Hour,
	} {
		w := r.ask("POST", path, body)
		var made struct {
			Token     string
			ExpiresAt time.Time
		}
		if r.decode(w, &made); w.Code != http.StatusCreated || made.Token == "" || made.ExpiresAt.Sub(r.Now()) != life {
			t.Errorf("%s: answer is %d %s; want %s", body, w.Code, w.Body, life)
		}
	}
	for body, want := range map[string]string{
		`{"expiresIn":0}`: "expiresIn out_of_range", `{"expiresIn":86401}`: "expiresIn out_of_range", `{"expiresIn":-1}`: "expiresIn out_of_range",
		`{"expiresIn":99999999999999999999}`: "expiresIn out_of_range", `{"expiresIn":"60"}`: "expiresIn wrong_type", `{"expiresIn":1.5}`: "expiresIn wrong_type", `[]`: " wrong_type",
	} {
		p := wantProblem(t, r.ask("POST", path, body), 400, "invalid_request")
		if diff := cmp.Diff([]string{want}, faultWords(p)); diff != "" {
			t.Errorf("%s: faults (-want +got):\n%s", body, diff)
		}
	}
}

// withToken is a request of a page that has a token instead of an API key.
func withToken(method, path, token string) *http.Request {
	q := request(method, path+"?token="+token, "")
	q.Header.Set("Origin", "https://shop.example.com")
	return q
}

// token makes a token for a video.
func (r *rig) token(id video.ID) string {
	r.T.Helper()
	token, _, err := r.Tokens.Create(r.T.Context(), r.By, id, time.Hour)
	r.Must(err)
	return token
}

func TestTokenOpensOneVideo(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{RateLimit: 10})
	id := r.Ready(servicetest.Plan("720p", "240p")).ID
	token, state := r.token(id), "/api/video/"+string(id)
	events := state + "/events"
	for _, path := range []string{state, events, "/api/video/" + strings.ToUpper(string(id))} {
		w := do(r.handler, withToken("GET", path, token))
		if w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("RateLimit") == "" {
			t.Errorf("%s is answered %d with %v", path, w.Code, w.Header())
		}
		for _, wrong := range []string{"", "x", token + "x"} {
			w := do(r.handler, withToken("GET", path, wrong))
			wantProblem(t, w, 401, "invalid_token")
			if w.Header().Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("a page cannot read why %q is refused", wrong)
			}
		}
		if w := do(r.handler, withToken("OPTIONS", path, token)); w.Code != 204 || w.Header().Get("Access-Control-Allow-Headers") != "Last-Event-ID" {
			t.Errorf("a preflight of %s is answered %d with %v", path, w.Code, w.Header())
		}
	}
	other := r.Create(video.Draft{}).Video.ID
	wantProblem(t, do(r.handler, withToken("GET", "/api/video/"+string(other), token)), 401, "invalid_token")
}

// A token is no key: whatever else it is sent to is refused as if there were none.
func TestTokenOpensNothingElse(t *testing.T) {
	t.Parallel()
	s := newScene(t, Config{})
	id := s.ids["{public}"]
	token := s.token(video.ID(id))
	for _, op := range everyOperation {
		if op.name == "state" || op.name == "events" {
			continue
		}
		w := do(s.handler, withToken(op.method, s.fill(op.path), token))
		wantProblem(t, w, 401, "missing_api_key")
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s: pages of other origins may read it: %q", op.name, got)
		}
	}
	for _, path := range []string{"/api/video", "/api/video/" + id + "%2Fevents", "/api/video/" + id + "/events/"} {
		wantProblem(t, do(s.handler, withToken("GET", path, token)), 401, "missing_api_key")
	}
	wantProblem(t, do(s.handler, request("OPTIONS", "/api/video/"+id+"/events", "")), 401, "missing_api_key")
	if w := s.ask("GET", "/api/video/"+id+"?token=wrong", ""); w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != "" {
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
