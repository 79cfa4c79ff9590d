package stream

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	dashmpd "github.com/Eyevinn/dash-mpd/mpd"
)

func TestDASHManifest(t *testing.T) {
	t.Parallel()
	small := readIndex(t, makeRendition(t, "64x36", 13.12, withSound(9)...))
	silent := readIndex(t, makeRendition(t, "256x144", 0.04))
	bandwidth := regexp.MustCompile(`bandwidth="\d+"`)
	tests := []struct {
		name  string
		films []Rendition
		want  string
	}{
		{"with audio", []Rendition{{"144p", small}}, `<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static" mediaPresentationDuration="PT13.120000S" minBufferTime="PT4S">
 <Period id="0" start="PT0.000000S">
  <AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true" startWithSAP="1">
   <Representation id="144p" bandwidth="?" codecs="avc1.4d400a" width="64" height="36" frameRate="25">
    <SegmentTemplate timescale="12800" initialization="$RepresentationID$-init.mp4" media="$RepresentationID$-$Number$.m4s" startNumber="0">
     <SegmentTimeline>
      <S t="0" d="51200" r="2"></S>
      <S d="14336"></S>
     </SegmentTimeline>
    </SegmentTemplate>
   </Representation>
  </AdaptationSet>
  <AdaptationSet contentType="audio" mimeType="audio/mp4" segmentAlignment="true" startWithSAP="1">
   <Label>Sound</Label>
   <Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"></Role>
   <Representation id="audio" bandwidth="?" codecs="mp4a.40.2" audioSamplingRate="48000">
    <AudioChannelConfiguration schemeIdUri="urn:mpeg:dash:23003:3:audio_channel_configuration:2011" value="2"></AudioChannelConfiguration>
    <SegmentTemplate timescale="48000" initialization="$RepresentationID$-init.mp4" media="$RepresentationID$-$Number$.m4s" startNumber="0">
     <SegmentTimeline>
      <S t="0" d="192512"></S>
      <S d="191488"></S>
      <S d="48000"></S>
     </SegmentTimeline>
    </SegmentTemplate>
   </Representation>
  </AdaptationSet>
 </Period>
</MPD>
`},
		{"a single silent frame, under two names", []Rendition{{"144p", silent}, {"720p", silent}}, `<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static" mediaPresentationDuration="PT0.040000S" minBufferTime="PT4S">
 <Period id="0" start="PT0.000000S">
  <AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true" startWithSAP="1">
   <Representation id="144p" bandwidth="?" codecs="avc1.4d400c" width="256" height="144" frameRate="25">
    <SegmentTemplate timescale="12800" initialization="$RepresentationID$-init.mp4" media="$RepresentationID$-$Number$.m4s" startNumber="0">
     <SegmentTimeline>
      <S t="0" d="512"></S>
     </SegmentTimeline>
    </SegmentTemplate>
   </Representation>
  </AdaptationSet>
 </Period>
</MPD>
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, err := DASHManifest(Present(tt.films))
			if err != nil {
				t.Fatal(err)
			}
			if got := bandwidth.ReplaceAllString(string(text), `bandwidth="?"`); got != tt.want {
				t.Errorf("the manifest is\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestManifestOfAGrowingVideo sees that players begin at the beginning, whenever they come and
// whether the video grows faster than people watch or not, and that they can go on when it is whole.
func TestManifestOfAGrowingVideo(t *testing.T) {
	t.Parallel()
	p := Present([]Rendition{{"144p", readIndex(t, makeRendition(t, "64x36", 13.12, withSound(9)...))}})
	began := time.Date(2026, 11, 17, 1, 2, 3, 0, time.UTC)
	whole := readManifest(t, p)
	if *whole.Type != "static" || whole.MediaPresentationDuration == nil {
		t.Errorf("the whole video is %s, and lasts %v", *whole.Type, whole.MediaPresentationDuration)
	}
	for after, wantStart := range map[time.Duration]time.Time{
		0: began, 13 * time.Second: began,
		73 * time.Second: began.Add(59 * time.Second), // 13.12 s are there, and one of slack
	} {
		p.Live = &Live{Began: began, Now: began.Add(after)}
		m := readManifest(t, p)
		start, err := m.AvailabilityStartTime.ConvertToSeconds()
		if err != nil {
			t.Fatal(err)
		}
		if want := wantStart.Unix(); int64(start) != want-1 && int64(start) != want {
			t.Errorf("after %s: it began at %s", after, m.AvailabilityStartTime)
		}
		edge := float64(p.Live.Now.Unix()) - start
		if delay := m.SuggestedPresentationDelay.Seconds(); delay < edge || delay < 13.12 || delay > 13.12+5 {
			t.Errorf("after %s: a player begins %.2f s before %.2f", after, delay, edge)
		}
		if *m.Type != "dynamic" || m.MinimumUpdatePeriod == nil || m.MediaPresentationDuration != nil {
			t.Errorf("after %s: the type is %s, updated every %v, for %v", after, *m.Type, m.MinimumUpdatePeriod, m.MediaPresentationDuration)
		}
		if m.Periods[0].Id != whole.Periods[0].Id || *m.Periods[0].Start != *whole.Periods[0].Start {
			t.Errorf("after %s: the period %q begins at %s, and at last %q at %s", after, m.Periods[0].Id, m.Periods[0].Start, whole.Periods[0].Id, whole.Periods[0].Start)
		}
	}
}

// TestManifestsOfAGrowingVideoAgree: what a player has read in one manifest is true in all later ones, up to
// that of the whole video. Segments are added at the end, renditions join, and nothing else changes.
func TestManifestsOfAGrowingVideoAgree(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 17, 1, 2, 3, 0, time.UTC)
	const whole = 9
	var before map[string][]string
	for n := 2; n <= whole; n++ {
		p := growTo(n, whole)
		if n < whole {
			p.Live = &Live{Began: began, Now: began.Add(time.Duration(n*n) * time.Second)}
		}
		m := readManifest(t, p)
		if (m.MediaPresentationDuration != nil) != (n == whole) || len(m.Periods) != 1 {
			t.Errorf("with %d segments the manifest says how long it is: %v", n, m.MediaPresentationDuration)
		}
		now := segmentsOf(m)
		for name, segments := range before {
			if len(now[name]) < len(segments) || !slices.Equal(now[name][:len(segments)], segments) {
				t.Errorf("%s was %q, and with %d segments it is %q", name, segments, n, now[name])
			}
		}
		before = now
	}
	if len(before) != 3 || len(before["144p"]) != 1+whole || before["144p"][whole] != "144p-8.m4s at 16000/1000, 1960 long" {
		t.Errorf("at last there are %q", before)
	}
}

// growTo is a video of which n segments are there. The larger rendition joins later.
func growTo(n, whole int) Presentation {
	cut := func(name string, n int) Track {
		k := Track{Name: name, Codecs: []string{"avc1.42c00a"}, Width: 256, Height: 144, Timescale: 1000}
		for i := range n {
			length := int64(2000)
			if i == whole-1 {
				length = 1960
			}
			k.Segments = append(k.Segments, TrackSegment{Start: int64(i) * 2000, End: int64(i)*2000 + length, Frames: 50, Size: 1000 * int64(1+i%3), KeySize: 100})
		}
		return k
	}
	sound := cut(AudioTrack, n)
	p := Presentation{Video: []Track{cut("144p", n)}, Audio: []Sound{{Track: sound}}}
	if n > 4 {
		p.Video = append(p.Video, cut("240p", n-2*(whole-n)/4))
	}
	return p
}

// segmentsOf lists what belongs to each representation: where its header is, and its segments in order.
func segmentsOf(m *dashmpd.MPD) map[string][]string {
	all := map[string][]string{}
	for _, set := range m.Periods[0].AdaptationSets {
		for _, r := range set.Representations {
			template, at := r.SegmentTemplate, uint64(0)
			list := []string{fmt.Sprint(m.Periods[0].Id, m.Periods[0].Start, template.Initialization, r.Codecs)}
			for _, run := range template.SegmentTimeline.S {
				if run.T != nil {
					at = *run.T
				}
				for range run.R + 1 {
					name := strings.NewReplacer("$RepresentationID$", r.Id, "$Number$", strconv.Itoa(len(list)-1+int(*template.StartNumber))).Replace(template.Media)
					list = append(list, fmt.Sprintf("%s at %d/%d, %d long", name, at, *template.Timescale, run.D))
					at += run.D
				}
			}
			all[r.Id] = list
		}
	}
	return all
}

func readManifest(t *testing.T, p Presentation) *dashmpd.MPD {
	t.Helper()
	text, err := DASHManifest(p)
	if err != nil {
		t.Fatal(err)
	}
	m, err := dashmpd.MPDFromBytes(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return m
}
