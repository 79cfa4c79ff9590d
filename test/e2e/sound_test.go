package e2e

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// audioTrack is an entry of audioTracks in a read.
type audioTrack struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	Label    string `json:"label"`
	Kind     string `json:"kind"`
	Source   string `json:"source"`
	Default  bool   `json:"default"`
	Status   string `json:"status"`
	URL      string `json:"url"`
	Failure  *struct {
		Code, Message string
	} `json:"failure"`
}

func (a audioTrack) String() string {
	text := strings.Join([]string{a.Language, a.Label, a.Kind, a.Source, a.Status}, " ")
	if a.Default {
		text += " default"
	}
	return text
}

// sound is what a read tells of it.
type sound struct {
	AudioTracks []audioTrack `json:"audioTracks"`
	AudioURL    string       `json:"audioUrl"`
}

func (s *server) sound(u upload) sound {
	s.t.Helper()
	return decode[sound](s.t, s.tryRead(u), http.StatusOK)
}

// soundClip makes a clip of some seconds with several sound tracks: a tone of 440 Hz, one of 880 Hz that is the default and
// one of 1320 Hz that is shorter.
func soundClip(t testing.TB, seconds int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.mkv")
	args := []string{"-f", "lavfi", "-i", fmt.Sprintf("testsrc2=size=160x120:rate=10:duration=%d", seconds)}
	for i, length := range []int{seconds, seconds, seconds - 1} {
		args = append(args, "-f", "lavfi", "-i", fmt.Sprintf("sine=frequency=%d:duration=%d", 440*(i+1), length))
	}
	args = append(args, "-map", "0", "-map", "1", "-map", "2", "-map", "3", "-c:v", "libx264", "-preset", "ultrafast", "-g", "20", "-pix_fmt", "yuv420p", "-c:a", "aac",
		"-metadata:s:a:0", "language=ger", "-metadata:s:a:1", "language=eng", "-metadata:s:a:2", "language=eng", "-metadata:s:a:2", "title=The director speaks",
		"-disposition:a:0", "0", "-disposition:a:1", "default", "-disposition:a:2", "comment", path)
	if err := runFFmpeg(args...); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSoundTracks goes from the tracks of a file to what a viewer can hear.
func TestSoundTracks(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.submit(newVideo{Filename: "a.mkv", Resolutions: []string{"144p", "240p"}, IsPublic: true}, soundClip(t, 6))
	w := s.waitReady(u)
	all := s.sound(u)
	want := []string{"de Deutsch main embedded ready", "en English main embedded ready default", "en The director speaks commentary embedded ready"}
	if len(all.AudioTracks) != len(want) {
		t.Fatalf("the tracks are %v", all.AudioTracks)
	}
	for i, track := range all.AudioTracks {
		if track.String() != want[i] {
			t.Errorf("track %d is %q, want %q", i, track, want[i])
		}
		file := s.getReady(track.URL)
		if kind := file.header.Get("Content-Type"); kind != "audio/mp4" {
			t.Errorf("%s is %s", track.URL, kind)
		}
		if p := probe(t, track.URL); len(p.Streams) != 1 || math.Abs(number(t, p.Format.Duration)-6) > 0.03 {
			t.Errorf("track %d has %d streams and lasts %s s; want 6 s", i, len(p.Streams), p.Format.Duration)
		}
		if pitch := pitchOf(t, file.body); pitch != 440*(i+1) {
			t.Errorf("track %d has a tone of %d Hz", i, pitch)
		}
	}
	if all.AudioURL != all.AudioTracks[1].URL {
		t.Errorf("audioUrl is %s", all.AudioURL)
	}
	for name, r := range w.Resolutions {
		if pitch := pitchOf(t, s.getReady(r.VideoURL).body); pitch != 880 {
			t.Errorf("%s has a tone of %d Hz; want the default track", name, pitch)
		}
	}
	checkSoundStreams(t, s, w)
	s.deleteVideo(u.ID)
	for _, track := range all.AudioTracks {
		s.get(track.URL).problem(t, http.StatusNotFound, "not_found")
	}
}

// checkSoundStreams looks at the playlists of the clip.
func checkSoundStreams(t *testing.T, s *server, w watch) {
	t.Helper()
	master := string(s.getReady(w.HLSURL).body)
	media := regexp.MustCompile(`(?m)^#EXT-X-MEDIA:TYPE=AUDIO.*$`).FindAllString(master, -1)
	if len(media) != 3 {
		t.Fatalf("the playlist lists %d sound tracks:\n%s", len(media), master)
	}
	for i, want := range []string{
		`NAME="Deutsch",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES`, `NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES`,
		`NAME="The director speaks",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=NO`,
	} {
		if !strings.Contains(media[i], want) {
			t.Errorf("track %d is listed as %s, without %s", i, media[i], want)
		}
		list := regexp.MustCompile(`URI="([^"]*)"`).FindStringSubmatch(media[i])[1]
		address := w.HLSURL[:strings.LastIndexByte(w.HLSURL, '/')+1]
		text := string(s.getReady(address + list).body)
		var names []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				names = append(names, line)
			}
		}
		track := s.getReady(address + strings.TrimSuffix(list, ".m3u8") + "-init.mp4").body
		for _, name := range names {
			track = slices.Concat(track, s.getReady(address+name).body)
		}
		if pitch := pitchOf(t, track); len(names) < 2 || pitch != 440*(i+1) {
			t.Errorf("the %d segments of track %d have a tone of %d Hz", len(names), i, pitch)
		}
	}
	manifest := string(s.getReady(w.DASHURL).body)
	for _, want := range []string{`contentType="audio" mimeType="audio/mp4" lang="de"`, `value="commentary"`, `<Label>The director speaks</Label>`} {
		if !strings.Contains(manifest, want) {
			t.Errorf("the manifest is without %s:\n%s", want, manifest)
		}
	}
}

