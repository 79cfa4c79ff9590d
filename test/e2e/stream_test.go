package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/test/need"
)

// TestAStreamIsTheVideo reads streams as players do and wants every frame of the
// video, at its time.
func TestAStreamIsTheVideo(t *testing.T) {
	t.Parallel()
	s := shared(t)
	tests := []struct {
		name, clip  string
		public      bool
		resolutions []string
		variants    int
		segments    int // of frames
		sound       bool
	}{
		{"some seconds with sound", middleClip, false, []string{"144p", "240p"}, 2, 2, true},
		{"uneven times, asked for larger than it is", variableClip, true, []string{"240p", "1080p"}, 1, 1, true},
		{"no sound", silentClip, true, []string{"144p"}, 1, 1, false},
		{"a single picture", stillClip, true, []string{"144p"}, 1, 1, false},
		{"an edit list, and more sound than pictures", cutClip, true, []string{"144p"}, 1, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.clip != middleClip {
				oneBackend(t, "what is read from a bucket is the same, and the longest one is read there")
			}
			if tt.clip != middleClip && tt.clip != cutClip {
				need.TimeFor(t, "package stream makes playlists and segments of such a video")
			}
			t.Parallel()
			s := s.in(t)
			w := s.publish(newVideo{Filename: tt.clip, Resolutions: tt.resolutions, IsPublic: tt.public}, clip(t, tt.clip))
			all := s.variants(w.HLSURL)
			if len(all) != tt.variants {
				t.Fatalf("the stream has %d variants, want %d: %+v", len(all), tt.variants, all)
			}
			var sound track
			if tt.sound {
				sound = s.track(beside(w.HLSURL, "audio.m3u8"))
			}
			var lengths []string
			for _, v := range all {
				pictures := s.track(beside(w.HLSURL, v.file))
				if lengths != nil && !slices.Equal(lengths, pictures.lengths) || len(pictures.segments) != tt.segments {
					t.Errorf("%s has segments of %v s, another has %v", v.file, pictures.lengths, lengths)
				}
				lengths = pictures.lengths
				r := w.Resolutions[strings.TrimSuffix(v.file, ".m3u8")]
				checkVariant(t, v, r, pictures, sound)
				want := perform(t, r.VideoURL, r.VideoURL, v.audio)
				want.check(t, v.file, perform(t, beside(w.HLSURL, v.file), beside(w.HLSURL, "audio.m3u8"), v.audio))
				if v == all[0] { // the first that a manifest names
					want.check(t, "the manifest", perform(t, w.DASHURL, w.DASHURL, v.audio))
				}
			}
			checkStills(t, s, beside(w.HLSURL, strings.TrimSuffix(all[0].file, ".m3u8")+"-iframes.m3u8"), tt.segments)
			if tt.clip == middleClip {
				t.Run("in a browser", func(t *testing.T) {
					usuallyOneBackend(t, "hls.js plays from a bucket")
					playInBrowser(t, w)
				})
				t.Run("with hls.js", func(t *testing.T) { playWithHLS(t, w) })
			}
		})
	}
}

