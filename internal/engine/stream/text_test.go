package stream

import (
	"strings"
	"testing"

	dashmpd "github.com/Eyevinn/dash-mpd/mpd"
)

func TestTextsAreListed(t *testing.T) {
	t.Parallel()
	p := Present([]Rendition{{"144p", readIndex(t, makeRendition(t, "64x36", 13, withSound(13)...))}})
	p.Text = []Text{
		{Name: "captions-en-0123456789ab", Language: "en", Label: "English"},
		{Name: "captions-en-gb-0123456789ab", Language: "en-GB", Label: "English"},
		{Name: "captions-de-0123456789ab", Language: "de", Label: "Evil\",URI=\"x\n<", Captions: true},
	}
	master, _ := parse(t, MasterPlaylist(p))
	names := map[string]bool{}
	for _, v := range master.Variants {
		if !v.Iframe && v.Subtitles != "captions" {
			t.Errorf("the variant %s has the texts %q", v.URI, v.Subtitles)
		}
		for _, a := range v.Alternatives {
			if a.Type != "SUBTITLES" {
				continue
			}
			names[a.Name] = true
			if f, ok := Parse(a.URI); !ok || f.Kind != TextPlaylist || a.Default || a.Forced {
				t.Errorf("a text is %+v", a)
			}
		}
	}
	if len(names) != 3 || !names["English"] || !names["English (en-GB)"] {
		t.Errorf("the texts are called %v", names)
	}
	for _, growing := range []bool{false, true} {
		_, media := parse(t, NewTextPlaylist("captions-en-0123456789ab", p.Micros(), p.Target(), growing).Encode())
		checkMedia(t, media, p, GrowthOf(0, growing))
		want := 3
		if growing { // the last segment is not over yet
			want = 2
		}
		if n := int(media.Count()); n != want || media.Map != nil {
			t.Errorf("growing %v: the text has %d segments, want %d", growing, n, want)
		}
	}
	text, err := DASHManifest(p)
	if err != nil {
		t.Fatal(err)
	}
	m, err := dashmpd.MPDFromBytes(text)
	if err != nil {
		t.Fatal(err)
	}
	sets := m.Periods[0].AdaptationSets
	last := sets[len(sets)-1]
	if len(sets) != 5 || last.Lang != "de" || last.ContentType != "text" || last.Roles[0].Value != "caption" ||
		string(last.Representations[0].BaseURLs[0].Value) != "captions-de-0123456789ab-all.vtt" || !strings.Contains(string(text), "&lt;") {
		t.Errorf("the manifest is\n%s", text)
	}
}

func TestNamesOfTexts(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]File{
		"captions-en-0123456789ab.m3u8":          {Kind: TextPlaylist, Track: "captions-en-0123456789ab"},
		"captions-zh-hant-tw-0123456789ab-7.vtt": {Kind: TextSegment, Track: "captions-zh-hant-tw-0123456789ab", Number: 7},
		"captions-en-0123456789ab-all.vtt":       {Kind: TextFile, Track: "captions-en-0123456789ab"},
		"captions-en-0123456789ab.vtt":           {Kind: -1}, // it is stored, and signed by itself
		"captions-en-0123456789ab-07.vtt":        {Kind: -1},
		"captions-en.m3u8":                       {Kind: -1},
		"captions-en-../0123456789ab.m3u8":       {Kind: -1},
	} {
		if got, ok := Parse(name); ok != (want.Kind >= 0) || ok && got != want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", name, got, ok, want)
		}
	}
	if name, ok := TextName("captions-en-0123456789ab.vtt"); !ok || name != "captions-en-0123456789ab" {
		t.Errorf("the text is called %q, %v", name, ok)
	}
	for _, file := range []string{"storyboard.vtt", "captions-en-0123456789ab.m3u8", "captions-en.vtt", "poster.jpg"} {
		if name, ok := TextName(file); ok {
			t.Errorf("%s is a text called %q", file, name)
		}
	}
}
