package stream

import "testing"

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		want File
		ok   bool
	}{
		{"master.m3u8", File{Kind: Master}, true},
		{"chapters.vtt", File{Kind: ChaptersVTT}, true},
		{"chapters.json", File{Kind: ChaptersJSON}, true},
		{"manifest.mpd", File{Kind: Manifest}, true},
		{"720p.m3u8", File{Kind: Playlist, Track: "720p"}, true},
		{"audio.m3u8", File{Kind: Playlist, Track: "audio"}, true},
		{"4k-init.mp4", File{Kind: Init, Track: "4k"}, true},
		{"audio-0.m4s", File{Kind: Segment, Track: "audio"}, true},
		{"1080p-999999.m4s", File{Kind: Segment, Track: "1080p", Number: 999999}, true},
		{"720p-iframes.m3u8", File{Kind: FramesPlaylist, Track: "720p"}, true},
		{"720p-iframes-12.m4s", File{Kind: Frame, Track: "720p", Number: 12}, true},
		{"v0123456789ab.720p-3.m4s", File{Kind: Segment, Version: "0123456789ab", Track: "720p", Number: 3}, true},
		{"v0123456789ab.audio.m3u8", File{Kind: Playlist, Version: "0123456789ab", Track: "audio"}, true},
		{"v0123456789ab.master.m3u8", File{}, false},
		{"v0123456789a.720p.m3u8", File{}, false},
		{"v0123456789ab.v0123456789ab.720p.m3u8", File{}, false},
		{"720p-iframes-012.m4s", File{}, false},
		{"720p-iframes-init.mp4", File{}, false},
		{"audio-iframes.m3u8", File{}, false},
		{"", File{}, false},
		{"720p.mp4", File{}, false},
		{"720p-0.jpg", File{}, false},
		{"*", File{}, false},
		{"720p-00.m4s", File{}, false},
		{"720p-01.m4s", File{}, false},
		{"720p--1.m4s", File{}, false},
		{"720p-+1.m4s", File{}, false},
		{"720p-1000000.m4s", File{}, false},
		{"720p-99999999999999999999.m4s", File{}, false},
		{"720p-1.m4s\n", File{}, false},
		{"../master.m3u8", File{}, false},
		{"x/720p.m3u8", File{}, false},
		{"MASTER.M3U8", File{}, false},
	}
	for _, tt := range tests {
		if got, ok := Parse(tt.name); ok != tt.ok || ok && got != tt.want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestEveryNameInAPlaylistIsUnderstood(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]File{
		playlistFile("8k"):      {Kind: Playlist, Track: "8k"},
		initFile(AudioTrack):    {Kind: Init, Track: AudioTrack},
		segmentFile("144p", 17): {Kind: Segment, Track: "144p", Number: 17},

		Prefix("0123456789ab") + segmentFile("144p", 17): {Kind: Segment, Version: "0123456789ab", Track: "144p", Number: 17},
	} {
		if got, ok := Parse(name); !ok || got != want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", name, got, ok, want)
		}
	}
}
