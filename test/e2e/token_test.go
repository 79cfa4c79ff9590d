package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// follow opens an event stream as a page of another origin does: with nothing but an address.
const follow = `address => new Promise(done => {
  const source = new EventSource(address);
  source.addEventListener("video", e => { source.close(); done(JSON.parse(e.data).title); });
  source.onerror = () => { source.close(); done("refused"); };
})`

// TestAPageFollowsItsUploadWithAToken lets a real browser, on a page of no origin at all, follow one
// video and no other.
func TestAPageFollowsItsUploadWithAToken(t *testing.T) {
	oneBackend(t, "tokens are signed and checked in memory")
	t.Parallel()
	findBrowser(t)
	s := shared(t)
	u, other := s.create(newVideo{Filename: "mine.mp4", Resolutions: []string{"144p"}}), s.create(tinyVideo)
	made := decode[struct{ Token, ExpiresAt string }](t, s.call("POST", "/api/video/"+u.ID+"/token", nil), http.StatusCreated)
	events := func(id string) string { return s.url + "/api/video/" + id + "/events?token=" + made.Token }

	b := openTab(t)
	for address, want := range map[string]string{events(u.ID): "mine", events(other.ID): "refused", events(u.ID) + "x": "refused"} {
		if got := eval[string](b, "("+follow+")("+quote(address)+")"); got != want {
			t.Errorf("a page that follows %s is told %q, want %q", address, got, want)
		}
	}
	if got := decode[titled](t, s.get(s.url+"/api/video/"+u.ID+"?token="+made.Token), http.StatusOK).Title; got != "mine" {
		t.Errorf("the state has the title %q", got)
	}
	s.get(s.url+"/api/video/"+other.ID+"?token="+made.Token).problem(t, http.StatusUnauthorized, "invalid_token")
	s.get(s.url+"/api/video/"+u.ID+"/report?token="+made.Token).problem(t, http.StatusUnauthorized, "missing_api_key")
	s.callAs(s.stranger(), "POST", "/api/video/"+u.ID+"/token", nil).problem(t, http.StatusNotFound, "video_not_found")
	if strings.Contains(s.log.String(), made.Token) {
		t.Error("the token is in the log")
	}
}
