package encode

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
	"github.com/spool-video/spool/test/need"
)

// numbered is a film of six seconds in which each frame shows its number: a block for each bit.
const (
	numbered   = "color=black:s=160x96:r=25:d=6,format=yuv420p,geq=lum='if(mod(floor(N/pow(2,floor(X/16))),2),235,16)':cb=128:cr=128"
	everyBeep  = "aevalsrc='if(between(mod(t,1),0.5,0.7),sin(2000*t),0)':s=48000:d=6"
	numberBits = 10
)

// numbersIn returns the numbers that the frames of a file show.
func numbersIn(t *testing.T, path, undo string) (all []int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-map", "0:v:0", "-fps_mode", "passthrough",
		"-vf", undo+"scale=160:96,scale=10:1:flags=area,format=gray", "-f", "rawvideo", "-").Output()
	if err != nil {
		t.Fatalf("read the frames of %s: %v", path, err)
	}
	for frame := range slices.Chunk(out, numberBits) {
		n := 0
		for bit, luma := range frame {
			if luma > 128 {
				n |= 1 << bit
			}
		}
		all = append(all, n)
	}
	return all
}

// trimmed is what became of a part of a source.
type trimmed struct {
	plan    *video.Plan
	numbers []int
	times   []float64
	beeps   []float64 // in the output
	heard   []float64 // in the source, on the time line of the part
}

// makePart makes a part of a source.
func makePart(t *testing.T, tools *engine, source, undo string, ask plan.Request) trimmed {
	t.Helper()
	ask.Names = []video.Name{"144p"}
	job := enginetest.NewJob(t, source)
	p, err := tools.Inspect(t.Context(), job, ask)
	if err != nil {
		t.Fatal(err)
	}
	made := trimmed{plan: p}
	for n := range p.Chunks {
		outputs, err := tools.EncodeChunk(t.Context(), job, p, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		times, _ := readFrames(t, outputs[0].Path)
		made.times = append(made.times, times...)
		made.numbers = append(made.numbers, numbersIn(t, outputs[0].Path, undo)...)
	}
	if p.Audio == nil {
		return made
	}
	out, err := tools.EncodeAudio(t.Context(), job, inOnePiece(p), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	heard := beeps(t, source, out.Path)
	made.beeps = heard[1]
	for _, at := range heard[0] {
		if at -= p.Input.TimeBase.Seconds(p.FirstPTS); at > 0.1 && at < p.Duration.Seconds() {
			made.heard = append(made.heard, at)
		}
	}
	return made
}

// TestPartIsExact makes the part from second 1.3 to 4.1 of all kinds of files, and looks at the number of each frame and
// at the beeps.
func TestPartIsExact(t *testing.T) {
	t.Parallel()
	tools := shortChunks(newEngine(t))
	tests := []struct {
		name, file   string
		video, audio string // when each begins
		first        int    // the number of the first frame that is shown
		undo         string // a filter that undoes the rotation
		args         []string
	}{
		{"long groups with B-frames", "a.mp4", "0", "0", 0, "", []string{"-preset", "ultrafast", "-bf", "3", "-g", "150"}},
		{"a variable frame rate", "a.mkv", "0", "0", 0, "", []string{"-preset", "ultrafast", "-bf", "2", "-g", "30", "-vf", "select=mod(n\\,7)-3"}},
		{"a transport stream that begins late", "a.ts", "0", "0", 0, "", []string{"-preset", "ultrafast", "-bf", "2", "-g", "20", "-output_ts_offset", "3600"}},
		{"audio that begins earlier", "a.mp4", "0.7", "0", 0, "", []string{"-preset", "ultrafast", "-bf", "2", "-g", "30"}},
		{"audio that begins later", "a.mkv", "0", "0.6", 0, "", []string{"-preset", "ultrafast", "-bf", "2", "-g", "30"}},
		{"interlaced broadcast", "a.ts", "0", "0", 0, "", []string{"-c:v", "mpeg2video", "-q:v", "2", "-flags", "+ildct+ilme", "-top", "1", "-bf", "2", "-g", "15"}},
		{"rotated", "a.mp4", "0", "0", 0, "transpose=2,", []string{"-preset", "ultrafast", "-bf", "2", "-g", "30"}},
		{"an edit list", "a.mp4", "0", "0", 10, "", []string{"-preset", "ultrafast", "-bf", "2", "-g", "30"}},
		{"times that are only counted", "a.avi", "0", "0", 0, "", []string{"-c:v", "mpeg4", "-q:v", "2", "-g", "30", "-fps_mode", "cfr"}},
	}
	inputs := []string{}
	for _, begin := range []string{"0", "0.6", "0.7"} {
		inputs = append(inputs, "-itsoffset", begin, "-f", "lavfi", "-i", numbered, "-itsoffset", begin, "-f", "lavfi", "-i", everyBeep)
	}
	inputOf := func(begin string, kind int) string {
		return fmt.Sprint(2*slices.Index([]string{"0", "0.6", "0.7"}, begin) + kind)
	}
	clips := outputs{rare: []string{"audio that begins later"}}
	for _, tt := range tests {
		clips.add(tt.name, tt.file, append([]string{"-map", inputOf(tt.video, 0), "-map", inputOf(tt.audio, 1), "-fps_mode", "passthrough"}, tt.args...)...)
	}
	paths := enginetest.Outputs(t, inputs, clips.all...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := clips.of(t, paths, tt.name)
			switch tt.name {
			case "rotated":
				turned := filepath.Join(t.TempDir(), tt.file)
				enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-i", path, "-c", "copy", "-metadata:s:v", "rotate=270", turned)
				path = turned
			case "an edit list":
				cut := filepath.Join(t.TempDir(), tt.file)
				enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-ss", "0.4", "-i", path, "-c", "copy", cut)
				path = cut
			}
			times := map[int]float64{} // when each frame is shown
			for n := tt.first; n < 150; n++ {
				if tt.name != "a variable frame rate" || n%7 != 3 {
					times[n] = float64(n-tt.first) / 25
				}
			}
			if tt.file == "a.avi" { // ffmpeg leaves gaps in its count
				for n, at := range since(probeFile(t, path, "v:0").times(t)) {
					times[n] = at
				}
			}
			checkPart(t, makePart(t, tools, path, tt.undo, plan.Request{Trim: &video.Trim{Start: 1.3, End: 4.1}}), times)
		})
	}
}

