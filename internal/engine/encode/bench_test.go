package encode

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
)

var (
	benchRounds  = flag.Int("rounds", 3, "how often the engine benchmark measures each way")
	benchSeconds = flag.Int("seconds", 4, "how much of each video the engine benchmark takes")
	benchQuality = flag.String("quality", string(video.Balanced), "quality of the engine benchmark: fast, balanced or small")
	benchReport  = flag.String("report", "", "file to write the engine benchmark's tables to")
)

// sixNames is what the engine benchmark asks for.
var sixNames = []video.Name{"1080p", "720p", "480p", "360p", "240p", "144p"}

// cost is what a way of transcoding took.
type cost struct {
	cpu, wall time.Duration
	memory    int64 // of the largest child
}

func (c cost) String() string {
	return fmt.Sprintf("%.1f s (wall %.1f)", c.cpu.Seconds(), c.wall.Seconds())
}

// mean is what a way took on average in two runs.
func (c cost) mean(d cost) cost {
	return cost{cpu: (c.cpu + d.cpu) / 2, wall: (c.wall + d.wall) / 2, memory: max(c.memory, d.memory)}
}

// BenchmarkEngine compares what Spool's engine costs for six resolutions with
// the way most people go, one ffmpeg for each resolution, once with Spool's
// encoder settings and once with ffmpeg's own, and with the limit: one decode
// plus encoding frames that lie ready, which no engine can beat that uses the
// same decoder and the same encoder settings.
func BenchmarkEngine(b *testing.B) {
	tools := newEngine(b)
	tools.Encoder.threads = runtime.GOMAXPROCS(0)
	tools.Inspector = plan.NewInspector(probe.New(tools.run, probe.Config{}), plan.Config{Quality: video.Quality(*benchQuality)})
	report := &report{tools: tools}
	for _, source := range benchClips(b) {
		name := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				report.measure(b, name, source)
			}
		})
	}
	if *benchReport != "" && len(report.costs) > 0 {
		report.write(b, *benchReport)
	}
}

// measure lets the ways take turns on one video. The speed of a shared machine
// changes from minute to minute, so each round makes its own ratios, and the
// median round counts. The two that lie closest together run twice, around the
// others: a machine that slows down evenly does not favour either.
func (r *report) measure(b *testing.B, name, source string) {
	e := newBench(b, r.tools, source, 0, sixNames)
	var rounds []round
	for n := range *benchRounds {
		var t round
		t.spool = e.took(e.spool)
		t.limit = e.took(e.limit)
		t.each = e.took(e.oneByOne)
		t.plain = e.took(e.plain)
		t.limit = t.limit.mean(e.took(e.limit))
		t.spool = t.spool.mean(e.took(e.spool))
		b.Logf("round %d: %v", n+1, t)
		rounds = append(rounds, t)
	}
	b.ReportMetric(middle(rounds, round.ofLimit), "of-limit")
	b.ReportMetric(middle(rounds, round.wallOfEach), "wall-of-each")
	b.ReportMetric(middle(rounds, round.wallOfPlain), "wall-of-plain")
	r.addCosts(name, e.plan.Duration, rounds)
	r.addFilms(name, e)
}

// round is what each way cost in one round.
type round struct{ spool, each, plain, limit cost }

func (r round) String() string {
	return fmt.Sprintf("Spool %v, each %v, plain %v, limit %v", r.spool, r.each, r.plain, r.limit)
}

func (r round) ofLimit() float64     { return r.spool.cpu.Seconds() / r.limit.cpu.Seconds() }
func (r round) limitOfEach() float64 { return r.limit.cpu.Seconds() / r.each.cpu.Seconds() }
func (r round) wallOfEach() float64  { return r.spool.wall.Seconds() / r.each.wall.Seconds() }
func (r round) wallOfPlain() float64 { return r.spool.wall.Seconds() / r.plain.wall.Seconds() }

