package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// key is what "spool keys create --json" prints.
type key struct {
	ID     string `json:"id"`
	Secret string `json:"key"`
	State  string `json:"state"`
}

// newKey makes an API key beside the running server.
func (s *server) newKey(args ...string) key {
	s.t.Helper()
	return printed[key](s.t, s.printKey(args...))
}

// printKey is newKey for what the command prints.
func (s *server) printKey(args ...string) string {
	s.t.Helper()
	if s.tenant != "" {
		args = append([]string{"--tenant=" + s.tenant}, args...) // the last one counts
	}
	return s.cli(append([]string{"keys", "create", "--json", "--name=test"}, args...)...)
}

// parsed decodes JSON that a command has printed.
func parsed[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return v
}

// printed is parsed for what must be one line.
func printed[T any](t testing.TB, text string) T {
	t.Helper()
	v := parsed[T](t, text)
	if strings.Count(text, "\n") != 1 {
		t.Errorf("%q is not in one line", text)
	}
	return v
}

// listed returns the state of a key in "spool keys list".
func (s *server) listed(id string) string {
	s.t.Helper()
	for _, k := range printed[[]key](s.t, s.cli("keys", "list", "--json")) {
		if k.ID == id {
			return k.State
		}
	}
	return "not listed"
}

const someVideo = `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true}`

func TestKeysAreManagedWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	s := shared(t)
	k := s.newKey()
	if r := s.callAs(k.Secret, "POST", "/api/video", someVideo); r.status != http.StatusCreated {
		t.Fatalf("a new key answers %d %s", r.status, r.body)
	}
	if state := s.listed(k.ID); state != "active" {
		t.Errorf("the new key is %s, want active", state)
	}
	if list := s.cli("keys", "list", "--json") + s.cli("keys", "list"); strings.Contains(list, k.Secret) || strings.Contains(list, apiKey) {
		t.Errorf("the list shows a secret: %s", list)
	}

	s.cli("keys", "revoke", k.ID)
	s.callAs(k.Secret, "POST", "/api/video", someVideo).problem(t, http.StatusUnauthorized, "invalid_api_key")
	if state := s.listed(k.ID); state != "revoked" {
		t.Errorf("the key is %s, want revoked", state)
	}
	if r := s.call("POST", "/api/video", someVideo); r.status != http.StatusCreated {
		t.Errorf("another key than the revoked one answers %d", r.status)
	}
}

// ownKey is a key as the API shows it.
type ownKey struct {
	ID, Name, Secret, MadeBy string
	Current                  bool
}

// TestKeysAreManagedOverTheAPI makes keys with a key, of which none sees another tenant's.
func TestKeysAreManagedOverTheAPI(t *testing.T) {
	t.Parallel()
	s := shared(t)
	made := decode[ownKey](t, s.call("POST", "/api/key", map[string]any{"name": "site", "scopes": []string{"write", "admin"}}), http.StatusCreated)
	if r := s.callAs(made.Secret, "POST", "/api/video", someVideo); r.status != http.StatusCreated {
		t.Fatalf("a new key answers %d %s", r.status, r.body)
	}
	s.callAs(made.Secret, "POST", "/api/key", map[string]any{"name": "more", "scopes": []string{"delete"}}).problem(t, http.StatusForbidden, "insufficient_scope")
	listed := decode[struct{ Keys []ownKey }](t, s.callAs(made.Secret, "GET", "/api/key", nil), http.StatusOK).Keys
	if len(listed) == 0 || listed[0].ID != made.ID || !listed[0].Current || listed[0].Secret != "" {
		t.Errorf("listed are %+v, want the new key first", listed)
	}

	stranger := s.newKey("--tenant=stranger")
	s.callAs(stranger.Secret, "DELETE", "/api/key/"+made.ID, nil).problem(t, http.StatusNotFound, "key_not_found")
	if r := s.callAs(stranger.Secret, "GET", "/api/key", nil); strings.Contains(string(r.body), made.ID) {
		t.Errorf("another tenant sees the key: %s", r.body)
	}
	s.call("DELETE", "/api/key/"+stranger.ID, nil).problem(t, http.StatusNotFound, "key_not_found")

	if r := s.call("DELETE", "/api/key/"+made.ID, nil); r.status != http.StatusOK {
		t.Fatalf("revoking answers %d %s", r.status, r.body)
	}
	s.callAs(made.Secret, "POST", "/api/video", someVideo).problem(t, http.StatusUnauthorized, "invalid_api_key")
	if state := s.listed(made.ID); state != "revoked" {
		t.Errorf("the key is %s, want revoked", state)
	}
}

func TestAKeyEndsWhenItWasToEnd(t *testing.T) {
	t.Parallel()
	s := shared(t)
	made := time.Now()
	k := s.newKey("--expires=3s")
	r := s.callAs(k.Secret, "POST", "/api/video", someVideo)
	if r.status != http.StatusCreated && time.Since(made) < 3*time.Second {
		t.Fatalf("the key answers %d %s before its end", r.status, r.body)
	}
	s.until("the key to end", 10*time.Second, func() bool {
		r = s.callAs(k.Secret, "POST", "/api/video", someVideo)
		return r.status != http.StatusCreated
	})
	r.problem(t, http.StatusUnauthorized, "invalid_api_key")
	if age := time.Since(made); age < 3*time.Second {
		t.Errorf("the key ended after %s, want 3 s", age)
	}
	if state := s.listed(k.ID); state != "expired" {
		t.Errorf("the key is %s, want expired", state)
	}
}

