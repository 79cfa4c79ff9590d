package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/client"
)

// tones builds a transcriber that hears tones, and returns its path.
func tones(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tones")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../tones").CombinedOutput(); err != nil {
		t.Fatalf("build tones: %v: %s", err, out)
	}
	return path
}

// melody makes a clip with three seconds of one tone, a second of silence, and two seconds of another tone.
func melody(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "melody.mp4")
	err := runFFmpeg("-f", "lavfi", "-i", "testsrc2=size=160x120:rate=10:duration=6",
		"-f", "lavfi", "-i", "aevalsrc='if(lt(t,3),0.5*sin(2*PI*440*t),if(lt(t,4),0,0.5*sin(2*PI*880*t)))':d=6:s=44100",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac", path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// waitTexts waits until a program has made, or could not make, a text, and returns the video.
func (s *server) waitTexts(id string) client.Video {
	s.t.Helper()
	var v client.Video
	s.until("the texts", readyTimeout, func() bool {
		v = decode[client.Video](s.t, s.call("GET", "/api/video/"+id, nil), http.StatusOK)
		for _, m := range append([]client.MadeText{*v.Transcription}, v.Translations...) {
			if m.Status == client.Processing {
				return false
			}
		}
		return true
	})
	return v
}

// TestTranscription goes from the sound of a file to captions, translations and a search.
func TestTranscription(t *testing.T) {
	t.Parallel()
	program := tones(t)
	s := start(t, withEnv("SPOOL_TRANSCRIBER", program+" transcribe {audio} {output}"), withEnv("SPOOL_TRANSLATOR", program+" translate {input} {output} {to}"))
	u := decode[upload](t, s.call("POST", "/api/video", `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true,"transcribe":true,"translate":["de"]}`), http.StatusCreated)
	s.put(u, melody(t))
	s.complete(u.ID)
	s.waitReady(u)
	v := s.waitTexts(u.ID)
	if v.Transcription.Status != client.Ready || v.Transcription.Language != "en" || len(v.Translations) != 1 || v.Translations[0].Status != client.Ready {
		t.Fatalf("the texts are %+v, %+v", v.Transcription, v.Translations)
	}
	if len(v.Captions) != 2 || v.Captions[0].Source != "speech" || v.Captions[1].Source != "translated" || v.Captions[1].Language != "de" {
		t.Fatalf("the captions are %+v", v.Captions)
	}
	text := string(s.get(v.Captions[0].URL).body)
	for _, want := range []string{"00:00:00.000 --> 00:00:01.000\ntone 440\n", "00:00:02.000 --> 00:00:03.000\ntone 440\n", "00:00:04.000 --> 00:00:05.000\ntone 880\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("what was heard has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "00:00:03.000 -->") {
		t.Errorf("in the silence something was heard:\n%s", text)
	}
	if found := s.said("880 in de"); len(found) != 1 || found[0].ID != u.ID || found[0].Matches[0].Start != 4 {
		t.Errorf("found are %+v", found)
	}

	decode[caption](t, s.putCaptions(u.ID, "en", "WEBVTT\n\n00:01.000 --> 00:02.000\nby hand\n"), http.StatusOK)
	if r := s.call("POST", "/api/video/"+u.ID+"/transcribe", `{"language":"en"}`); r.status != http.StatusAccepted {
		t.Fatalf("another transcription is answered %d %s", r.status, r.body)
	}
	if r := s.call("POST", "/api/video/"+u.ID+"/captions/en/translate", `{"to":["fr"]}`); r.status != http.StatusAccepted {
		t.Fatalf("another translation is answered %d %s", r.status, r.body)
	}
	v = s.waitTexts(u.ID)
	if v.Captions[0].Source == "speech" || len(v.Captions) != 3 {
		t.Errorf("captions of a client are replaced by %+v", v.Captions)
	}
	if found := s.said("by hand in fr"); len(found) != 1 {
		t.Errorf("in the translation of captions of a client, found are %+v", found)
	}
	s.call("POST", "/api/video/"+u.ID+"/captions/ja/translate", `{"to":["fr"]}`).problem(t, http.StatusNotFound, "captions_not_found")
	s.call("POST", "/api/video/"+u.ID+"/transcribe", `{"language":"klingonisch"}`).problem(t, http.StatusBadRequest, "invalid_request")

	silent := s.submit(newVideo{Filename: "b.mp4", Resolutions: []string{"144p"}, IsPublic: true}, captionedClip(t))
	s.waitReady(silent)
	s.call("POST", "/api/video/"+silent.ID+"/transcribe", nil)
	if v := s.waitTexts(silent.ID); v.Transcription.Status != client.Failed || v.Transcription.Failure.Code != "no_sound" || v.Status != client.Ready {
		t.Errorf("without sound the transcription is %+v of a video that is %s", v.Transcription, v.Status)
	}
}

// A program that fails never fails the video, and a server without a program says so.
func TestTranscriptionThatFails(t *testing.T) {
	t.Parallel()
	s := start(t, withEnv("SPOOL_TRANSCRIBER", tones(t)+" nonsense {output} {audio}"))
	s.call("POST", "/api/video", `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true,"transcribe":"xx-nothing","translate":["de"]}`).problem(t, http.StatusBadRequest, "invalid_request")
	u := decode[upload](t, s.call("POST", "/api/video", `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true,"transcribe":"en"}`), http.StatusCreated)
	s.put(u, melody(t))
	s.complete(u.ID)
	s.waitReady(u)
	if v := s.waitTexts(u.ID); v.Transcription.Status != client.Failed || v.Transcription.Failure.Code != "program_error" || v.Status != client.Ready || len(v.Captions) != 0 {
		t.Errorf("the transcription is %+v of a video that is %s", v.Transcription, v.Status)
	}
	s.call("POST", fmt.Sprintf("/api/video/%s/captions/en/translate", u.ID), `{"to":["fr"]}`).problem(t, http.StatusConflict, "no_translator")
	shared(t).call("POST", "/api/video", `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true,"transcribe":true}`).problem(t, http.StatusBadRequest, "invalid_request")
}

// A process that is killed while a program runs leaves nothing undone.
func TestTranscriptionAfterAKill(t *testing.T) {
	oneBackend(t, "the task is queued as all others are")
	t.Parallel()
	program := tones(t)
	s := start(t, withEnv("SPOOL_TRANSCRIBER", program+" wait {audio} {output}"))
	u := decode[upload](t, s.call("POST", "/api/video", `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true,"transcribe":"en"}`), http.StatusCreated)
	s.put(u, melody(t))
	s.complete(u.ID)
	s.waitReady(u)
	s.restart(withEnv("SPOOL_TRANSCRIBER", program+" transcribe {audio} {output}"))
	if v := s.waitTexts(u.ID); v.Transcription.Status != client.Ready || len(v.Captions) != 1 {
		t.Errorf("after the kill the transcription is %+v, the captions are %+v", v.Transcription, v.Captions)
	}
}
