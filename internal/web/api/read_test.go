package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
)

// One read returns what the reads of public and of private videos return, with the file name.
func TestAReadOfEitherKind(t *testing.T) {
	t.Parallel()
	s := newScene(t, Config{})
	read := func(path string) map[string]any {
		t.Helper()
		var out map[string]any
		w := s.ask("GET", s.fill(path), "")
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
			t.Fatalf("%s answers %d %s", path, w.Code, w.Body)
		}
		return out
	}
	for path, same := range map[string]string{
		"/api/video/{public}":                  "/api/video/{public}/public",
		"/api/video/{public}?expiresIn=60":     "/api/video/{public}/public",
		"/api/video/{private}":                 "/api/video/{private}/private/3600",
		"/api/video/{private}?expiresIn=60":    "/api/video/{private}/private/60",
		"/api/video/{private}?token=x&other=1": "/api/video/{private}/private/3600",
	} {
		got, want := read(path), read(same)
		if got["filename"] == "" || got["filename"] == nil {
			t.Errorf("%s has no filename", path)
		}
		delete(got, "filename")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs from %s (-want +got):\n%s", path, same, diff)
		}
	}
	for _, query := range []string{"0", "-1", "31536001", "01", "1.5", "x", "", "60&expiresIn=60"} {
		wantProblem(t, s.ask("GET", s.fill("/api/video/{public}?expiresIn=")+query, ""), 400, "invalid_request")
	}
}

// A token shows no URL of a video: its holder may follow the video, not play it.
func TestAReadByTokenHasNoURLs(t *testing.T) {
	t.Parallel()
	s := newScene(t, Config{})
	id := s.ids["{private}"]
	w := do(s.handler, withToken("GET", "/api/video/"+id, s.token(video.ID(id))))
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out["filename"] == nil {
		t.Fatalf("the answer is %d %s", w.Code, w.Body)
	}
	if strings.Contains(w.Body.String(), `Url"`) || slices.Contains(slices.Collect(maps.Keys(out)), "captions") {
		t.Errorf("the answer is %s", w.Body)
	}
}