// checkVariant holds what is said of a variant against what it is.
func checkVariant(t testing.TB, v variant, r resolution, pictures, sound track) {
	t.Helper()
	peak := pictures.peak(t) + sound.peak(t)
	if float64(v.bandwidth)+2 < peak || v.average > v.bandwidth {
		t.Errorf("%s says that it needs %d bits a second, %d on average; it takes up to %.0f", v.file, v.bandwidth, v.average, peak)
	}
	want := `^avc1\.6400[0-9a-f]{2}$`
	if sound.segments != nil {
		want = `^avc1\.6400[0-9a-f]{2},mp4a\.40\.2$`
	}
	if !regexp.MustCompile(want).MatchString(v.codecs) || v.size != fmt.Sprintf("%dx%d", r.Width, r.Height) || v.audio != (sound.segments != nil) {
		t.Errorf("the variant is %+v, the video %dx%d", v, r.Width, r.Height)
	}
	for i, segment := range pictures.segments[1:] { // all have seen that the first can be decoded
		file := filepath.Join(t.TempDir(), "segment.mp4")
		if err := os.WriteFile(file, slices.Concat(pictures.init, segment), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := output("ffprobe", "-v", "error", "-show_entries", "packet=flags", "-read_intervals", "%+#1", "-of", "csv=p=0", file)
		if err != nil || !strings.HasPrefix(out, "K") {
			t.Errorf("segment %d alone begins with %q, %v; want a keyframe", i+1, out, err)
		}
	}
}

// checkStills decodes the single frames of a playlist for players that wind.
func checkStills(t testing.TB, s *server, url string, want int) {
	t.Helper()
	if text := string(s.fetch(url)); !strings.Contains(text, "#EXT-X-I-FRAMES-ONLY\n") {
		t.Errorf("the playlist is not one of frames:\n%s", text)
	}
	stills := s.track(url)
	file := filepath.Join(t.TempDir(), "stills.mp4")
	if err := os.WriteFile(file, slices.Concat(append([][]byte{stills.init}, stills.segments...)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, file); len(got) != want {
		t.Errorf("the playlist has %d stills, want %d", len(got), want)
	}
}

// TestAStreamComesAndGoesWithItsRenditions: renditions are offered when they can be
// played, and are dead when their deletion is confirmed.
func TestAStreamComesAndGoesWithItsRenditions(t *testing.T) {
	usuallyOneBackend(t, "TestFilesOfStreamsAreServedLikeVideos reads streams from the bucket")
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p", "240p"}, IsPublic: true})
	master := s.read(u).HLSURL
	for _, file := range []string{"master.m3u8", "manifest.mpd", "144p.m3u8", "144p-0.m4s", "audio.m3u8"} {
		r := s.get(beside(master, file))
		r.problem(t, http.StatusNotFound, "not_ready")
		if r.header.Get("Retry-After") == "" {
			t.Errorf("%s does not say when to ask again", file)
		}
	}
	s.put(u, clip(t, tinyClip))
	s.complete(u.ID)
	w := s.waitReady(u)
	if w.HLSURL != master || len(s.variants(master)) != 2 {
		t.Fatalf("the stream of a ready video is %s with %+v, it was announced as %s", w.HLSURL, s.variants(master), master)
	}
	small := []string{"144p.m3u8", "144p-init.mp4", "144p-0.m4s", "144p-iframes.m3u8", "144p-iframes-0.m4s"}
	rest := []string{"240p.m3u8", "240p-init.mp4", "240p-0.m4s", "audio.m3u8", "audio-init.mp4", "audio-0.m4s"}
	all := append(slices.Clone(small), rest...)
	all = append(all, "master.m3u8", "manifest.mpd")
	for _, file := range all {
		s.fetch(beside(master, file))
	}
	s.deleteResolution(w.Resolutions["144p"].ID)
	for _, file := range small {
		s.get(beside(master, file)).problem(t, http.StatusNotFound, "not_found")
	}
	if left := s.variants(master); len(left) != 1 || left[0].file != "240p.m3u8" {
		t.Errorf("after a deletion the variants are %+v", left)
	}
	for _, file := range rest { // the audio now comes from the other video
		s.fetch(beside(master, file))
	}
	s.deleteVideo(u.ID)
	for _, file := range all {
		s.get(beside(master, file)).problem(t, http.StatusNotFound, "not_found")
	}
}

// TestFilesOfStreamsAreServedLikeVideos asks for a segment in all the ways that
// players do, and for what is none.
func TestFilesOfStreamsAreServedLikeVideos(t *testing.T) {
	t.Parallel()
	s := shared(t)
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}
	private := s.publish(ask, clip(t, miniClip))
	ask.IsPublic = true
	public := s.publish(ask, clip(t, miniClip))
	for name, master := range map[string]string{"public": public.HLSURL, "private": private.HLSURL} {
		for _, file := range []string{"master.m3u8", "manifest.mpd", "144p.m3u8", "144p-init.mp4", "144p-0.m4s", "audio-0.m4s"} {
			t.Run(name+" "+file, func(t *testing.T) {
				s, url := s.in(t), beside(master, file)
				whole := s.hop(url)
				if !strings.HasPrefix(whole.header.Get("Cache-Control"), name+", max-age=") {
					t.Errorf("Cache-Control is %q", whole.header.Get("Cache-Control"))
				}
				checkHead(t, s, url, whole)
				if len(whole.body) > 600 {
					checkRanges(t, s, url, whole.body)
				}
				checkRefusedRanges(t, s, url, len(whole.body))
				checkCORS(t, s, url)
				if r := s.get(url, header{"If-None-Match", whole.header.Get("ETag")}); r.status != http.StatusNotModified {
					t.Errorf("the same ETag is answered %d", r.status)
				}
			})
		}
	}
	for _, file := range []string{"144p-1.m4s", "144p-iframes-1.m4s", "audio-iframes.m3u8", "144p--1.m4s", "144p-00.m4s", "144p-x.m4s", "240p.m3u8", "999p-0.m4s", "audio.mp4",
		"144p-99999999999999999999.m4s", "master.m3u8%2F..%2F144p.m3u8", "..%2F..%2Fspool.db", "Master.m3u8", "144p.m3u8%00"} {
		s.get(beside(public.HLSURL, file)).problem(t, http.StatusNotFound, "not_found")
	}
	a := takeApart(t, private.HLSURL)
	for name, changed := range map[string]address{
		"the film":           {a.base, a.token, a.id, "144p.mp4"},
		"another video":      {a.base, a.token, public.ID, "master.m3u8"},
		"a changed token":    {a.base, a.token + "x", a.id, "144p-0.m4s"},
		"the film's token":   {a.base, takeApart(t, private.Resolutions["144p"].VideoURL).token, a.id, "144p-0.m4s"},
		"a name of no file":  {a.base, a.token, a.id, "144p-00.m4s"},
		"a file of another ": {a.base, a.token, public.ID, "144p-0.m4s"},
	} {
		r := s.get(changed.String())
		t.Run(name, func(t *testing.T) { r.problem(t, http.StatusForbidden, "url_invalid") })
	}
	s.get(a.base+"/"+a.id+"/master.m3u8").problem(t, http.StatusNotFound, "not_found")
	s.get(a.base+"/"+a.id+"/144p-0.m4s").problem(t, http.StatusNotFound, "not_found")
}
