package media

import (
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// TestMain lets the children of these tests into the sandbox.
func TestMain(m *testing.M) {
	sandbox.EnterIfAsked()
	os.Exit(m.Run())
}

func newTools(t testing.TB) *Tools {
	t.Helper()
	box, err := sandbox.Open(sandbox.On, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := New(t.Context(), Config{Threads: 1, Sandbox: box})
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// newJob gives a film a task folder. The film is linked under a name that says
// nothing, as a worker does it.
func newJob(t testing.TB, source string) Job {
	t.Helper()
	dir := t.TempDir()
	job := Job{Source: filepath.Join(dir, "source"), OutDir: filepath.Join(dir, "out")}
	if err := os.Symlink(source, job.Source); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(job.OutDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return job
}

// clip makes a short film with ffmpeg. args follow the inputs: a test picture
// and a tone.
func clip(t testing.TB, name, picture string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	all := []string{"-v", "error", "-nostdin", "-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", "sine=r=44100:d=2"}
	i := slices.Index(args, turn)
	if i < 0 {
		ffmpeg(t, append(append(all, args...), path)...)
		return path
	}
	ffmpeg(t, append(append(all, args[:i]...), path)...)
	turned := filepath.Join(t.TempDir(), name)
	// ffmpeg 5.1 writes a display matrix only when it copies.
	ffmpeg(t, "-v", "error", "-nostdin", "-i", path, "-c", "copy", "-metadata:s:v", "rotate="+args[i+1], turned)
	return turned
}

func ffmpeg(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ffmpeg", args...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg %q: %v\n%s", args, err, out)
	}
}

// look is what ffprobe sees in a file that we made.
type look struct {
	Streams []struct {
		Codec       string `json:"codec_name"`
		Profile     string `json:"profile"`
		Width       int    `json:"width"`
		Height      int    `json:"height"`
		PixelFormat string `json:"pix_fmt"`
		Aspect      string `json:"sample_aspect_ratio"`
		Range       string `json:"color_range"`
		Matrix      string `json:"color_space"`
		Channels    int    `json:"channels"`
		SampleRate  string `json:"sample_rate"`
		Start       string `json:"start_time"`
		Duration    string `json:"duration"`
		FieldOrder  string `json:"field_order"`
		SideData    []any  `json:"side_data_list"`
	} `json:"streams"`
	Packets []struct {
		Time  string `json:"pts_time"`
		Flags string `json:"flags"`
	} `json:"packets"`
}

func probeFile(t testing.TB, path, streams string) look {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-select_streams", streams,
		"-show_streams", "-show_packets", "-show_entries", "packet=pts_time,flags", "-of", "json", path)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ffprobe %s: %v", path, err)
	}
	var l look
	if err := json.Unmarshal(out, &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// times returns when the frames of a look are shown, in order.
func (l look) times(t testing.TB) []float64 {
	t.Helper()
	var out []float64
	for _, p := range l.Packets {
		s, err := strconv.ParseFloat(p.Time, 64)
		if err != nil {
			t.Fatalf("packet time %q: %v", p.Time, err)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// since returns times counted from the first.
func since(times []float64) []float64 {
	out := slices.Clone(times)
	for i := range out {
		out[i] -= times[0]
	}
	return out
}

// film is all chunks of a plan, encoded.
type film struct {
	times  []float64 // of rendition 0
	keys   []float64
	pieces []look
}

// encodeAll encodes every chunk and checks each piece for itself.
func encodeAll(t testing.TB, tools *Tools, job Job, plan *video.Plan) film {
	t.Helper()
	var f film
	for n := range plan.Chunks {
		last := -1.0
		outputs, err := tools.EncodeChunk(t.Context(), job, plan, n, func(done float64) { last = done })
		if err != nil {
			t.Fatalf("EncodeChunk(%d): %v", n, err)
		}
		if len(outputs) != len(plan.Renditions) || last != 1 {
			t.Fatalf("EncodeChunk(%d) = %d outputs, progress ended at %v; want %d and 1", n, len(outputs), last, len(plan.Renditions))
		}
		l := probeFile(t, outputs[0].Path, "v:0")
		if len(l.Packets) != outputs[0].Frames {
			t.Errorf("chunk %d: Frames = %d, ffprobe counts %d", n, outputs[0].Frames, len(l.Packets))
		}
		f.add(t, l)
	}
	return f
}

func (f *film) add(t testing.TB, l look) {
	f.pieces = append(f.pieces, l)
	f.times = append(f.times, l.times(t)...)
	for _, p := range l.Packets {
		if s, err := strconv.ParseFloat(p.Time, 64); err == nil && p.Flags[0] == 'K' {
			f.keys = append(f.keys, s)
		}
	}
}

// sameTimes compares two lists of times to within a tick of a millisecond.
func sameTimes(t testing.TB, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d frames; want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if d := got[i] - want[i]; d > 0.0005 || d < -0.0005 {
			t.Fatalf("frame %d is shown at %.6f; want %.6f", i, got[i], want[i])
		}
	}
}

// shortCuts makes chunks of about two seconds, so that short clips have several.
func shortCuts(tools *Tools) *Tools {
	c := *tools
	c.cut = cutting{chunk: 2 * time.Second, parts: 1, least: 2 * time.Second, whole: 3 * time.Second, rest: time.Second}
	return &c
}