func TestAKeyDoesOnlyWhatItsScopesAllow(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	resolution := s.read(u).Resolutions["144p"].ID
	requests := []struct{ scope, method, path, body string }{
		{"write", "POST", "/api/video", someVideo},
		{"write", "POST", "/api/video/" + u.ID + "/complete-upload", "{}"},
		{"read", "GET", "/api/video/" + u.ID + "/public", ""},
		{"read", "GET", "/api/video/" + u.ID + "/private/60", ""},
		{"read", "GET", "/api/video/" + u.ID, ""},
		{"read", "GET", "/api/video", ""},
		{"delete", "DELETE", "/api/video/resolution/" + resolution, ""},
		{"delete", "DELETE", "/api/video/" + u.ID, ""},
	}
	for _, scope := range []string{"read", "write", "delete"} {
		k := s.newKey("--scopes=" + scope)
		for _, r := range requests {
			answer := s.callAs(k.Secret, r.method, r.path, r.body)
			refused := answer.status == http.StatusForbidden && strings.Contains(string(answer.body), `"insufficient_scope"`)
			if refused != (r.scope != scope) {
				t.Errorf("a key for %s: %s %s answers %d %s", scope, r.method, r.path, answer.status, answer.body)
			}
		}
	}
}

func TestOtherTenantsVideosDoNotExist(t *testing.T) {
	t.Parallel()
	s := shared(t)
	public := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	private := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}})
	resolution := s.read(public).Resolutions["144p"].ID
	stranger := s.stranger()
	requests := []struct{ method, path, code string }{
		{"GET", "/api/video/" + public.ID + "/public", "video_not_found"},
		{"GET", "/api/video/" + private.ID + "/public", "video_not_found"}, // not video_is_private
		{"GET", "/api/video/" + private.ID + "/private/60", "video_not_found"},
		{"GET", "/api/video/" + public.ID + "/private/60", "video_not_found"},
		{"GET", "/api/video/" + public.ID, "video_not_found"},
		{"POST", "/api/video/" + public.ID + "/complete-upload", "video_not_found"},
		{"DELETE", "/api/video/" + public.ID, "video_not_found"},
		{"DELETE", "/api/video/resolution/" + resolution, "resolution_not_found"},
	}
	for _, r := range requests {
		s.callAs(stranger, r.method, r.path, nil).problem(t, http.StatusNotFound, r.code)
	}
	for _, u := range []upload{public, private} {
		if w := s.read(u); w.Status != "pending_upload" || len(w.Resolutions) != 1 {
			t.Errorf("a stranger changed the video to %+v", w)
		}
	}
	own := decode[upload](t, s.callAs(stranger, "POST", "/api/video", someVideo), http.StatusCreated)
	s.call("GET", "/api/video/"+own.ID+"/public", nil).problem(t, http.StatusNotFound, "video_not_found")
}

// TestRotatingTheSigningKey changes the key under a running server. A restart
// stands for the seconds within which the server takes the new key up by itself.
func TestRotatingTheSigningKey(t *testing.T) {
	usuallyOneBackend(t, "playback signs its addresses, wherever the keys lie")
	t.Parallel()
	s := start(t)
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, clip(t, miniClip))
	waiting := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}})
	old := s.waitReady(u).Resolutions["144p"].VideoURL
	signs := printed[key](t, s.cli("signing-keys", "rotate", "--json")).ID
	if strings.Contains(old, "."+signs+".") {
		t.Fatalf("the address %s is signed with the key that was made after it", old)
	}
	checkPlays(t, s, old)
	s.putBody(waiting, strings.NewReader("signed with the old key"))

	stop := s.url
	s.restart()
	old = strings.Replace(old, stop, s.url, 1)
	checkPlays(t, s, old)
	fresh := s.read(u).Resolutions["144p"].VideoURL
	if !strings.Contains(fresh, "."+signs+".") {
		t.Errorf("the address %s is not signed with the new key %s", fresh, signs)
	}
	checkPlays(t, s, fresh)
	if list := printed[[]key](t, s.cli("signing-keys", "list", "--json")); len(list) != 2 || list[0].ID != signs {
		t.Errorf("the signing keys are %+v, want two, %s first", list, signs)
	}
}

// TestRevokingTheSigningKey revokes the only key under a running server.
func TestRevokingTheSigningKey(t *testing.T) {
	usuallyOneBackend(t, "playback signs its addresses, wherever the keys lie")
	t.Parallel()
	s := start(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}})
	leaked := s.read(u).Resolutions["144p"].VideoURL
	s.get(leaked).problem(t, http.StatusNotFound, "not_ready")
	id := printed[[]key](t, s.cli("signing-keys", "list", "--json"))[0].ID
	s.cli("signing-keys", "revoke", id, "--yes")

	deadline := time.Now().Add(60 * time.Second)
	for s.get(leaked).status != http.StatusForbidden && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
	}
	s.get(leaked).problem(t, http.StatusForbidden, "url_invalid")
	s.get(s.read(u).Resolutions["144p"].VideoURL).problem(t, http.StatusNotFound, "not_ready")
}

func checkPlays(t testing.TB, s *server, url string) {
	t.Helper()
	if r := s.get(url); r.status != http.StatusOK {
		t.Errorf("%s answers %d %s", url, r.status, r.body)
	}
}
