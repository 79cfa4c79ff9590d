package mp4

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
)

// codecs are the encoders of the codecs beside H.264, with what it takes to make
// a small chunk file quickly.
var codecs = []struct {
	entry, setup string // names of the boxes
	name         string // as browsers are asked for it
	args         []string
}{
	{"hvc1", "hvcC", "hvc1.1.6.L30.90", []string{"-c:v", "libx265", "-preset", "ultrafast", "-tag:v", "hvc1", "-forced-idr", "1", "-x265-params", "log-level=none:info=0:open-gop=0"}},
	{"av01", "av1C", "av01.0.00M.08", []string{"-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-crf", "40", "-b:v", "0"}},
}

func TestChunkFilesOfOtherCodecs(t *testing.T) {
	t.Parallel()
	for _, c := range codecs {
		t.Run(c.entry, func(t *testing.T) {
			t.Parallel()
			source := makeSource(t, true)
			var paths []string
			for _, b := range [][2]int64{{0, 2 * scale}, {2 * scale, 4 * scale}, {4 * scale, end}} {
				paths = append(paths, encodeWith(t, source, b[0], b[1], c.args))
			}
			track, err := Inspect(open(t, paths[1]), maxMoov)
			if err != nil || track.Codec != c.entry || track.Width != 160 || track.FirstPTS < 2*scale {
				t.Fatalf("Inspect = %+v, %v; want %s of 160 pixels from 2 s on", track, err, c.entry)
			}
			sound := open(t, makeAudio(t, 0, 6))
			film, s := assemble(t, openAll(t, paths), &sound, append(paths, source)...)
			if want := len(packets(t, source)); s.Frames != want {
				t.Errorf("the rendition has %d frames, want %d", s.Frames, want)
			}
			checkDecodeOrder(t, packets(t, film))
			checkFrames(t, film, paths)
			x := readIndex(t, film)
			if got := x.Video.Codecs; len(got) != 1 || got[0] != c.name {
				t.Errorf("the codec is called %q, want %q", got, c.name)
			}
			checkSegments(t, film, x)
			if n := setups(t, film); n != 1 {
				t.Errorf("the rendition has %d decoder configuration, want one for chunk files encoded alike", n)
			}
		})
	}
}

// setups returns how many decoder configuration the frames of a rendition have.
func setups(t *testing.T, film string) int {
	t.Helper()
	p := open(t, film)
	boxes, err := p.topBoxes()
	if err != nil {
		t.Fatal(err)
	}
	moov, err := p.readMoov(boxes, maxMoov)
	if err != nil {
		t.Fatal(err)
	}
	return len(moov.Trak.Mdia.Minf.Stbl.Stsd.Children)
}

func TestChunkFilesOfTwoCodecsAreNoVideo(t *testing.T) {
	t.Parallel()
	source := makeSource(t, false)
	first, second := encode(t, source, 0, 2*scale), encodeWith(t, source, 2*scale, end, codecs[0].args)
	_, err := Assemble(io.Discard, openAll(t, []string{first, second}), nil, Timing{})
	if want := `its codec is "hvc1", but "avc1" in the chunks before`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Assemble = %v, want %q", err, want)
	}
}

func TestACodecNeedsItsOwnSetup(t *testing.T) {
	t.Parallel()
	for _, c := range codecs {
		path := encodeWith(t, makeSource(t, false), 0, scale, c.args)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, swap := range map[string][2]string{
			"without a configuration": {c.setup, "free"},
			"with another's":          {c.setup, "avcC"},
			"under another's name":    {c.entry, "avc1"},
			"under a strange name":    {c.entry, "vp09"},
		} {
			b := bytes.ReplaceAll(raw, []byte(swap[0]), []byte(swap[1]))
			if _, err := Inspect(Input{bytes.NewReader(b), int64(len(b))}, maxMoov); err == nil {
				t.Errorf("%s %s was accepted", c.entry, name)
			}
		}
	}
}