// checkPart checks the part from second 1.3 to 4.1 of a film whose frames are shown at these times.
func checkPart(t *testing.T, got trimmed, shown map[int]float64) {
	t.Helper()
	var want []int
	var times []float64
	for _, n := range slices.Sorted(maps.Keys(shown)) {
		if at := shown[n]; at >= 1.3 && at < 4.1 {
			want, times = append(want, n), append(times, at)
		}
	}
	if !slices.Equal(got.numbers, want) {
		t.Errorf("the frames are %v; want %v", got.numbers, want)
	}
	if d := got.plan.Duration.Seconds() - (4.1 - times[0]); math.Abs(d) > 0.005 {
		t.Errorf("the part lasts %.3f s; want %.3f", got.plan.Duration.Seconds(), 4.1-times[0])
	}
	wanted := since(times)
	for i := range min(len(wanted), len(got.times)) {
		if math.Abs(got.times[i]-wanted[i]) > 0.0015 {
			t.Fatalf("frame %d is shown at %.4f; want %.4f", i, got.times[i], wanted[i])
		}
	}
	if len(got.heard) < 2 {
		t.Fatalf("the source beeps at %v in the part", got.heard)
	}
	sameBeeps(t, got.beeps, got.heard, 0.02)
}

// TestPartHasItsOwnTimes looks at what counts from the start of a part, and at parts that are not all there.
func TestPartHasItsOwnTimes(t *testing.T) {
	t.Parallel()
	tools := shortChunks(newEngine(t))
	path := enginetest.Outputs(t, []string{"-f", "lavfi", "-i", numbered, "-f", "lavfi", "-i", everyBeep},
		enginetest.Output{Name: "a.mp4", Args: []string{"-preset", "ultrafast", "-bf", "2", "-g", "40"}})[0]
	job := enginetest.NewJob(t, path)
	inspect := func(trim video.Trim) (*video.Plan, error) {
		return tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{0, 1, 100}, Trim: &trim})
	}
	p, err := inspect(video.Trim{Start: 2, End: 5})
	if err != nil {
		t.Fatal(err)
	}
	pictures, err := tools.Thumbnails(t.Context(), job, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{50, 75, 124} {
		if got := numbersIn(t, pictures[i].Path, ""); !slices.Equal(got, []int{want}) {
			t.Errorf("thumbnail %d shows frame %d; want %d", i, got, want)
		}
	}
	if p, err = inspect(video.Trim{Start: 4, End: 60}); err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) != 1 || p.Warnings[0].Code != video.BeyondEnd || p.Frames != 50 {
		t.Errorf("a part behind the end has %d frames and the warnings %v; want 50, and one of %s", p.Frames, p.Warnings, video.BeyondEnd)
	}
	for _, trim := range []video.Trim{{Start: 6.5}, {Start: 7, End: 8}, {Start: 1.001, End: 1.002}, {Start: 1e300}} {
		_, err = inspect(trim)
		if f, ok := errors.AsType[*video.Failure](err); !ok || f.Code != video.NothingLeft {
			t.Errorf("the part from %s: %v; want %s", &trim, err, video.NothingLeft)
		}
	}
}

