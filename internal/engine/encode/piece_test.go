package encode

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// TestPiecesOfTheAudioAreTheAudio encodes audio that has to be resampled as a whole and in pieces, and
// wants the same packets: then nobody hears where the pieces are joined.
func TestPiecesOfTheAudioAreTheAudio(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	source := enginetest.Clip(t, "a.mov", "testsrc2=s=160x90:r=5:d=9", "-f", "lavfi", "-i",
		"aevalsrc='sin(2000*t*t)+0.2*random(0)|sin(900*t)':s=44100:d=9", "-map", "0:v", "-map", "2:a", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "pcm_s16le")
	job := enginetest.NewJob(t, source)
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := tools.EncodeAudio(t.Context(), job, p, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := packetHashes(t, whole.Path)
	p.Early = &video.Early{Pieces: []int64{100, 240, 1000}}
	var got []string
	for n := range 3 {
		job := enginetest.NewJob(t, source)
		out, err := tools.EncodeAudio(t.Context(), job, p, n, nil)
		if err != nil {
			t.Fatalf("piece %d of %d packets: %v", n, len(want), err)
		}
		hashes := packetHashes(t, out.Path)
		if len(hashes) != out.Frames {
			t.Errorf("piece %d has %d packets, it is said to have %d", n, len(hashes), out.Frames)
		}
		got = append(got, hashes...)
	}
	if len(want) < 400 || !slices.Equal(got, want) {
		t.Errorf("the pieces have %d packets, the audio has %d, or others", len(got), len(want))
	}
	if _, err := tools.EncodeAudio(t.Context(), enginetest.NewJob(t, source), p, 3, nil); !errors.Is(err, ErrNoAudio) {
		t.Errorf("a piece behind the end: %v", err)
	}
	if p.Duration < 8*time.Second {
		t.Errorf("the source lasts %v", p.Duration)
	}
}

// packetHashes returns a hash of each packet of a file.
func packetHashes(t *testing.T, path string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-show_data_hash", "md5", "-show_entries", "packet=data_hash", "-of", "csv=p=0", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`MD5:\w+`).FindAllString(string(out), -1)
}
