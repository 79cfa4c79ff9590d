package stream

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/mp4"
)

// makeRendition has ffmpeg make a rendition of some seconds, with its tables first.
func makeRendition(t testing.TB, size string, seconds float64, options ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rendition.mp4")
	args := slices.Concat([]string{"-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", fmt.Sprintf("testsrc2=s=%s:r=25:d=%g", size, seconds)}, options,
		[]string{"-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "50", "-sc_threshold", "0", "-pix_fmt", "yuv420p", "-movflags", "+faststart", path})
	if out, err := exec.CommandContext(t.Context(), "ffmpeg", args...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, out)
	}
	return path
}

func withSound(seconds float64) []string {
	return []string{"-f", "lavfi", "-i", fmt.Sprintf("sine=r=48000:d=%g", seconds), "-c:a", "aac", "-ac", "2"}
}

func readIndex(t testing.TB, path string) *mp4.Index {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	x, err := mp4.ReadIndex(mp4.Input{ReaderAt: f, Size: info.Size()})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestMediaPlaylist(t *testing.T) {
	t.Parallel()
	x := readIndex(t, makeRendition(t, "64x36", 9.12, withSound(8)...))
	want := `#EXTM3U
#EXT-X-VERSION:7
#EXT-X-TARGETDURATION:6
#EXT-X-PLAYLIST-TYPE:VOD
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MAP:URI="720p-init.mp4"
#EXTINF:4.000000,
720p-0.m4s
#EXTINF:4.000000,
720p-1.m4s
#EXTINF:1.120000,
720p-2.m4s
#EXT-X-ENDLIST
`
	if got := string(TrackOf("720p", x.Video).Playlist(6, Fixed).Encode()); got != want {
		t.Errorf("the playlist of the frames is\n%s", got)
	}
	sound := string(TrackOf(AudioTrack, x.Audio).Playlist(6, Fixed).Encode())
	if !strings.Contains(sound, "URI=\"audio-init.mp4\"") || !strings.Contains(sound, "audio-1.m4s\n") {
		t.Errorf("the playlist of the audio is\n%s", sound)
	}
	var sum float64
	for _, m := range regexp.MustCompile(`#EXTINF:([0-9.]+),`).FindAllStringSubmatch(sound, -1) {
		seconds, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += seconds
	}
	if sum < 7.999 || sum > 8.022 {
		t.Errorf("the audio lasts %f s, want 8", sum)
	}
}

var variantLine = regexp.MustCompile(`#EXT-X-STREAM-INF:BANDWIDTH=(\d+),AVERAGE-BANDWIDTH=(\d+),CODECS="(.*)",RESOLUTION=(\d+x\d+),FRAME-RATE=([0-9.]+)(.*),CLOSED-CAPTIONS=NONE\n(.*)\n`)

func TestMasterPlaylist(t *testing.T) {
	t.Parallel()
	small := readIndex(t, makeRendition(t, "64x36", 9, withSound(9)...))
	large := readIndex(t, makeRendition(t, "256x144", 9, withSound(9)...))
	silent := readIndex(t, makeRendition(t, "64x36", 0.04))
	tests := []struct {
		name  string
		films []Rendition
		want  []string // codecs, size, rate, the rest and the file, of each
	}{
		{"two sizes, one of them twice", []Rendition{{"144p", small}, {"720p", large}, {"4k", large}}, []string{
			`avc1.4d400c,mp4a.40.2 256x144 25.000 ,AUDIO="audio" 720p.m3u8`, `avc1.4d400a,mp4a.40.2 64x36 25.000 ,AUDIO="audio" 144p.m3u8`}},
		{"a single silent frame", []Rendition{{"8k", silent}}, []string{"avc1.4d400a 64x36 25.000  8k.m3u8"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := string(MasterPlaylist(Present(tt.films)))
			if !strings.HasPrefix(text, "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n") {
				t.Errorf("the playlist begins with %.60q", text)
			}
			if strings.Contains(text, `CHANNELS="2",URI="audio.m3u8"`) != (tt.films[0].Index.Audio != nil) {
				t.Errorf("the audio is not told as it is:\n%s", text)
			}
			var got []string
			for _, m := range variantLine.FindAllStringSubmatch(text, -1) {
				got = append(got, strings.Join(m[3:], " "))
				checkBandwidth(t, tt.films, m)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the variants are %q, want %q", got, tt.want)
			}
		})
	}
}

// checkBandwidth holds what a variant says it needs against its segments.
func checkBandwidth(t *testing.T, films []Rendition, m []string) {
	t.Helper()
	f := films[slices.IndexFunc(films, func(f Rendition) bool { return f.Name+".m3u8" == m[7] })]
	var peak, average float64
	for _, s := range []*mp4.Segments{f.Index.Video, f.Index.Audio} {
		if s == nil {
			continue
		}
		var highest, size, ticks float64
		for _, g := range s.List() {
			highest = max(highest, float64(g.Size*8*s.Timescale)/float64(g.End-g.Start))
			size, ticks = size+float64(g.Size), ticks+float64(g.End-g.Start)
		}
		peak, average = peak+highest, average+size*8*float64(s.Timescale)/ticks
	}
	told := func(i int) float64 {
		n, err := strconv.ParseFloat(m[i], 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if p, a := told(1), told(2); p < peak || p > peak+3 || a < average || a > average+3 {
		t.Errorf("%s says that it needs %.0f, %.0f on average; it is %.1f and %.1f", m[7], p, a, peak, average)
	}
}

// TestAPlaylistThatGrewStaysAnEvent compares a playlist as it grows with what it is in the end.
func TestAPlaylistThatGrewStaysAnEvent(t *testing.T) {
	t.Parallel()
	p := MediaPlaylist{Target: 6, Init: "a-init.mp4", Entries: []Entry{{"a-0.m4s", 4e6}}, Growth: GrowthOf(4*time.Second, true)}
	early := string(p.Encode())
	p.Entries, p.Growth = append(p.Entries, Entry{"a-1.m4s", 4e6}), GrowthOf(time.Minute, false)
	if late := string(p.Encode()); !strings.HasPrefix(late, early) || !strings.HasSuffix(late, "#EXT-X-ENDLIST\n") {
		t.Errorf("the playlist was\n%s\nand is\n%s", early, late)
	}
	if g := GrowthOf(30*time.Second, false); g != Fixed {
		t.Errorf("the growth of a short video is %d", g)
	}
}
