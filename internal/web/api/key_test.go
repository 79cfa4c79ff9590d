package api

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// Every key may know itself, whatever else it may do. One with the scope admin sees the others.
func TestKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		testKey: `{"id":"k1","tenant":"default","scopes":["read","write","delete","admin"],"keys":[` +
			`{"id":"` + testID + `","name":"site","scopes":["read"],"createdAt":"2030-01-02T12:00:00Z","expiresAt":"2030-01-02T13:00:00Z","current":false,"madeBy":"k1"},` +
			`{"id":"k1","name":"","scopes":[],"createdAt":"2030-01-02T12:00:00Z","current":true}],"nextCursor":"` + someCursor.String() + `"}`,
		writeKey: `{"id":"k3","tenant":"default","scopes":["write"]}`,
	} {
		f := &fakeService{next: someCursor}
		r := request("GET", "/api/key?limit=7&cursor="+someCursor.String(), "")
		r.Header.Set(headerKey, key)
		if w := do(newHandler(t, f, Config{}), r); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s is %d %s, want %s", key, w.Code, w.Body, want)
		}
		if key == testKey && (f.limit != 7 || f.after != someCursor) {
			t.Errorf("asked for %d keys after %v", f.limit, f.after)
		}
	}
	for _, query := range []string{"limit=0", "limit=x&cursor=y", "limit=1&limit=2", "a;b"} {
		wantProblem(t, do(newHandler(t, &fakeService{}, Config{}), request("GET", "/api/key?"+query, "")), 400, "invalid_request")
	}
}

func TestMakeKey(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]auth.KeyDraft{
		`{"name":"site","scopes":["read","admin"],"expiresIn":60}`: {Name: "site", Scopes: []auth.Scope{auth.Read, auth.Admin}, Life: time.Minute},
		`{"name":"site","scopes":null,"expiresIn":null}`:           {Name: "site"},
		`{"name":"","scopes":[]}`:                                  {Scopes: []auth.Scope{}}, // the service refuses it
	} {
		f := &fakeService{}
		w := do(newHandler(t, f, Config{}), request("POST", "/api/key", body))
		if diff := cmp.Diff(want, f.key); w.Code != 201 || diff != "" || f.actor.KeyID != "k1" {
			t.Errorf("%s: %d, draft (-want +got):\n%s", body, w.Code, diff)
		}
		if strings.Contains(body, "60") {
			const made = `{"id":"` + testID + `","name":"site","scopes":["read","admin"],"createdAt":"2030-01-02T12:00:00Z","current":false,"madeBy":"k1","secret":"spool_secret"}`
			if got := strings.TrimSpace(w.Body.String()); got != made {
				t.Errorf("answer is %s, want %s", got, made)
			}
		}
	}
	for body, faults := range map[string]int{
		`{}`: 1,
		`{"name":1,"scopes":[2],"expiresIn":"x"}`:                             3,
		`{"name":"a","scopes":"read","expiresIn":0}`:                          2,
		`{"name":"a","expiresIn":1.5}`:                                        1,
		`{"name":"a","expiresIn":315360001}`:                                  1,
		`{"name":"a","expiresIn":99999999999999999999}`:                       1,
		`{"name":"a","scopes":["r","r","r","r","r","r","r","r","r"]}`:         1,
		`{"name":"a","scopes":["r",{},"r","r","r","r","r",1],"expiresIn":[]}`: 3,
	} {
		f := &fakeService{}
		p := wantProblem(t, do(newHandler(t, f, Config{}), request("POST", "/api/key", body)), 400, "invalid_request")
		if len(p.Errors) != faults || f.calls != 0 {
			t.Errorf("%s: %+v; want %d faults", body, p.Errors, faults)
		}
	}
}

func TestRevokeKey(t *testing.T) {
	t.Parallel()
	f := &fakeService{}
	h := newHandler(t, f, Config{})
	if w := do(h, request("DELETE", "/api/key/"+strings.ToUpper(testID), "")); w.Code != 200 || w.Body.Len() != 0 || f.id != testID {
		t.Errorf("answer is %d %s for %s", w.Code, w.Body, f.id)
	}
	wantProblem(t, do(h, request("DELETE", "/api/key/x", "")), 400, "invalid_request")
	f.err = &video.Error{Kind: video.NotFound, Code: "key_not_found"}
	wantProblem(t, do(h, request("DELETE", "/api/key/"+testID, "")), 404, "key_not_found")
}
