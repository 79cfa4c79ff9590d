package e2e

import "testing"

// noteJumps notes what a viewer of the page's player would not like.
const noteJumps = `(() => {
  const media = ` + inPlayer + `, seen = window.seen = {back: 0, emptied: 0, problems: 0, heights: [media.videoHeight], furthest: 0};
  media.addEventListener("timeupdate", () => {
    seen.back = Math.max(seen.back, seen.furthest - media.currentTime);
    seen.furthest = Math.max(seen.furthest, media.currentTime);
  });
  media.addEventListener("resize", () => seen.heights.push(media.videoHeight));
  media.addEventListener("emptied", () => seen.emptied++);
  addEventListener("spool-error", () => seen.problems++);
  media.muted = true;
  media.volume = 0.5;
  media.playbackRate = 0.25;
})()`

// TestAPlayerTakesUpLargerVariants begins to play a film of which only the small renditions are there, in
// the player of the watch page, and wants to see the large one without an interruption when it is there.
func TestAPlayerTakesUpLargerVariants(t *testing.T) {
	oneBackend(t, "TestAFilmIsWatchedWhileItIsEncoded gets the same files from a bucket")
	t.Parallel()
	findBrowser(t)
	g := newGate(t, lastChunkRun, `case " $* " in */v1.mp4*) ;; *) `+hold+` ;; esac`) // the large rendition is made alone
	s := start(t, g.tools())
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"720p", "360p", "144p"}, IsPublic: true}, clip(t, earlyClip))
	s.until("the small renditions", readyTimeout, func() bool { return s.read(u).Resolutions["360p"].Status == "ready" })
	s.putCaptions(u.ID, "en", "WEBVTT\n\n00:00.000 --> 01:06.000\nshown\n")

	v := newVisitor(t, s)
	v.visit(s.read(u).WatchURL + "?autoplay=1&muted=1&captions=en")
	v.waitPlaying()
	eval[any](v.tab, noteJumps)
	v.wait("captions", shownCaptions+`.join() === "shown"`)
	if n := eval[int](v.tab, inPlayer+".videoRenditions.length"); n != 2 {
		t.Errorf("the player begins with %d qualities, want 2", n)
	}
	g.release()
	v.wait("the large rendition to be taken up", inPlayer+".videoRenditions.length === 3")
	v.wait("captions to go on", shownCaptions+`.join() === "shown"`)
	type state struct {
		Paused, Muted bool
		Volume, Rate  float64
		Tracks        int
	}
	want := state{Muted: true, Volume: 0.5, Rate: 0.25, Tracks: 1}
	if got := eval[state](v.tab, `(({paused, muted, volume, playbackRate: rate, textTracks}) => ({paused, muted, volume, rate,
		tracks: [...textTracks].filter((t) => t.kind === "subtitles").length}))(`+inPlayer+`)`); got != want {
		t.Errorf("the player is %+v, want %+v", got, want)
	}
	eval[any](v.tab, inPlayer+".playbackRate = 4")
	v.wait("the end", inPlayer+".ended")
	v.wantNoJumps()
	v.wantTidy()
	s.waitReady(u)
}

// shownCaptions is JavaScript for the texts that the player shows.
const shownCaptions = `[...` + inPlayer + `.textTracks].filter((t) => t.mode === "showing").flatMap((t) => [...t.activeCues ?? []].map((c) => c.text))`

func (v *visitor) wantNoJumps() {
	v.t.Helper()
	type seen struct {
		Back, Furthest    float64
		Emptied, Problems int
		Heights           []int
	}
	got := eval[seen](v.tab, "window.seen")
	if got.Back > 0.5 || got.Furthest < 65 || got.Emptied > 0 || got.Problems > 0 || len(got.Heights) < 2 || got.Heights[len(got.Heights)-1] != 500 {
		v.t.Errorf("the viewer saw %+v; want 66 s that grow to a height of 500, without an interruption", got)
	}
}
