package encode

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// TestAudioAndPosterInOneRun compares what one run makes of a clip with what two make of it.
func TestAudioAndPosterInOneRun(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	whole := beepVideo(t, "whole.mp4", "-g", "50")
	tests := []struct {
		name   string
		source func(*testing.T) string
	}{
		{"an edit list, and audio with priming", func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "cut.mp4")
			enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-ss", "0.4", "-i", whole, "-c", "copy", path)
			return path
		}},
		{"a transport stream with keyframes to seek to", func(t *testing.T) string { return beepVideo(t, "a.ts", "-g", "10") }},
		{"Matroska with mono audio of another rate", func(t *testing.T) string { return beepVideo(t, "a.mkv", "-ac", "1", "-ar", "22050", "-g", "10") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := tt.source(t)
			job, apart := enginetest.NewJob(t, source), enginetest.NewJob(t, source)
			p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
			if err != nil {
				t.Fatal(err)
			}
			last := 0.0
			audio, poster, err := tools.AudioAndPoster(t.Context(), job, p, func(done float64) { last = done })
			if err != nil || audio.Frames == 0 || poster == "" || last != 1 {
				t.Fatalf("AudioAndPoster = %+v, %q, %v, and the progress is %v", audio, poster, err, last)
			}
			audioApart, err := tools.EncodeAudio(t.Context(), apart, p, nil)
			if err != nil || audio.Frames != audioApart.Frames {
				t.Fatalf("EncodeAudio = %+v, %v; want %d packets", audioApart, err, audio.Frames)
			}
			posterApart, err := tools.Poster(t.Context(), apart, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			sameFile(t, audio.Path, audioApart.Path)
			sameFile(t, poster, posterApart)
		})
	}
}

// TestAPosterCostsFewFrames has ffmpeg tell how much of a clip it decoded for the poster. The video ends long after it.
func TestAPosterCostsFewFrames(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	job := enginetest.NewJob(t, beepVideo(t, "a.mp4", "-g", "1000"))
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	still := posterStills(p, p.Poster.Frames[0])
	cmd := exec.CommandContext(t.Context(), "ffmpeg", append(bothArgs(job, p, still, plan.Batches(still)[0], 1), "-v", "verbose")...)
	cmd.Dir = job.OutDir
	told, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, told)
	}
	m := regexp.MustCompile(`Input stream #1:0 \(video\): .* (\d+) frames decoded`).FindSubmatch(told)
	if m == nil {
		t.Fatalf("ffmpeg does not tell how many frames it decoded: %s", told)
	}
	if decoded, _ := strconv.Atoi(string(m[1])); decoded == 0 || decoded > p.Frames/2 {
		t.Errorf("%d of %d frames were decoded for the poster; want those until it", decoded, p.Frames)
	}
}

// sameFile wants two files to be the same to the byte.
func sameFile(t *testing.T, got, want string) {
	t.Helper()
	a, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("%s has %d bytes; made apart, it has %d, or others", filepath.Base(got), len(a), len(b))
	}
}

func TestNeitherAudioNorPosterOfADamagedClip(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	path := filepath.Join(t.TempDir(), "a.mkv")
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-i", beepVideo(t, "whole.mkv", "-c:a", "flac"), "-c", "copy", "-bsf:a", "noise=amount=1", path)
	job := enginetest.NewJob(t, path)
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil || p.Audio == nil {
		t.Fatalf("the plan is %+v, %v; want one with audio", p, err)
	}
	if audio, poster, err := tools.AudioAndPoster(t.Context(), job, p, nil); err == nil {
		t.Errorf("AudioAndPoster = %+v, %q; want an error, because the audio cannot be decoded", audio, poster)
	}
}
