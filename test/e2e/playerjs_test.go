package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestFramesSpeakPlayerJS controls the player in a frame from a page of another origin, with the protocol's own library.
func TestFramesSpeakPlayerJS(t *testing.T) {
	oneBackend(t, "the messages never reach the server")
	t.Parallel()
	s := shared(t)
	library, err := expandFile("testdata/playerjs/player.min.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	u := s.create(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}, IsPublic: false})
	s.put(u, clip(t, middleClip))
	s.complete(u.ID)
	s.waitReady(u)
	embed := decode[watch](t, s.readPrivate(u.ID, 600), http.StatusOK).EmbedURL
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/library.js" {
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, library)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Host</title><script src="/library.js"></script>
<iframe src="%s?muted=1&controls=0&color=12ab34" width="640" height="360" allow="autoplay"></iframe>
<script>
	const got = { times: [], events: [] };
	const player = new playerjs.Player(document.querySelector("iframe"));
	player.on("ready", () => {
		got.events.push("ready");
		for (const event of ["play", "pause", "seeked", "ended"]) player.on(event, () => got.events.push(event));
		player.on("timeupdate", (at) => got.times.push(at));
		player.getDuration((seconds) => { got.duration = seconds; });
	});
</script>`, embed)
	}))
	defer host.Close()
	v := newVisitor(t, s)
	v.visit(host.URL)
	v.wait("the player to be ready and to say how long it plays", `got.events[0] === "ready" && got.duration > 1`)
	eval[any](v.tab, `player.play()`)
	v.wait("time to pass", `got.events.includes("play") && got.times.some(({ seconds, duration }) => seconds > 0.2 && duration > 1)`)
	eval[any](v.tab, `player.pause()`)
	v.wait("the pause", `got.events.includes("pause")`)
	eval[any](v.tab, `player.setCurrentTime(1)`)
	v.wait("the jump", `got.events.includes("seeked")`)
	eval[any](v.tab, `player.getCurrentTime((seconds) => { got.at = seconds; })`)
	v.wait("the time after the jump", `Math.abs(got.at - 1) < 0.1`)
	eval[any](v.tab, `player.setVolume(30); player.getVolume((percent) => { got.volume = percent; }); player.getMuted((muted) => { got.muted = muted; })`)
	v.wait("volume and mute", `Math.abs(got.volume - 30) < 1 && got.muted === true`)
	eval[any](v.tab, `player.setLoop(true); player.getLoop((loop) => { got.loop = loop; })`)
	v.wait("the loop", `got.loop === true`)
	v.tab.shoot("embed-bare")
}
