package stream

import (
	"strings"
	"testing"
)

// TestSeveralSoundTracks looks at what players are told of them.
func TestSeveralSoundTracks(t *testing.T) {
	t.Parallel()
	segments := []TrackSegment{{End: 4, Frames: 100, Size: 1000}}
	track := func(name string) Track {
		return Track{Name: name, Codecs: []string{"mp4a.40.2"}, Channels: 2, Timescale: 1, Segments: segments}
	}
	p := NewPresentation([]Track{{Name: "144p", Codecs: []string{"avc1.42c00a"}, Width: 256, Height: 144, Timescale: 1, Segments: segments}}, []Sound{
		{Track: track("audio-000000000001"), Language: "de", Label: "Deutsch", Kind: "dub"},
		{Track: track("audio"), Language: "en", Label: `The "original"`, Kind: "main", Default: true},
		{Track: track("audio-000000000002"), Language: "en", Label: "Seen", Kind: "description"},
		{Track: track("audio-000000000003"), Language: "en", Label: "Said", Kind: "commentary"},
		{Track: track("audio-000000000004"), Language: "en", Label: "Cut", Kind: "main"},
		{Track: track("audio-000000000005"), Language: "und", Label: "Other", Kind: "main"},
	})
	master := string(MasterPlaylist(p))
	parse(t, []byte(master))
	for _, want := range []string{
		`NAME="Deutsch",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="2",URI="audio-000000000001.m3u8"`,
		`NAME="The 'original'",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio.m3u8"`,
		`NAME="Seen",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=YES,CHARACTERISTICS="public.accessibility.describes-video",CHANNELS="2"`,
		`NAME="Said",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=NO`, `NAME="Cut",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=NO`, `NAME="Other",DEFAULT=NO,AUTOSELECT=YES`,
		`CODECS="avc1.42c00a,mp4a.40.2"`,
	} {
		if !strings.Contains(master, want) {
			t.Errorf("the playlist lacks %s:\n%s", want, master)
		}
	}
	text, err := DASHManifest(p)
	if err != nil {
		t.Fatal(err)
	}
	m := readManifest(t, p)
	if n := len(m.Periods[0].AdaptationSets); n != 7 {
		t.Errorf("the manifest has %d sets", n)
	}
	for _, want := range []string{
		`lang="de" segmentAlignment="true" startWithSAP="1">` + "\n" + `   <Label>Deutsch</Label>` + "\n" + `   <Role schemeIdUri="urn:mpeg:dash:role:2011" value="dub">`,
		`lang="en" segmentAlignment="true" startWithSAP="1" selectionPriority="2">`, `value="description"`, `value="commentary"`, `value="alternate"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the manifest lacks %s:\n%s", want, text)
		}
	}
	for name, want := range map[string]bool{"audio": true, "audio-0123456789ab": true, "audio-": false, "audio-0123456789AB": false, "audio-1": false, "720p": false} {
		if got := IsAudio(name); got != want {
			t.Errorf("IsAudio(%q) is %v", name, got)
		}
	}
	if f, ok := Parse("audio-0123456789ab-7.m4s"); !ok || f.Track != "audio-0123456789ab" || f.Number != 7 || f.Kind != Segment {
		t.Errorf("a segment of a further track is %+v", f)
	}
}
