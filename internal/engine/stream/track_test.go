package stream

import (
	"fmt"
	"slices"
	"strconv"
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
	master := string(MasterPlaylist(Present(films)))
	dash, err := DASHManifest(Present(films))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"\n144p.m3u8": 1, "\n240p.m3u8": 1, "\n360p.m3u8": 0, `,AUDIO="audio"`: 3} {
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

// An encoder that counts frames to its next keyframe makes long segments where a film has few. They
// must not change the playlists that caches hold.
func TestVariantsNeverChangeTheTargetDuration(t *testing.T) {
	t.Parallel()
	track := func(name, codec string, ends ...int64) Track {
		made := Track{Name: name, Codecs: []string{codec}, Width: 1280, Height: 720, Timescale: 1}
		for i, end := range ends {
			made.Segments = append(made.Segments, TrackSegment{Start: append([]int64{0}, ends...)[i], End: end, Frames: 100, Size: 1000, KeySize: 100})
		}
		return made
	}
	usual, still := track("720p", "avc1.640028", 4, 8, 12, 20), track("720p", "avc1.640028", 20)
	sound := track(AudioTrack, "mp4a.40.2", 4, 8, 12, 20)
	for _, tt := range []struct {
		first, variant Track
		target, listed int
	}{
		{usual, track("av1-720p", "av01.0.08M.08", 6, 12, 20), 8, 2},
		{usual, track("av1-720p", "av01.0.08M.08", 4, 20), 8, 1},
		{still, track("av1-720p", "av01.0.08M.08", 20), 20, 2},
		{track("720p", "av01.0.08M.08", 20), track("1080p", "avc1.640028", 4, 20), 20, 2}, // the setting codec was changed
	} {
		show := NewPresentation([]Track{tt.variant, tt.first}, []Sound{{Track: sound}})
		if show.Target() != tt.target || len(show.Video) != tt.listed {
			t.Errorf("%s and %s: the target is %d s, and %d tracks are listed; want %d s and %d", tt.first.Name, tt.variant.Name, show.Target(), len(show.Video), tt.target, tt.listed)
		}
	}
	alone := track("av1-720p", "av01.0.08M.08", 20)
	if target := NewPresentation([]Track{alone}, nil).Target(); target != 20 {
		t.Errorf("the target of a variant alone is %d s, want 20", target)
	}
}

func TestAPlayerBeginsWithAMiddleSize(t *testing.T) {
	t.Parallel()
	track := func(name string, short int, codec string) Track {
		return Track{Name: name, Codecs: []string{codec}, Width: short * 16 / 9, Height: short, Timescale: 1,
			Segments: []TrackSegment{{End: 4, Frames: 100, Size: int64(short) * 1000, KeySize: 100}}}
	}
	for _, tt := range []struct {
		sizes []int
		want  []int
	}{
		{[]int{144, 240, 360, 480, 720, 1080}, []int{480, 144, 240, 360, 720, 1080}},
		{[]int{360, 720, 1080}, []int{720, 360, 1080}},
		{[]int{240, 360}, []int{360, 240}},
		{[]int{1080, 2160}, []int{1080, 2160}},
		{[]int{240, 1080}, []int{1080, 240}},
		{[]int{144}, []int{144}},
	} {
		var tracks []Track
		for _, s := range tt.sizes {
			tracks = append(tracks, track(strconv.Itoa(s)+"p", s, "avc1.640028"), track(strconv.Itoa(s)+"p", s, "av01.0.08M.08"), track(strconv.Itoa(s)+"p", s, "hvc1.1.6.L93.90"))
		}
		show := NewPresentation(tracks, nil)
		var got []string
		for _, v := range show.Video {
			got = append(got, fmt.Sprint(v.codec(), " ", v.Height))
		}
		var want []string // H.264 first: what takes the first without asking must be able to play it
		for _, codec := range []string{"avc1", "hvc1", "av01"} {
			for _, height := range tt.want {
				want = append(want, fmt.Sprint(codec, " ", height))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the order of %v is %v, want %v", tt.sizes, got, want)
		}
		checkScores(t, show)
	}
}

// checkScores checks that a player which goes by scores prefers larger pictures, and AV1 or else HEVC where it can.
func checkScores(t *testing.T, p Presentation) {
	t.Helper()
	text := string(MasterPlaylist(p))
	if n := strings.Count(text, ",SCORE="); n != len(p.Video) {
		t.Errorf("%d of %d variants have a score:\n%s", n, len(p.Video), text)
	}
	for _, v := range p.Video {
		tenth := map[string]int{"avc1": 0, "hvc1": 3, "av01": 7}[v.codec()]
		want := fmt.Sprintf("SCORE=%d.%d,CODECS=%q", v.Height, tenth, v.Codecs[0])
		if !strings.Contains(text, want) {
			t.Errorf("the playlist lacks %s:\n%s", want, text)
		}
	}
	sound := Track{Name: AudioTrack, Codecs: []string{"mp4a.40.2"}, Channels: 2, Timescale: 1, Segments: []TrackSegment{{End: 4, Frames: 100, Size: 1000}}}
	p.Audio = []Sound{{Track: sound}}
	if text := string(MasterPlaylist(p)); !strings.Contains(text, `SCORE=0.1,CODECS="mp4a.40.2"`) {
		t.Errorf("the audio alone has no positive score:\n%s", text)
	}
	p.Video = p.Video[:1]
	if strings.Contains(string(MasterPlaylist(p)), "SCORE") {
		t.Error("variants of one codec need no score")
	}
}

// A player on an ordinary screen must not take what is made for others, and one that stays with a codec needs its
// largest picture.
func TestPlaylistsTellOfHDR(t *testing.T) {
	t.Parallel()
	track := func(name, codec string, short, transfer int) Track {
		return Track{Name: name, Codecs: []string{codec}, Width: short * 16 / 9, Height: short, Transfer: transfer, Timescale: 1,
			Segments: []TrackSegment{{End: 4, Frames: 100, Size: int64(short) * 1000, KeySize: 100}}}
	}
	h264 := []Track{track("720p", "avc1.640028", 720, 1), track("360p", "avc1.640028", 360, 1)}
	hdr := append([]Track{track("hevc-720p", "hvc1.2.4.L93.90", 720, 18), track("av1-360p", "av01.0.08M.10", 360, 16)}, h264...)
	p := NewPresentation(hdr, nil)
	master := string(MasterPlaylist(p))
	for text, times := range map[string]int{"VIDEO-RANGE=SDR": 4, "VIDEO-RANGE=HLG": 2, "VIDEO-RANGE=PQ": 0, "av1-": 0} {
		if n := strings.Count(master, text); n != times {
			t.Errorf("%s is there %d times, want %d:\n%s", text, n, times, master)
		}
	}
	manifest, err := DASHManifest(p)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(manifest), `<EssentialProperty schemeIdUri="urn:mpeg:mpegB:cicp:TransferCharacteristics" value="18">`); n != 1 {
		t.Errorf("%d sets are HLG, want one:\n%s", n, manifest)
	}
	if text := string(MasterPlaylist(NewPresentation(h264, nil))); strings.Contains(text, "VIDEO-RANGE") {
		t.Errorf("a video without HDR tells of ranges:\n%s", text)
	}
}
