package api

import (
	"io"
	"net/http/httptest"
	"testing"
)

// untouched is a body that must not be read.
type untouched struct{ t *testing.T }

func (u untouched) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.ErrUnexpectedEOF
}

// Scopes are checked before the service is called, and before the path and the body are looked at.
func TestScopeComesBeforeTheRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method, path string
		lacking      []string
	}{
		{"POST", "/api/video", []string{readKey}},
		{"POST", "/api/video/" + testID + "/complete-upload", []string{readKey}},
		{"POST", "/api/video/" + testID + "/resolutions", []string{readKey, writeKey}},
		{"POST", "/api/video/x/resolutions", []string{readKey, writeKey}},
		{"PATCH", "/api/video/" + testID, []string{readKey, writeKey}},
		{"POST", "/api/video/resolution/" + testID + "/retry", []string{readKey, writeKey}},
		{"GET", "/api/video?limit=x", []string{writeKey}},
		{"GET", "/api/video/" + testID, []string{writeKey}},
		{"GET", "/api/video/" + testID + "/events", []string{writeKey}},
		{"GET", "/api/video/" + testID + "/public", []string{writeKey}},
		{"GET", "/api/video/" + testID + "/private/0", []string{writeKey}},
		{"GET", "/api/video/" + testID + "/report", []string{writeKey}},
		{"POST", "/api/video/" + testID + "/token", []string{writeKey}},
		{"GET", "/api/usage", []string{writeKey}},
		{"GET", "/api/tenant?limit=x", []string{readKey, writeKey}},
		{"GET", "/api/system", []string{readKey, writeKey}},
		{"POST", "/api/key", []string{readKey, writeKey}},
		{"DELETE", "/api/key/x", []string{readKey, writeKey}},
		{"POST", "/api/webhook", []string{readKey, writeKey}},
		{"GET", "/api/webhook", []string{readKey, writeKey}},
		{"GET", "/api/webhook/x", []string{readKey, writeKey}},
		{"PATCH", "/api/webhook/x", []string{readKey, writeKey}},
		{"DELETE", "/api/webhook/x", []string{readKey, writeKey}},
		{"POST", "/api/webhook/x/rotate-secret", []string{readKey, writeKey}},
		{"POST", "/api/webhook/x/test", []string{readKey, writeKey}},
		{"POST", "/api/webhook/x/fetch", []string{readKey, writeKey}},
		{"GET", "/api/webhook/x/deliveries", []string{readKey, writeKey}},
		{"POST", "/api/webhook/delivery/x/replay", []string{readKey, writeKey}},
		{"POST", "/api/webhook/delivery/x/report", []string{readKey, writeKey}},
		{"DELETE", "/api/video/" + testID, []string{readKey, writeKey}},
		{"DELETE", "/api/video/resolution/" + testID, []string{readKey, writeKey}},
	}
	f := &fakeService{}
	h := newHandler(t, f, Config{})
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			for _, key := range tt.lacking {
				f.calls = 0
				r := httptest.NewRequest(tt.method, tt.path, untouched{t})
				r.Header.Set(headerKey, key)
				r.Header.Set("Content-Type", "application/json")
				wantProblem(t, do(h, r), 403, "insufficient_scope")
				if f.calls != 0 {
					t.Errorf("the service was called with %s", key)
				}
			}
		})
	}
}
