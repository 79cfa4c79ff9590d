package stream

import (
	"bytes"
	"math"
	"testing"

	"github.com/Eyevinn/hls-m3u8/m3u8"
)

// parse reads a playlist with an independent parser that forgives nothing.
func parse(t *testing.T, text []byte) (master *m3u8.MasterPlaylist, media *m3u8.MediaPlaylist) {
	t.Helper()
	list, _, err := m3u8.Decode(*bytes.NewBuffer(text), true)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	master, _ = list.(*m3u8.MasterPlaylist)
	media, _ = list.(*m3u8.MediaPlaylist)
	return master, media
}

// TestAnIndependentParserReadsEverything reads all playlists of videos in all the
// shapes that they come in.
func TestAnIndependentParserReadsEverything(t *testing.T) {
	t.Parallel()
	for name, renditions := range films(t) {
		t.Run(name, func(t *testing.T) {
			p := Present(renditions)
			if slow := name == slowFilm; p.Target() > minTarget != slow {
				t.Errorf("the target duration is %d s", p.Target())
			}
			checkMaster(t, p)
			checkManifest(t, p)
			for _, track := range p.tracks() {
				for _, g := range []Growth{Fixed, Grown, Growing} {
					checkTrack(t, p, track, g)
				}
			}
		})
	}
}

const slowFilm = "a frame every 12 s"

func films(t *testing.T) map[string][]Rendition {
	small, large := readIndex(t, makeRendition(t, "64x36", 9.3, withSound(9.9)...)), readIndex(t, makeRendition(t, "256x144", 8.6, withSound(8.6)...))
	slow := readIndex(t, makeRendition(t, "64x36", 30, append(withSound(30), "-r", "1/12")...))
	return map[string][]Rendition{
		"a ladder":            {{"144p", small}, {"720p", large}},
		slowFilm:              {{"144p", slow}},
		"one frame, no sound": {{"144p", readIndex(t, makeRendition(t, "64x36", 0.04))}},
	}
}

func checkTrack(t *testing.T, p Presentation, track Track, g Growth) {
	t.Helper()
	_, media := parse(t, track.Playlist(p.Target(), g).Encode())
	checkMedia(t, media, p, g)
	if media.Iframe || media.Map == nil || media.Map.URI != track.Name+"-init.mp4" {
		t.Errorf("the playlist of %s is for frames: %v, and has %+v to begin with", track.Name, media.Iframe, media.Map)
	}
	if track.Name == AudioTrack {
		return
	}
	_, only := parse(t, track.FramesPlaylist(p.Target(), g).Encode())
	checkMedia(t, only, p, g)
	if !only.Iframe || only.Count() != media.Count() {
		t.Errorf("of %d segments there are %d frames in a playlist for frames: %v", media.Count(), only.Count(), only.Iframe)
	}
}

func checkMedia(t *testing.T, media *m3u8.MediaPlaylist, p Presentation, g Growth) {
	t.Helper()
	want := m3u8.VOD
	if g != Fixed {
		want = m3u8.EVENT
	}
	if media.MediaType != want || media.Closed == (g == Growing) || int(media.TargetDuration) != p.Target() {
		t.Errorf("the playlist is of type %d, closed: %v, with segments of %d s", media.MediaType, media.Closed, media.TargetDuration)
	}
	for _, s := range media.GetAllSegments() {
		if _, ok := Parse(s.URI); !ok || math.Round(s.Duration) > float64(media.TargetDuration) {
			t.Errorf("%q lasts %f s, more than %d, or is no name", s.URI, s.Duration, media.TargetDuration)
		}
	}
}

func checkMaster(t *testing.T, p Presentation) {
	t.Helper()
	master, _ := parse(t, MasterPlaylist(p))
	var video, frames, soundOnly int
	for _, v := range master.Variants {
		switch {
		case v.Iframe:
			frames++
		case v.Resolution == "":
			soundOnly++
		default:
			video++
		}
		if v.Bandwidth == 0 || v.Codecs == "" || !v.Iframe && v.Captions != "NONE" {
			t.Errorf("a variant is %+v", v)
		}
		if f, ok := Parse(v.URI); !ok || (f.Kind == FramesPlaylist) != v.Iframe {
			t.Errorf("a variant is at %q", v.URI)
		}
	}
	sounds := len(p.tracks()) - len(p.Video)
	if video != len(p.Video) || frames != len(p.Video) || soundOnly != sounds {
		t.Errorf("%d variants of video, %d of frames, %d of sound alone:\n%s", video, frames, soundOnly, MasterPlaylist(p))
	}
}

func checkManifest(t *testing.T, p Presentation) {
	t.Helper()
	m := readManifest(t, p)
	n := 0
	for _, set := range m.Periods[0].AdaptationSets {
		for _, r := range set.Representations {
			n++
			var length uint64
			for _, s := range r.GetSegmentTemplate().SegmentTimeline.S {
				length += s.D * uint64(s.R+1)
			}
			seconds := float64(length) / float64(*r.GetSegmentTemplate().Timescale)
			if all := m.MediaPresentationDuration.Seconds(); seconds <= 0 || seconds > all+0.001 {
				t.Errorf("%s lasts %f s of %f", r.Id, seconds, all)
			}
		}
	}
	if n != len(p.tracks()) {
		t.Errorf("there are %d representations of %d tracks", n, len(p.tracks()))
	}
}
