package e2e

import (
	"bytes"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// loudness is what a report tells of a sound track.
type loudness struct {
	Integrated, Range, TruePeak *float64
	Gain                        float64
}

// loudnessReport is the part of a report about the sound.
type loudnessReport struct {
	Loudness    *loudness
	AudioTracks []struct {
		ID       string
		Default  bool
		Loudness *loudness
	}
}

func (s *server) loudness(id string) loudnessReport {
	s.t.Helper()
	return decode[loudnessReport](s.t, s.call("GET", "/api/video/"+id+"/report", nil), http.StatusOK)
}

// unequalClip makes a clip of two sound tracks: a quiet tone, and a louder one behind much louder seconds.
func unequalClip(t testing.TB, quiet string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "unequal.mkv")
	err := runFFmpeg("-f", "lavfi", "-i", "testsrc2=size=160x120:rate=10:duration=8",
		"-f", "lavfi", "-i", "aevalsrc='"+quiet+"*sin(2764*t)':s=48000:d=8", "-f", "lavfi", "-i", "aevalsrc='if(lt(t,2),1,0.3)*sin(5529*t)':s=48000:d=8",
		"-map", "0", "-map", "1", "-map", "2", "-c:v", "libx264", "-preset", "ultrafast", "-g", "20", "-pix_fmt", "yuv420p", "-c:a", "flac", path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// r128 measures a sound with a run of ffmpeg that has nothing to do with the server: LUFS and dBTP.
func r128(t testing.TB, address string) (integrated, peak float64) {
	t.Helper()
	_, said, err := run("ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-i", address, "-map", "0:a:0", "-af", "ebur128=peak=true", "-f", "null", "-")
	found := regexp.MustCompile(`(?s)Summary:.*I:\s+(\S+) LUFS.*Peak:\s+(\S+) dBFS`).FindStringSubmatch(said)
	if err != nil || found == nil {
		t.Fatalf("ffmpeg measures nothing in %s: %v\n%s", address, err, said)
	}
	return number(t, found[1]), number(t, found[2])
}

// wantLoudness measures a file, in bytes.
func wantLoudness(t testing.TB, what string, file []byte, want float64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.mp4")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, peak := r128(t, path); !near(got, want, 0.5) || peak > -1 {
		t.Errorf("%s has %g LUFS and a true peak of %g dBTP; want %g LUFS", what, got, peak, want)
	}
}

// wantEqual wants all sound of a video to have -16 LUFS, and the report to tell how that came.
func (s *server) wantEqual(u upload) loudnessReport {
	s.t.Helper()
	w := s.read(u)
	for name, r := range w.Resolutions {
		wantLoudness(s.t, name, s.getReady(r.VideoURL).body, -16)
	}
	master := string(s.getReady(w.HLSURL).body)
	for i, track := range s.sound(u).AudioTracks {
		wantLoudness(s.t, track.Label, s.getReady(track.URL).body, -16)
		lists := regexp.MustCompile(`TYPE=AUDIO.*URI="([^"]*)"`).FindAllStringSubmatch(master, -1)
		wantLoudness(s.t, track.Label+" in HLS", s.segmentsIn(beside(w.HLSURL, lists[i][1])), -16)
	}
	report := s.loudness(u.ID)
	for _, track := range report.AudioTracks {
		l := track.Loudness
		if l == nil || l.Integrated == nil || l.Range == nil || l.TruePeak == nil || !near(*l.Integrated+l.Gain, -16, 0.02) {
			s.t.Fatalf("the report says %+v of track %s", l, track.ID)
		}
		if track.Default && (report.Loudness == nil || report.Loudness.Gain != l.Gain) {
			s.t.Errorf("the report says %+v of the video; its default track has %+v", report.Loudness, l)
		}
	}
	return report
}

// segmentsIn returns the segments of a playlist behind each other.
func (s *server) segmentsIn(list string) []byte {
	s.t.Helper()
	all := bytes.Clone(s.getReady(strings.TrimSuffix(list, ".m3u8") + "-init.mp4").body)
	for line := range strings.Lines(string(s.getReady(list).body)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, s.getReady(beside(list, line)).body...)
		}
	}
	return all
}

