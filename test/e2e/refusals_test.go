package e2e

import (
	"archive/zip"
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesThatAreNoVideoAreRefused uploads things that people upload by
// mistake, or not by mistake. Each is refused, and a video sent to the same
// address afterwards is taken.
func TestFilesThatAreNoVideoAreRefused(t *testing.T) {
	t.Parallel()
	s := shared(t)
	text := func(s string) func(*testing.T) []byte {
		return func(*testing.T) []byte { return []byte(s) }
	}
	tests := []struct {
		name string
		make func(*testing.T) []byte
		code string
	}{
		{"a text", text(strings.Repeat("It was a dark and stormy night. ", 400)), "not_a_video"},
		{"a web page", text("<!doctype html><html><body><video src=a.mp4></video></body></html>"), "not_a_video"},
		{"a playlist that names a file of the server", text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n"), "not_a_video"},
		{"a script for ffmpeg's concat demuxer", text("ffconcat version 1.0\nfile /etc/passwd\n"), "not_a_video"},
		{"a PNG", made("still.png", "-f lavfi -i testsrc2=size=64x64 -frames:v 1"), "not_a_video"},
		{"a JPEG", made("still.jpg", "-f lavfi -i testsrc2=size=64x64 -frames:v 1"), "not_a_video"},
		{"a GIF", made("still.gif", "-f lavfi -i testsrc2=size=64x64 -t 0.2"), "not_a_video"},
		{"a WAV", made("sound.wav", "-f lavfi -i sine -t 0.2"), "not_a_video"},
		{"an MP3", made("sound.mp3", "-f lavfi -i sine -t 0.2"), "not_a_video"},
		{"an M4A", made("sound.m4a", "-f lavfi -i sine -t 0.2"), "not_a_video"},
		{"a ZIP of a film", zipped, "not_a_video"},
		{"one byte", text("\x00"), "not_a_video"},
		{"nothing", text(""), "upload_empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name != "a text" && tt.name != "nothing" {
				usuallyOneBackend(t, "the first bytes of a text are read there, too")
			}
			s := s.in(t)
			u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
			s.putBody(u, bytes.NewReader(tt.make(t)))
			s.tryComplete(u.ID).problem(t, http.StatusUnprocessableEntity, tt.code)
			checkFailed(t, s.read(u), tt.code)
			checkSecondChance(t, s, u)
		})
	}
}

func TestCompletingTooEarlyCanBeMended(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	s.tryComplete(u.ID).problem(t, http.StatusUnprocessableEntity, "upload_missing")
	checkFailed(t, s.read(u), "upload_missing")
	checkSecondChance(t, s, u)
	if w := s.waitReady(u); w.Failure != nil || w.Resolutions["144p"].Failure != nil {
		t.Errorf("a ready video still tells of a failure: %+v", w)
	}
}

// TestFilesThatTurnOutToBeNoVideo uploads files whose beginning is that of a
// video: only looking at the whole tells that they are none.
func TestFilesThatTurnOutToBeNoVideo(t *testing.T) {
	usuallyOneBackend(t, "the engine decides it")
	t.Parallel()
	s := shared(t)
	tests := []struct {
		name string
		make func(*testing.T) []byte
		code string
	}{
		{"a film whose end is missing", func(t *testing.T) []byte { return half(t, clip(t, tinyClip)) }, "truncated"},
		{"a film that is only sound", made("sound.mp4", "-f lavfi -i sine -t 0.2 -c:a aac"), "no_video_stream"},
		{"the name of the format and then noise", func(t *testing.T) []byte {
			return append([]byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"), bytes.Repeat([]byte("\xa5\x5a\x3c"), 5000)...)
		}, "truncated"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := s.in(t)
			u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p", "360p"}, IsPublic: true, Thumbnails: []float64{0}})
			s.putBody(u, bytes.NewReader(tt.make(t)))
			s.complete(u.ID)
			w := s.waitFinished(u)
			checkFailed(t, w, tt.code)
			for _, r := range w.Resolutions {
				s.get(r.VideoURL).problem(t, http.StatusNotFound, "not_found")
			}
			s.putLate(u, http.StatusConflict, "upload_closed")
			if work := s.objects("work/" + u.ID); len(work) > 0 {
				t.Errorf("pieces were left behind: %q", work)
			}
		})
	}
}

