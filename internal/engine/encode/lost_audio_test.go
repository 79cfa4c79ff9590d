package encode

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// damageAudio overwrites the packets of audio that an MP4 has between two times.
func damageAudio(t *testing.T, path string, from, to float64) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "packet=pts_time,size,pos", "-of", "csv=p=0", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		if len(fields) < 3 { // of side data
			continue
		}
		var values []float64
		for _, field := range fields[:3] {
			n, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatalf("ffprobe says %q", line)
			}
			values = append(values, n)
		}
		if values[0] < from || values[0] >= to {
			continue
		}
		damaged++
		for i, at := 0, int(values[2]); i < int(values[1]); i++ {
			content[at+i] = byte((i + 1) * 151 >> 1)
		}
	}
	if damaged == 0 {
		t.Fatal("there is no audio to damage")
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPartOfTheAudioIsDamaged makes sure that people are told about audio that cannot be decoded, and not about audio
// that is not there.
func TestPartOfTheAudioIsDamaged(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	const picture, sound = "testsrc2=s=64x64:r=5:d=4", "sine=d=4"
	tests := []struct {
		name     string
		args     []string
		from, to float64 // what is damaged; 0: nothing is
		lost     float64 // seconds
	}{
		{"nothing", nil, 0, 0, 0},
		{"from the middle on", nil, 2, 9, 2},
		{"in the middle", nil, 1, 2, 1},
		{"a few packets, which nobody hears", nil, 1, 1.1, 0},
		{"nothing, the sound is shorter than the picture", []string{"-af", "atrim=end=1"}, 0, 0, 0},
		{"nothing, the sound begins late and has a gap", []string{"-af", "aselect='between(t,1,2)+gte(t,3)'"}, 0, 0, 0},
	}
	var clips outputs
	for _, tt := range tests {
		clips.add(tt.name, "a.mp4", append([]string{"-preset", "ultrafast"}, tt.args...)...)
	}
	paths := enginetest.Outputs(t, []string{"-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound}, clips.all...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := clips.of(t, paths, tt.name)
			if tt.to > 0 {
				damageAudio(t, path, tt.from, tt.to)
			}
			job := enginetest.NewJob(t, path)
			p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
			if err != nil {
				t.Fatal(err)
			}
			out, err := tools.EncodeAudio(t.Context(), job, p, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.Audio.Lost = out.Lost
			w := p.Verdict(nil, true)
			if got := out.Lost.Seconds(); len(w) == 0 && tt.lost > 0 || len(w) > 0 && tt.lost == 0 || got < 0.8*tt.lost || got > tt.lost+0.2 {
				t.Errorf("%.2f s are lost, with the warnings %v; want %.1f s", got, w, tt.lost)
			}
		})
	}
}

// TestPiecesOfDamagedAudio makes sure that a piece which is silent because nothing could be decoded tells what was lost
// before it.
func TestPiecesOfDamagedAudio(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	path := filepath.Join(t.TempDir(), "a.mp4")
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x64:r=5:d=80", "-f", "lavfi", "-i", "anullsrc,atrim=end=80",
		"-preset", "ultrafast", "-g", "25", path)
	damageAudio(t, path, 5, 99)
	job := enginetest.NewJob(t, path)
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Early == nil || p.AudioPieces() < 2 {
		t.Fatalf("the audio has %d pieces", p.AudioPieces())
	}
	last := p.AudioPieces() - 1
	out, err := tools.EncodeAudio(t.Context(), job, p, last, nil)
	if err != nil || out.Frames == 0 || out.Lost < 60*time.Second {
		t.Errorf("piece %d: %v of the audio are lost, with %d packets, %v; want nearly all, and silence", last, out.Lost, out.Frames, err)
	}
}

// TestPausesOfASpeakerAreNotLost has AMR as phones write it: packets that stand for silence have no sound, and ffmpeg
// calls them errors.
func TestPausesOfASpeakerAreNotLost(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	dir := t.TempDir()
	speech, pause, comfort := "\x04"+strings.Repeat("\x5a", 12), "\x7c", "\x44"+strings.Repeat("\x5a", 5)
	amr := filepath.Join(dir, "a.amr")
	if err := os.WriteFile(amr, []byte("#!AMR\n"+strings.Repeat(speech, 50)+strings.Repeat(comfort+strings.Repeat(pause, 7), 12)+strings.Repeat(speech, 50)), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.3gp")
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x64:r=5:d=3.9", "-i", amr, "-c:a", "copy", "-c:v", "libx264", "-preset", "ultrafast", path)
	job := enginetest.NewJob(t, path)
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Audio == nil || p.Audio.Packet == 0 {
		t.Fatalf("the audio is %+v", p.Audio)
	}
	out, err := tools.EncodeAudio(t.Context(), job, p, 0, nil)
	if err != nil || out.Lost != 0 {
		t.Errorf("%v of %s are lost, %v; want nothing", out.Lost, p.Audio.Codec, err)
	}
}
