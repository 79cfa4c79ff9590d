package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/video"
)

// TestDrawingsAreNoText reads what ffmpeg makes of ASS in which something is drawn.
func TestDrawingsAreNoText(t *testing.T) {
	t.Parallel()
	const text = "WEBVTT\n\n00:01.000 --> 00:02.000\nm 0 0 l 100 0 100 100 0 100\n\n" +
		"00:02.000 --> 00:03.000\n<b>m -3.5 0  b 1 2 3 4 5 6 c</b>\na sign\n\n" +
		"00:03.000 --> 00:04.000\nm 1 2 is not drawn\n"
	p := &video.Plan{Duration: time.Minute, Input: video.Input{TimeBase: video.Ratio{Num: 1, Den: 1000}}}
	for codec, want := range map[string]int{"ass": 2, "subrip": 3} {
		tracks := readTracks(p, []encode.Text{{Stream: video.Stream{Codec: codec}, Text: []byte(text)}})
		if len(tracks) != 1 || len(tracks[0].Cues) != want {
			t.Errorf("of %s are left %+v; want %d cues", codec, tracks, want)
		}
		if first := tracks[0].Cues[0]; codec == "ass" && !slices.Equal(first.Lines, []string{"a sign"}) {
			t.Errorf("the sign has the lines %q", first.Lines)
		}
	}
}

// TestBlanksOfASS are those of texts that ffmpeg converted, whatever they were.
func TestBlanksOfASS(t *testing.T) {
	t.Parallel()
	for copied, want := range map[bool]string{true: `C:\home`, false: "C: ome"} {
		text := encode.Text{Stream: video.Stream{Codec: "subrip"}, Text: []byte(`C:\home`), Copied: copied}
		if got := string(withBlanks(text)); got != want {
			t.Errorf("copied %t: the text is %q; want %q", copied, got, want)
		}
	}
}