// TestASilentVideoHasNoSoundTracks and one with a single track has one.
func TestASilentVideoHasNoSoundTracks(t *testing.T) {
	usuallyOneBackend(t, "the tracks are part of the row of a video")
	t.Parallel()
	s := shared(t)
	silent := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, clip(t, silentClip))
	s.waitReady(silent)
	if got := s.sound(silent); got.AudioTracks == nil || len(got.AudioTracks) > 0 || got.AudioURL != "" {
		t.Errorf("a silent video has %+v", got)
	}
}

// pitchOf returns the frequency of the tone that is the sound of a file: by how often it crosses zero.
func pitchOf(t testing.TB, file []byte) int {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.mp4")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	const rate = 48_000
	raw, err := output("ffmpeg", "-v", "error", "-i", path, "-ss", "0.25", "-t", "0.5", "-vn", "-ac", "1", "-ar", strconv.Itoa(rate), "-f", "s16le", "-")
	if err != nil {
		t.Fatal(err)
	}
	crossings := 0
	for i := 3; i < len(raw); i += 2 {
		if int8(raw[i-2]) < 0 && int8(raw[i]) >= 0 {
			crossings++
		}
	}
	return (2*crossings + 10) / 20 * 20 // a tone may begin and end in the middle of a wave
}