// TestAllSoundOfAVideoIsEquallyLoud goes from the tracks of a part of a file to one that is added, another default and
// another file.
func TestAllSoundOfAVideoIsEquallyLoud(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.submit(newVideo{Filename: "a.mkv", Resolutions: []string{"144p"}, IsPublic: true, Loudness: "normalize", Trim: &trim{StartSeconds: 3}}, unequalClip(t, "0.01"))
	s.waitReady(u)
	report := s.wantEqual(u)
	if first, second := report.AudioTracks[0].Loudness, report.AudioTracks[1].Loudness; !near(*first.Integrated, -40, 1.5) || !near(*second.Integrated, -10.5, 1.5) {
		t.Errorf("the tracks had %g and %g LUFS; the loud beginning is not made", *first.Integrated, *second.Integrated)
	}

	added := s.waitTrack(u, s.addTrack(u, "fr").ID)
	s.wantEqual(u)
	decode[audioTrack](t, s.call("PATCH", "/api/video/"+u.ID+"/audio/"+added.ID, map[string]any{"default": true}), http.StatusOK)
	s.until("the MP4 file with the other track", readyTimeout, func() bool {
		return pitchOf(t, s.getReady(s.read(u).Resolutions["144p"].VideoURL).body) != 440
	})
	s.wantEqual(u)

	s.replaced(s.read(u), unequalClip(t, "0.1"))
	s.waitTrack(u, added.ID)
	if report := s.wantEqual(u); !near(*report.AudioTracks[0].Loudness.Integrated, -20, 1.5) {
		t.Errorf("the first track of the new file had %g LUFS", *report.AudioTracks[0].Loudness.Integrated)
	}
}

// TestLoudnessIsKeptAndTold has the report tell how loud a video is that stays as it is, and nothing of silence.
func TestLoudnessIsKeptAndTold(t *testing.T) {
	t.Parallel()
	s := shared(t)
	source := unequalClip(t, "0.01")
	u := s.submit(newVideo{Filename: "a.mkv", Resolutions: []string{"144p"}, IsPublic: true}, source)
	silence := s.submit(newVideo{Filename: "b.mkv", Resolutions: []string{"144p"}, IsPublic: true, Loudness: "normalize"}, unequalClip(t, "0"))
	s.waitReady(u)
	report := s.loudness(u.ID)
	want, peak := r128(t, source)
	if l := report.Loudness; l == nil || l.Gain != 0 || math.Abs(*l.Integrated-want-3) > 0.3 || math.Abs(*l.TruePeak-peak) > 0.3 { // a single channel is played on both sides
		t.Errorf("the report says %+v; want %g LUFS and %g dBTP", l, want+3, peak)
	}
	wantLoudness(t, "the file", s.getReady(s.read(u).Resolutions["144p"].VideoURL).body, want+3)

	s.waitReady(silence)
	if l := s.loudness(silence.ID).Loudness; l == nil || l.Integrated != nil || l.Range != nil || l.TruePeak != nil || l.Gain != 0 {
		t.Errorf("the report says %+v of silence", l)
	}
	r := s.call("POST", "/api/video", newVideo{Filename: "a.mkv", Resolutions: []string{"144p"}, Loudness: "loud"})
	if r.status != http.StatusBadRequest || !bytes.Contains(r.body, []byte(`"field":"loudness"`)) {
		t.Errorf("an unknown choice: %d %s", r.status, r.body)
	}
}

// TestASoundFileAndALongFilmAreEquallyLoud has a file without pictures, and one whose sound is made in pieces.
func TestASoundFileAndALongFilmAreEquallyLoud(t *testing.T) {
	usuallyOneBackend(t, "TestAllSoundOfAVideoIsEquallyLoud looks at the back ends")
	t.Parallel()
	s := shared(t)
	song := s.submit(newVideo{Filename: "song.mp3", Resolutions: []string{"144p"}, IsPublic: true, AcceptAudio: true, Loudness: "normalize"}, clip(t, songClip))
	film := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true, Loudness: "normalize"}, clip(t, earlyClip))
	for _, u := range []upload{song, film} {
		s.waitReady(u)
		s.wantEqual(u)
	}
}