// middle is the median of a figure of all rounds.
func middle(rounds []round, figure func(round) float64) float64 {
	var all []float64
	for _, r := range rounds {
		all = append(all, figure(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// bench is one video and the ways to transcode it.
type bench struct {
	*testing.B
	tools  *engine
	job    ffmpeg.Job
	names  []video.Name
	plan   *video.Plan
	memory int64    // of the largest child of the way that runs
	films  []string // what Spool made last
}

// newBench cuts the beginning off a video and stores its frames at each
// resolution uncompressed, through the very filters of Spool.
func newBench(b *testing.B, tools *engine, source string, from int, names []video.Name) *bench {
	e := &bench{B: b, tools: tools, names: names}
	dir := b.TempDir()
	e.job = ffmpeg.Job{Source: filepath.Join(dir, "source.mkv"), OutDir: dir, Ran: func(r video.Execution) { e.memory = max(e.memory, r.Memory) }}
	e.ffmpeg("-ss", strconv.Itoa(from), "-i", source, "-t", strconv.Itoa(*benchSeconds), "-map", "0:v:0", "-map", "0:a:0?", "-c", "copy", e.job.Source)
	var err error
	e.plan, err = tools.Inspect(b.Context(), e.job, plan.Request{Names: e.names})
	e.check(err)
	args := []string{"-copyts", "-i", e.job.Source, "-filter_complex", graph(e.plan, chunkFilters(e.plan, 0), toVideo)}
	for i := range e.plan.Renditions {
		args = append(args, "-map", fmt.Sprintf("[v%d]", i), "-fps_mode", "passthrough", "-f", "rawvideo", e.frames(i))
	}
	e.ffmpeg(args...)
	return e
}

func (e *bench) frames(rendition int) string {
	return filepath.Join(e.job.OutDir, fmt.Sprintf("frames%d.yuv", rendition))
}

// took measures a way: processor time of this process and its children.
func (e *bench) took(way func()) cost {
	e.memory = 0
	before, began := processorTime(e.B), time.Now()
	way()
	return cost{cpu: processorTime(e.B) - before, wall: time.Since(began), memory: e.memory}
}

func processorTime(b *testing.B) time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// spool does everything that a worker does with a video: it looks into it,
// encodes frames and audio, and assembles the files that people play.
func (e *bench) spool() {
	ctx := e.Context()
	plan, err := e.tools.Inspect(ctx, e.job, plan.Request{Names: e.names})
	e.check(err)
	pieces := make([][]string, len(plan.Renditions))
	job := e.job
	job.OutDir = e.TempDir()
	for n := range plan.Chunks {
		part := job
		part.OutDir = filepath.Join(job.OutDir, strconv.Itoa(n))
		e.check(os.Mkdir(part.OutDir, 0o700))
		outputs, err := e.tools.EncodeChunk(ctx, part, plan, n, nil)
		e.check(err)
		for _, o := range outputs {
			pieces[o.Rendition] = append(pieces[o.Rendition], o.Path)
		}
	}
	sound := ""
	if plan.Audio != nil {
		o, err := e.tools.EncodeAudio(ctx, job, inOnePiece(plan), 0, nil)
		e.check(err)
		sound = o.Path
	}
	e.films = nil
	for i, paths := range pieces {
		e.films = append(e.films, filepath.Join(job.OutDir, fmt.Sprintf("video%d.mp4", i)))
		e.assemble(e.films[i], paths, sound)
	}
}

func (e *bench) assemble(path string, pieces []string, sound string) {
	var all []mp4.Input
	for _, p := range pieces {
		all = append(all, e.open(p))
	}
	var audio []mp4.Input
	if sound != "" {
		p := e.open(sound)
		audio = []mp4.Input{p}
	}
	f, err := os.Create(path)
	e.check(err)
	defer f.Close()
	_, err = mp4.Assemble(f, all, audio, mp4.Timing{})
	e.check(err)
}

func (e *bench) open(path string) mp4.Input {
	f, err := os.Open(path)
	e.check(err)
	e.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	e.check(err)
	return mp4.Input{ReaderAt: f, Size: info.Size()}
}

// plain is what people write without a service: one ffmpeg for each resolution,
// with its own settings for everything else.
func (e *bench) plain() {
	for i, r := range e.plan.Renditions {
		e.ffmpeg("-i", e.job.Source, "-vf", fmt.Sprintf("scale=%d:%d", r.Width, r.Height), "-pix_fmt", "yuv420p",
			"-movflags", "+faststart", filepath.Join(e.job.OutDir, fmt.Sprintf("plain%d.mp4", i)))
	}
}

// oneByOne is the same with Spool's encoder settings.
func (e *bench) oneByOne() {
	for i, r := range e.plan.Renditions {
		args := []string{"-i", e.job.Source, "-map", fmt.Sprintf("0:%d", e.plan.Input.VideoStream), "-map", "0:a:0?",
			"-vf", fmt.Sprintf("scale=%d:%d", r.Width, r.Height)}
		args = append(args, e.tools.Encoder.encoder.renditionArgs(e.plan, r, 0, e.tools.Encoder.threads)...)
		args = append(args, "-c:a", "aac", "-ac", "2", "-movflags", "+faststart", filepath.Join(e.job.OutDir, fmt.Sprintf("each%d.mp4", i)))
		e.ffmpeg(args...)
	}
}

// limit decodes the video once and encodes each rendition from frames that lie
// ready, and the audio once.
func (e *bench) limit() {
	e.ffmpeg("-i", e.job.Source, "-map", fmt.Sprintf("0:%d", e.plan.Input.VideoStream), "-fps_mode", "passthrough", "-f", "null", "-")
	for i, r := range e.plan.Renditions {
		args := append(e.raw(i), e.tools.Encoder.encoder.renditionArgs(e.plan, r, 0, e.tools.Encoder.threads)...)
		e.ffmpeg(append(args, filepath.Join(e.job.OutDir, fmt.Sprintf("limit%d.mp4", i)))...)
	}
	if e.plan.Audio != nil {
		e.ffmpeg("-i", e.job.Source, "-map", fmt.Sprintf("0:%d", e.plan.Audio.Stream), "-c:a", "aac", "-ac", "2", "-ar", "48000", filepath.Join(e.job.OutDir, "limit.m4a"))
	}
}

// raw are the options that read the frames of a rendition.
func (e *bench) raw(rendition int) []string {
	r := e.plan.Renditions[rendition]
	return []string{"-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", fmt.Sprintf("%dx%d", r.Width, r.Height),
		"-framerate", fmt.Sprintf("%.3f", max(e.plan.Input.FrameRate, 1)), "-i", e.frames(rendition)}
}

var ssimLine = regexp.MustCompile(`SSIM Y:([\d.]+)`)

// ssim compares the brightness of a video that Spool made with the frames that
// went into its encoder.
func (e *bench) ssim(rendition int) float64 {
	args := slices.Concat([]string{"-v", "info", "-i", e.films[rendition]}, e.raw(rendition),
		[]string{"-lavfi", "[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]ssim", "-f", "null", "-"})
	found := ssimLine.FindStringSubmatch(e.ffmpeg(args...))
	if found == nil {
		e.Fatalf("no similarity of rendition %d", rendition)
	}
	ssim, err := strconv.ParseFloat(found[1], 64)
	e.check(err)
	return ssim
}

func (e *bench) ffmpeg(args ...string) string {
	cmd := exec.CommandContext(e.Context(), "ffmpeg", append([]string{"-nostdin", "-v", "error", "-y"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		e.Fatalf("ffmpeg %v: %v: %s", args, err, out)
	}
	if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		e.memory = max(e.memory, used.Maxrss<<10) // Linux counts in KiB
	}
	return string(out)
}

func (e *bench) check(err error) {
	if err != nil {
		e.Helper()
		e.Fatal(err)
	}
}

// benchClips returns the videos to measure: real footage where it is to be had,
// else one that ffmpeg makes.
func benchClips(b *testing.B) []string {
	var films []string
	if dir, ok := footage.Lookup("bench"); ok {
		var err error
		if films, err = filepath.Glob(filepath.Join(dir, "*_*")); err != nil {
			b.Fatal(err)
		}
	}
	if len(films) > 0 {
		return films
	}
	made := filepath.Join(b.TempDir(), "made_1080p_10s.mp4")
	out, err := exec.CommandContext(context.WithoutCancel(b.Context()), "ffmpeg", "-v", "error",
		"-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=25:d=10,noise=alls=8:allf=t", "-f", "lavfi", "-i", "sine=d=10",
		"-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", made).CombinedOutput()
	if err != nil {
		b.Fatalf("make a clip: %v: %s", err, out)
	}
	return []string{made}
}