// dub makes a file with a tone of 1760 Hz.
func dub(t testing.TB, seconds int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dub.flac")
	if err := runFFmpeg("-f", "lavfi", "-i", fmt.Sprintf("sine=frequency=1760:duration=%d", seconds), path); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func (s *server) postTrack(u upload, query string, file []byte) reply {
	s.t.Helper()
	return s.send("POST", s.url+"/api/video/"+u.ID+"/audio?"+query, bytes.NewReader(file), header{"X-API-KEY", s.key}, header{"Content-Type", "audio/flac"})
}

func (s *server) addTrack(u upload, language string) audioTrack {
	s.t.Helper()
	return decode[audioTrack](s.t, s.postTrack(u, "language="+language, dub(s.t, 4)), http.StatusCreated)
}

// dyingTrack sends a track on which the server dies.
func dyingTrack(s *server, u upload) {
	s.t.Helper()
	_, err := s.trySend("POST", s.url+"/api/video/"+u.ID+"/audio?language=fr", bytes.NewReader(dub(s.t, 4)), header{"X-API-KEY", s.key}, header{"Content-Type", "audio/flac"})
	if err == nil {
		s.t.Error("the server lives")
	}
}

// waitTrack waits until a track is made, or has failed.
func (s *server) waitTrack(u upload, id string) audioTrack {
	s.t.Helper()
	var found audioTrack
	s.until("the sound track to be made", readyTimeout, func() bool {
		for _, t := range s.sound(u).AudioTracks {
			if t.ID == id {
				found = t
			}
		}
		return found.Status == "ready" || found.Status == "fail"
	})
	return found
}

// wantDub waits until a video that was silent has a dub, also in its MP4 files.
func (s *server) wantDub(u upload) {
	s.t.Helper()
	var last audioTrack
	s.until("the dub", readyTimeout, func() bool {
		all := s.sound(u).AudioTracks
		if len(all) > 0 {
			last = all[len(all)-1]
		}
		return last.Status == "ready"
	})
	if !last.Default || last.Language != "fr" {
		s.t.Errorf("the dub is %v", last)
	}
	s.until("the MP4 files to have the sound", readyTimeout, func() bool {
		for _, r := range s.read(u).Resolutions {
			if len(probe(s.t, r.VideoURL).of("audio")) != 1 {
				return false
			}
		}
		return true
	})
	s.until("nothing to be left to do", tidyTimeout, s.idle)
}

// TestUploadedSoundTracks adds tracks to a video, makes one the default, and deletes others.
func TestUploadedSoundTracks(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "a.mkv", Resolutions: []string{"144p"}, IsPublic: true})
	s.postTrack(u, "language=fr", dub(t, 1)).problem(t, http.StatusConflict, "not_inspected")
	s.put(u, soundClip(t, 6))
	s.complete(u.ID)
	w := s.waitReady(u)
	s.postTrack(u, "language=english&kind=song", dub(t, 1)).problem(t, http.StatusBadRequest, "invalid_request")
	made := s.addTrack(u, "fra")
	if made.String() != "fr français dub uploaded processing" {
		t.Errorf("the track is %q", made)
	}
	short := s.waitTrack(u, made.ID)
	if p := probe(t, short.URL); short.Status != "ready" || math.Abs(number(t, p.Format.Duration)-6) > 0.03 {
		t.Errorf("the track is %v and lasts %s s", short, p.Format.Duration)
	}
	broken := decode[audioTrack](t, s.postTrack(u, "language=es", []byte("no sound")), http.StatusCreated)
	if broken = s.waitTrack(u, broken.ID); broken.Status != "fail" || broken.Failure == nil || broken.Failure.Message == "" {
		t.Errorf("a file without sound ends as %v", broken)
	}
	same := decode[audioTrack](t, s.postTrack(u, "language=fr&kind=description&label=Deutsch", dub(t, 9)), http.StatusCreated)
	if same.Label != "Deutsch 2" || same.Kind != "description" {
		t.Errorf("a track with a label that there is is %v", same)
	}
	one := func(id string) string { return "/api/video/" + u.ID + "/audio/" + id }
	first := s.sound(u).AudioTracks[1]
	s.call("DELETE", one(first.ID), nil).problem(t, http.StatusConflict, "default_track")
	s.call("PATCH", one(broken.ID), map[string]any{"default": true}).problem(t, http.StatusConflict, "track_not_ready")
	s.call("PATCH", one(first.ID), map[string]any{"title": "x"}).problem(t, http.StatusBadRequest, "invalid_request")
	s.call("PATCH", one(u.ID), map[string]any{"label": "x"}).problem(t, http.StatusNotFound, "track_not_found")

	film := w.Resolutions["144p"].VideoURL
	segment := w.HLSURL[:strings.LastIndexByte(w.HLSURL, '/')+1] + "144p-0.m4s"
	sound, frames := s.getReady(segmentOfSound(segment)).body, s.getReady(segment).body
	changed := decode[audioTrack](t, s.call("PATCH", one(short.ID), map[string]any{"default": true, "label": "Français"}), http.StatusOK)
	if !changed.Default || changed.Label != "Français" || s.sound(u).AudioURL != short.URL {
		t.Errorf("the new default is %v", changed)
	}
	s.until("the MP4 file to hold the new default", readyTimeout, func() bool { return pitchOf(t, s.getReady(film).body) == 1760 })
	if !bytes.Equal(s.getReady(segment).body, frames) || !bytes.Equal(s.getReady(segmentOfSound(segment)).body, sound) {
		t.Error("segments have changed under their addresses")
	}
	for _, id := range []string{first.ID, broken.ID} {
		if r := s.call("DELETE", one(id), nil); r.status != http.StatusOK {
			t.Errorf("a deletion is answered %d %s", r.status, r.body)
		}
	}
	s.get(first.URL).problem(t, http.StatusNotFound, "not_found")
	if all := s.sound(u).AudioTracks; len(all) != 4 {
		t.Errorf("the tracks are %v", all)
	}
}

// segmentOfSound returns the address of the segment of the first sound track at the place of one of frames.
func segmentOfSound(segment string) string { return strings.Replace(segment, "144p", "audio", 1) }

// TestASilentVideoGetsSound has the first track of a silent video become its default.
func TestASilentVideoGetsSound(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, silentClip))
	s.waitReady(u)
	s.addTrack(u, "fr")
	s.wantDub(u)
}