// TestPartsOfRealFootage makes the middle third of each recording, and compares its frames with those that the whole has
// there.
func TestPartsOfRealFootage(t *testing.T) {
	t.Parallel()
	folder := footage.Path(t, "variety")
	tools := newEngine(t)
	usual := []string{"android_1080p_vfr.mp4", "editlist_preroll.mp4", "mpeg2_tff_captions.ts", "negative_dts.mp4", "ipad_hevc_livephoto_rot90.mov", "vp9_opus_pandas.webm", "flv_h264_aac.flv"}
	for name, want := range variety {
		if want.fail != "" || want.warn != "" || strings.HasPrefix(name, "broken_") || strings.HasSuffix(name, ".h264") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(usual, name) {
				need.TimeFor(t, "a few recordings stand for all")
			}
			samePartAsWhole(t, tools, filepath.Join(folder, name), want)
		})
	}
}

func samePartAsWhole(t *testing.T, tools *engine, path string, want outcome) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	from, to := math.Round(want.seconds/3*1000)/1000, math.Round(want.seconds/3*2*1000)/1000
	job, again := enginetest.NewJob(t, path), enginetest.NewJob(t, path)
	whole, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	part, err := tools.Inspect(t.Context(), again, plan.Request{Names: []video.Name{"144p"}, Trim: &video.Trim{Start: from, End: to}})
	if err != nil {
		t.Fatal(err)
	}
	all, wholeHashes := frameHashes(t, tools, job, whole)
	some, partHashes := frameHashes(t, tools, again, part)
	var times []float64
	var hashes [][]byte
	for i, at := range all {
		if at >= from-trimTolerance && at < to-trimTolerance {
			times, hashes = append(times, at), append(hashes, wholeHashes[i])
		}
	}
	if len(some) != len(times) || len(times) == 0 {
		t.Fatalf("the part has %d frames; want %d", len(some), len(times))
	}
	sameTimes(t, some, since(times))
	for i := range hashes {
		if difference(hashes[i], partHashes[i]) > 12 {
			t.Errorf("frame %d of the part looks like another one", i)
		}
	}
}

// difference returns by how much pixels of two pictures differ on average.
func difference(a, b []byte) float64 {
	sum := 0
	for i, x := range a {
		sum += max(int(x)-int(b[i]), int(b[i])-int(x))
	}
	return float64(sum) / float64(len(a))
}

// trimTolerance is as package plan has it.
const trimTolerance = 0.0005

// frameHashes encodes all chunks, and returns when each frame is shown and a tiny picture of it.
func frameHashes(t *testing.T, tools *engine, job ffmpeg.Job, p *video.Plan) (times []float64, hashes [][]byte) {
	t.Helper()
	for n := range p.Chunks {
		outputs, err := tools.EncodeChunk(t.Context(), job, p, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		shown, _ := readFrames(t, outputs[0].Path)
		times = append(times, shown...)
		out, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-i", outputs[0].Path, "-fps_mode", "passthrough",
			"-vf", "scale=16:9:flags=area,format=gray", "-f", "rawvideo", "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		hashes = slices.AppendSeq(hashes, slices.Chunk(out, 16*9))
	}
	return times, hashes
}