// TestAVideoThatIsCutOffIsConvertedAsFarAsItGoes uploads a video whose index
// comes first and whose second half is missing.
func TestAVideoThatIsCutOffIsConvertedAsFarAsItGoes(t *testing.T) {
	oneBackend(t, "the engine decides")
	t.Parallel()
	s := shared(t)
	path := filepath.Join(t.TempDir(), "film.mp4")
	if err := runFFmpeg(append(strings.Fields("-f lavfi -i testsrc2=size=320x180:rate=25 -t 8 -g 25 -c:v libx264 -preset ultrafast -movflags +faststart"), path)...); err != nil {
		t.Fatal(err)
	}
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	s.putBody(u, bytes.NewReader(half(t, path)))
	s.complete(u.ID)
	w := s.waitReady(u)
	if len(w.Warnings) != 1 || w.Warnings[0].Code != "truncated" || !strings.Contains(w.Warnings[0].Message, "cut off after") {
		t.Fatalf("the warnings are %+v; want that the file is cut off", w.Warnings)
	}
	if n := len(times(t, s.download(w.Resolutions["144p"].VideoURL))); n < 50 || n > 150 {
		t.Errorf("the video has %d frames; want about half of 200", n)
	}
}

// TestDamagedAudioIsTold uploads a video of whose audio only the first half can be decoded.
func TestDamagedAudioIsTold(t *testing.T) {
	oneBackend(t, "the engine decides")
	t.Parallel()
	s := shared(t)
	path := filepath.Join(t.TempDir(), "film.mp4")
	if err := runFFmpeg("-i", clip(t, tinyClip), "-c", "copy", "-bsf:a", "noise=amount='if(gt(pts*tb,1),1,0)'", path); err != nil {
		t.Fatal(err)
	}
	w := s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, path)
	if len(w.Warnings) != 1 || w.Warnings[0].Code != "corrupt" || !strings.Contains(w.Warnings[0].Message, "of it could not be decoded and is silent") {
		t.Errorf("the warnings are %+v; want that a part of the audio is damaged", w.Warnings)
	}
}

// checkFailed wants a video and all its resolutions to have failed, with a
// sentence that gives nothing of the server away.
func checkFailed(t testing.TB, w watch, code string) {
	t.Helper()
	if w.Status != "fail" || w.Failure == nil || w.Failure.Code != code {
		t.Fatalf("the video is %s with %+v, want fail with %s", w.Status, w.Failure, code)
	}
	if m := w.Failure.Message; m == "" || len([]rune(m)) > 300 || strings.Contains(m, "/") {
		t.Errorf("the message is %q, want a short sentence without a path", m)
	}
	for name, r := range w.Resolutions {
		if r.Status != "fail" {
			t.Errorf("%s is %s, want fail", name, r.Status)
		}
	}
}

// checkSecondChance uploads a video to the address of a video that failed.
func checkSecondChance(t testing.TB, s *server, u upload) {
	t.Helper()
	s.put(u, clip(t, miniClip))
	if c := s.complete(u.ID); c.Resolutions["144p"].Status != "processing" {
		t.Errorf("the second complete answers %+v, want processing", c)
	}
	if w := s.read(u); w.Status == "fail" || w.Failure != nil {
		t.Errorf("after the second complete the video is %s with %+v", w.Status, w.Failure)
	}
}

// made returns a file that ffmpeg makes.
func made(name, args string) func(*testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := runFFmpeg(append(strings.Fields(args), path)...); err != nil {
			t.Fatal(err)
		}
		return content(t, path)
	}
}

func content(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// half returns the first half of a file; ffmpeg writes the index of an MP4 last.
func half(t testing.TB, path string) []byte {
	b := content(t, path)
	return b[:len(b)/2]
}

func zipped(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	f, err := z.Create("film.mp4")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content(t, clip(t, miniClip))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestRequestsThatCannotBeRead wants a plain 400 for what net/http refuses before a handler sees it, and the end of the
// connection.
func TestRequestsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := shared(t)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\n\r\n"); err != nil { // without a Host
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusBadRequest || !r.Close {
		t.Errorf("the answer is %d, and the connection ends: %t; want 400 and the end", r.StatusCode, r.Close)
	}
}
