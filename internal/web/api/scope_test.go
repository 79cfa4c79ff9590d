package api

import (
	"io"
	"net/http/httptest"
	"testing"

	"github.com/spool-video/spool/internal/service/auth"
)

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.ErrUnexpectedEOF
}

// Scopes are checked before the path and the body are looked at.
func TestScopeComesBeforeTheRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method, path string
		lacking      []auth.Scope // keys that have only one of these
	}{
		{"POST", "/api/video", []auth.Scope{auth.Read}},
		{"POST", "/api/video/" + testID + "/complete-upload", []auth.Scope{auth.Read}},
		{"POST", "/api/video/" + testID + "/resolutions", []auth.Scope{auth.Read, auth.Write}},
		{"POST", "/api/video/x/resolutions", []auth.Scope{auth.Read, auth.Write}},
		{"PATCH", "/api/video/" + testID, []auth.Scope{auth.Read, auth.Write}},
		{"POST", "/api/video/resolution/" + testID + "/retry", []auth.Scope{auth.Read, auth.Write}},
		{"GET", "/api/video?limit=x", []auth.Scope{auth.Write}},
		{"GET", "/api/video/" + testID, []auth.Scope{auth.Write}},
		{"GET", "/api/video/" + testID + "/events", []auth.Scope{auth.Write}},
		{"GET", "/api/video/" + testID + "/public", []auth.Scope{auth.Write}},
		{"GET", "/api/video/" + testID + "/private/0", []auth.Scope{auth.Write}},
		{"GET", "/api/video/" + testID + "/report", []auth.Scope{auth.Write}},
		{"POST", "/api/video/" + testID + "/token", []auth.Scope{auth.Write}},
		{"GET", "/api/usage", []auth.Scope{auth.Write}},
		{"GET", "/api/tenant?limit=x", []auth.Scope{auth.Read, auth.Write}},
		{"GET", "/api/system", []auth.Scope{auth.Read, auth.Write}},
		{"GET", "/api/session?limit=x", []auth.Scope{auth.Read, auth.Write}},
		{"GET", "/api/audit?limit=x", []auth.Scope{auth.Read, auth.Write}},
		{"POST", "/api/key", []auth.Scope{auth.Read, auth.Write}},
		{"DELETE", "/api/key/x", []auth.Scope{auth.Read, auth.Write}},
		{"POST", "/api/webhook", []auth.Scope{auth.Read, auth.Write}},
		{"GET", "/api/webhook", []auth.Scope{auth.Read, auth.Write}},
		{"GET", "/api/webhook/x", []auth.Scope{auth.Read, auth.Write}},
		{"PATCH", "/api/webhook/x", []auth.Scope{auth.Read, auth.Write}},
		{"DELETE", "/api/webhook/x", []auth.Scope{auth.Read, auth.Write}},
		{"POST", "/api/webhook/x/rotate-secret", []auth.Scope{auth.Read, auth.Write}},
		{"POST", "/api/webhook/x/test", []auth.Scope{auth.Read, auth.Write}},
		{"POST", "/api/webhook/x/fetch", []auth.Scope{auth.Read, auth.Write}},
		{"GET", "/api/webhook/x/deliveries", []auth.Scope{auth.Read, auth.Write}},
		{"POST", "/api/webhook/delivery/x/replay", []auth.Scope{auth.Read, auth.Write}},
		{"POST", "/api/webhook/delivery/x/report", []auth.Scope{auth.Read, auth.Write}},
		{"DELETE", "/api/video/" + testID, []auth.Scope{auth.Read, auth.Write}},
		{"DELETE", "/api/video/resolution/" + testID, []auth.Scope{auth.Read, auth.Write}},
	}
	r := newRig(t, Config{})
	keys := map[auth.Scope]string{auth.Read: r.newKey(auth.Read), auth.Write: r.newKey(auth.Write)}
	for _, tt := range tests {
		for _, scope := range tt.lacking {
			q := httptest.NewRequest(tt.method, tt.path, untouched{t})
			q.Header.Set(headerKey, keys[scope])
			q.Header.Set("Content-Type", "application/json")
			wantProblem(t, r.send(q), 403, "insufficient_scope")
		}
	}
}
