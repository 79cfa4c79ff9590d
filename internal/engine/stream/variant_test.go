package stream

import (
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/mp4"
)

// Settings may change before a resolution is added that comes out as large as
// another one.
func TestVideosOfOneSizeAndTwoCodecsAreBothOffered(t *testing.T) {
	t.Parallel()
	first := readIndex(t, makeRendition(t, "64x36", 5, withSound(5)...))
	pictures := *first.Video
	pictures.Codecs = []string{"av01.0.00M.08"}
	films := []Rendition{
		{Name: "144p", Index: &mp4.Index{Video: &pictures}}, // and its audio could not be made
		{Name: "240p", Index: first}, {Name: "360p", Index: first},
	}
	master := string(MasterPlaylist(films))
	dash, err := DASHManifest(films)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"\n144p.m3u8": 1, "\n240p.m3u8": 1, "\n360p.m3u8": 0, `,AUDIO="audio"`: 2} {
		if n := strings.Count(master, text); n != want {
			t.Errorf("%d times %q; want %d:\n%s", n, text, want, master)
		}
	}
	for text, want := range map[string]int{`contentType="video"`: 2, `contentType="audio"`: 1, "<Representation ": 3} {
		if n := strings.Count(string(dash), text); n != want {
			t.Errorf("%d times %q; want %d:\n%s", n, text, want, dash)
		}
	}
}
