package e2e

import (
	"net/http"
	"testing"
)

// TestARequestThatIsRepeated asks for a video several times under one name, as a
// client does that never saw the answer, over a restart of the server, too.
func TestARequestThatIsRepeated(t *testing.T) {
	t.Parallel()
	s := start(t)
	film := newVideo{Filename: "clip.mp4", Resolutions: []string{"144p"}, IsPublic: true}
	name := header{"Idempotency-Key", "order 17"}
	first := s.call(http.MethodPost, "/api/video", film, name)
	s.kill()
	s.restart()
	again := s.call(http.MethodPost, "/api/video", film, name)
	one, two := decode[upload](t, first, http.StatusCreated), decode[upload](t, again, http.StatusCreated)
	if one.ID != two.ID || first.header.Get("Idempotency-Replayed") != "" || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the videos are %s and %s, the second answer's head is %v; want the same, and to be told", one.ID, two.ID, again.header)
	}
	film.IsPublic = false
	s.call(http.MethodPost, "/api/video", film, name).problem(t, http.StatusConflict, "idempotency_conflict")

	s.put(two, clip(t, miniClip))
	s.complete(two.ID)
	s.waitReady(two)
	if all := s.listAll(apiKey, nil, nil); len(all) != 1 {
		t.Errorf("there are %d videos; want one", len(all))
	}
}
