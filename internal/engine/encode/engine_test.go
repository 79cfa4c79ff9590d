package encode

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/Eyevinn/mp4ff/mp4"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/need"
)

func newEngine(t testing.TB) *engine {
	t.Helper()
	proven.Lock()
	defer proven.Unlock()
	if proven.encoder == nil {
		run := enginetest.NewRunner(t)
		e, err := New(t.Context(), run, Config{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		proven.run, proven.encoder = run, e
	}
	e := *proven.encoder // the caller's: some tests change it
	return &engine{plan.NewInspector(probe.New(proven.run, probe.Config{}), plan.Config{}), &e, proven.run}
}

// proven is an encoder that has proved itself. One proof is enough for all tests.
var proven struct {
	sync.Mutex
	run     *ffmpeg.Runner
	encoder *Encoder
}

// leaveToLong skips a case in a usual run if it is one of those for which others of the same test stand, or
// those that a comment names.
func leaveToLong(t *testing.T, name string, rare ...string) {
	t.Helper()
	if slices.Contains(rare, name) {
		need.TimeFor(t, "other cases stand for it")
	}
}

// outputs collects what one ffmpeg makes for the cases of a test, by their names.
type outputs struct {
	rare  []string // are left to a long run
	names []string
	all   []enginetest.Output
}

// add adds the file of a case, if the case runs.
func (o *outputs) add(name, file string, args ...string) {
	if need.Long() || !slices.Contains(o.rare, name) {
		o.names, o.all = append(o.names, name), append(o.all, enginetest.Output{Name: file, Args: args})
	}
}

// of returns the file of a case. A case that is left to a long run ends here.
func (o *outputs) of(t *testing.T, paths []string, name string) string {
	t.Helper()
	leaveToLong(t, name, o.rare...)
	return paths[slices.Index(o.names, name)]
}

// probed is what ffprobe sees in a file that we made.
type probed struct {
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
	Packets []packet `json:"packets"`
}

type packet struct {
	Time  string `json:"pts_time"`
	Flags string `json:"flags"`
}

func probeFile(t testing.TB, path, streams string) probed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-select_streams", streams,
		"-show_streams", "-show_packets", "-show_entries", "packet=pts_time,flags", "-of", "json", path)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ffprobe %s: %v", path, err)
	}
	var l probed
	if err := json.Unmarshal(out, &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// times returns when the frames are shown, in order.
func (l probed) times(t testing.TB) []float64 {
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

// keys returns when the keyframes are shown.
func (l probed) keys(t testing.TB) []float64 {
	t.Helper()
	keys := probed{Packets: slices.DeleteFunc(slices.Clone(l.Packets), func(p packet) bool { return p.Flags[0] != 'K' })}
	return keys.times(t)
}

// since returns times counted from the first.
func since(times []float64) []float64 {
	out := slices.Clone(times)
	for i := range out {
		out[i] -= times[0]
	}
	return out
}

// encoded is all chunks of a plan, encoded.
type encoded struct {
	times  []float64 // of rendition 0
	keys   []float64
	pieces int
	first  probed // of the pieces
}

// encodeAll encodes every chunk and checks each chunk file for itself.
func encodeAll(t testing.TB, tools *engine, job ffmpeg.Job, plan *video.Plan) encoded {
	t.Helper()
	var f encoded
	for n := range plan.Chunks {
		last := -1.0
		outputs, err := tools.EncodeChunk(t.Context(), job, plan, n, func(done float64) { last = done })
		if err != nil {
			t.Fatalf("EncodeChunk(%d): %v", n, err)
		}
		if len(outputs) != len(plan.Renditions) || last != 1 {
			t.Fatalf("EncodeChunk(%d) = %d outputs, progress ended at %v; want %d and 1", n, len(outputs), last, len(plan.Renditions))
		}
		if got := f.add(t, outputs[0].Path); got != outputs[0].Frames {
			t.Errorf("chunk %d: Frames = %d, but the file has %d", n, outputs[0].Frames, got)
		}
	}
	return f
}

// add reads a chunk file and returns how many frames it has. ffprobe reads the first one, too, and has to see
// the same; to start it for each would take longer than many a chunk.
func (f *encoded) add(t testing.TB, path string) (frames int) {
	t.Helper()
	times, keys := readFrames(t, path)
	if f.pieces == 0 {
		f.first = probeFile(t, path, "v:0")
		sameTimes(t, times, f.first.times(t))
		sameTimes(t, keys, f.first.keys(t))
	}
	f.pieces++
	f.times, f.keys = append(f.times, times...), append(f.keys, keys...)
	return len(times)
}

// readHeader returns the header of an MP4 file.
func readHeader(t testing.TB, path string) *mp4.MoovBox {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := mp4.DecodeFile(f, mp4.WithDecodeMode(mp4.DecModeLazyMdat))
	if err != nil {
		t.Fatal(err)
	}
	return file.Moov
}

// readFrames returns when the frames and the keyframes of an MP4 file with one track are shown, in order.
func readFrames(t testing.TB, path string) (times, keys []float64) {
	t.Helper()
	header := readHeader(t, path)
	trak := header.Trak
	table, scale := trak.Mdia.Minf.Stbl, float64(trak.Mdia.Mdhd.Timescale)
	begin := 0.0 // of the track, on the clock of the file
	if trak.Edts != nil {
		for _, e := range trak.Edts.Elst[0].Entries {
			if e.MediaTime >= 0 {
				begin -= float64(e.MediaTime) / scale
				break
			}
			begin += float64(e.SegmentDuration) / float64(header.Mvhd.Timescale)
		}
	}
	for n := uint32(1); n <= table.Stsz.GetNrSamples(); n++ {
		dts, _ := table.Stts.GetDecodeTime(n)
		at := float64(dts)
		if table.Ctts != nil {
			at += float64(table.Ctts.GetCompositionTimeOffset(n))
		}
		times = append(times, begin+at/scale)
		if table.Stss == nil || table.Stss.IsSyncSample(n) {
			keys = append(keys, times[len(times)-1])
		}
	}
	slices.Sort(times)
	return times, keys
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

// shortChunks makes chunks of about two seconds, so that short clips have several.
func shortChunks(tools *engine) *engine {
	c := *tools
	c.Inspector = plan.NewInspector(probe.New(tools.run, probe.Config{}), plan.Config{Chunking: twoSeconds})
	return &c
}

var twoSeconds = plan.Chunking{Length: 2 * time.Second, Parts: 1, Min: 2 * time.Second, Whole: 3 * time.Second, MinLast: time.Second}
