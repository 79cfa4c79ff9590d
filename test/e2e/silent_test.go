package e2e

import "testing"

// TestAFilmWithoutSoundHasNoVolume plays it on its own page, where the page says so, and by its stream alone, which does.
// The frame for other sites names the film, unless its address says otherwise.
func TestAFilmWithoutSoundHasNoVolume(t *testing.T) {
	oneBackend(t, "the pages ask the services only")
	t.Parallel()
	s := shared(t)
	w := s.publish(newVideo{Filename: "A quiet film.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, softClip))
	v := newVisitor(t, s)
	hidden := `!` + part("media-mute-button") + `.checkVisibility() && !` + part("media-volume-range") + `.checkVisibility()`
	v.visit(w.WatchURL)
	v.wait("the player", inPlayer+" !== undefined && "+part("media-play-button")+".checkVisibility()")
	if !eval[bool](v.tab, hidden) {
		t.Error("the watch page offers to change a volume")
	}
	eval[any](v.tab, `document.querySelector("spool-player").removeAttribute("silent")`)
	v.wait("the volume", `!(`+hidden+`)`)
	eval[any](v.tab, `document.querySelector("spool-player").reload(true)`)
	v.wait("the stream to say that there is nothing to hear", hidden)

	title := part(".title")
	v.visit(w.EmbedURL)
	v.wait("the title", title+`.getBoundingClientRect().height > 15 && `+title+`.textContent === "A quiet film"`)
	v.wantAccessible("embed-title", 640)
	for _, query := range []string{"?title=0", "?controls=0"} {
		v.visit(w.EmbedURL + query)
		v.wait("the player", inPlayer+" !== undefined")
		if eval[bool](v.tab, title+".checkVisibility()") {
			t.Errorf("with %s the title is shown", query)
		}
	}
	v.wantTidy()
}
