package api

import (
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
)

func TestViewOfAKey(t *testing.T) {
	t.Parallel()
	by := auth.Actor{KeyID: "k1"}
	made := viewKey(auth.Key{ID: testID, Name: "site", Scopes: []auth.Scope{auth.Read}, CreatedAt: webhookTime, ExpiresAt: webhookTime.Add(time.Hour), MadeBy: "k1"}, by)
	const want = `{"id":"` + testID + `","name":"site","scopes":["read"],"createdAt":"2030-01-02T12:00:00Z","expiresAt":"2030-01-02T13:00:00Z","current":false,"madeBy":"k1"}`
	if got := wire(t, made); got != want {
		t.Errorf("a key that was made is %s, want %s", got, want)
	}
	const own = `{"id":"k1","name":"","scopes":[],"createdAt":"2030-01-02T12:00:00Z","current":true}`
	if got := wire(t, viewKey(auth.Key{ID: "k1", CreatedAt: webhookTime}, by)); got != own {
		t.Errorf("the key of the request is %s, want %s", got, own)
	}
}

// Every key may know itself, whatever else it may do. One with the scope admin sees the others.
func TestKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	write := r.newKey(auth.Write)
	if w := r.askAs(write, "GET", "/api/key", ""); w.Code != 200 || !strings.HasSuffix(w.Body.String(), `","tenant":"default","scopes":["write"],"maxFileBytes":1048576,"defaultResolutions":["1080p","720p","480p"]}`+"\n") {
		t.Errorf("a key that may only write is %d %s", w.Code, w.Body)
	}
	seen := map[string]bool{}
	for path := "/api/key?limit=2"; path != ""; {
		var got struct {
			Scopes     []string
			Keys       []struct{ ID string }
			NextCursor string
		}
		r.decode(r.ask("GET", path, ""), &got)
		if len(got.Scopes) != len(auth.Scopes) || len(got.Keys) == 0 || len(got.Keys) > 2 {
			t.Fatalf("%s is answered %+v", path, got)
		}
		for _, k := range got.Keys {
			seen[k.ID] = true
		}
		if path = ""; got.NextCursor != "" {
			path = "/api/key?limit=2&cursor=" + got.NextCursor
		}
	}
	if len(seen) != 3 { // of the rig, of its actor, and the one that may only write
		t.Errorf("the list has %d keys, want 3", len(seen))
	}
	for _, query := range []string{"limit=0", "limit=x&cursor=y", "limit=1&limit=2", "a;b"} {
		wantProblem(t, r.ask("GET", "/api/key?"+query, ""), 400, "invalid_request")
	}
}

func TestMakeAndRevokeKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	for body, want := range map[string]string{
		`{"name":"site","scopes":["read","admin"],"expiresIn":60}`: `"name":"site","scopes":["read","admin"],"createdAt":"2030-01-02T12:00:00Z","expiresAt":"2030-01-02T12:01:00Z","current":false,`,
		`{"name":"site","scopes":null,"expiresIn":null}`:           `"name":"site","scopes":["read","write","delete","admin"],"createdAt":"2030-01-02T12:00:00Z","current":false,`,
	} {
		w := r.ask("POST", "/api/key", body)
		var made struct{ ID, Secret string }
		if r.decode(w, &made); w.Code != 201 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: answer is %d %s, want in it %s", body, w.Code, w.Body, want)
		}
		if w := r.askAs(made.Secret, "GET", "/api/key", ""); w.Code != 200 {
			t.Errorf("the key that was made is answered %d %s", w.Code, w.Body)
		}
		if w := r.ask("DELETE", "/api/key/"+strings.ToUpper(made.ID), ""); w.Code != 200 || w.Body.Len() != 0 {
			t.Errorf("revoking it is answered %d %s", w.Code, w.Body)
		}
		wantProblem(t, r.askAs(made.Secret, "GET", "/api/key", ""), 401, "invalid_api_key")
	}
	wantProblem(t, r.ask("DELETE", "/api/key/"+testID, ""), 404, "key_not_found")
}
