package media

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/mp4"
	"github.com/spool-video/spool/internal/video"
)

var (
	benchRounds = flag.Int("rounds", 3, "how often the engine benchmark measures each way")
	benchReport = flag.String("report", "", "file to write the engine benchmark's table to")
)

// sixNames is what the engine benchmark asks for.
var sixNames = []video.Name{"1080p", "720p", "480p", "360p", "240p", "144p"}

// cost is what a way of transcoding took.
type cost struct{ cpu, wall time.Duration }

// BenchmarkEngine compares what Spool's engine costs for six resolutions with
// the way most people go, one ffmpeg for each resolution, and with the limit:
// one decode plus encoding frames that lie ready, which no engine can beat that
// uses the same decoder and the same encoder settings. The ways take turns, and
// medians are compared, because the machine may be busy with other things.
func BenchmarkEngine(b *testing.B) {
	tools := newTools(b)
	tools.threads = 0 // as many as the machine has
	var table []string
	for _, source := range benchClips(b) {
		name := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				table = append(table, measure(b, tools, name, source))
			}
		})
	}
	if *benchReport != "" && len(table) > 0 {
		writeReport(b, tools, table)
	}
}

// measure lets the three ways take turns on one film and returns its row of
// the table.
func measure(b *testing.B, tools *Tools, name, source string) string {
	e := &engine{B: b, tools: tools, job: Job{Source: source, OutDir: b.TempDir()}}
	var err error
	if e.plan, err = tools.Inspect(b.Context(), e.job, Ask{Names: sixNames}); err != nil {
		b.Fatal(err)
	}
	e.prepareFrames()
	ways := map[string]func(){"spool": e.spool, "each": e.oneByOne, "limit": e.limit}
	costs := map[string][]cost{}
	for range *benchRounds {
		for name, way := range ways {
			costs[name] = append(costs[name], e.took(way))
		}
	}
	spool, each, limit := median(costs["spool"]), median(costs["each"]), median(costs["limit"])
	b.ReportMetric(spool.cpu.Seconds(), "cpu-s")
	b.ReportMetric(spool.cpu.Seconds()/limit.cpu.Seconds(), "of-limit")
	b.ReportMetric(spool.wall.Seconds()/each.wall.Seconds(), "wall-of-each")
	return fmt.Sprintf("| %s | %.1f s | %.1f | %.1f | %.1f | %.2f | %.2f | %.1f | %.1f | %.2f |",
		name, e.plan.Duration.Seconds(), spool.cpu.Seconds(), each.cpu.Seconds(), limit.cpu.Seconds(),
		spool.cpu.Seconds()/limit.cpu.Seconds(), spool.cpu.Seconds()/each.cpu.Seconds(),
		spool.wall.Seconds(), each.wall.Seconds(), spool.wall.Seconds()/each.wall.Seconds())
}

// engine is one film and the ways to transcode it.
type engine struct {
	*testing.B
	tools *Tools
	job   Job
	plan  *video.Plan
}

// took measures a way: processor time of this process and its children.
func (e *engine) took(way func()) cost {
	before, began := processorTime(e.B), time.Now()
	way()
	return cost{cpu: processorTime(e.B) - before, wall: time.Since(began)}
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

func median(all []cost) cost {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b cost) int { return cmp.Compare(a.cpu, b.cpu) })
	return all[len(all)/2]
}

// spool does everything that a worker does with a film: it looks into it,
// encodes pictures and sound, and assembles the files that people play.
func (e *engine) spool() {
	ctx := e.Context()
	plan, err := e.tools.Inspect(ctx, e.job, Ask{Names: sixNames})
	e.check(err)
	pieces := make([][]string, len(plan.Renditions))
	dir := e.TempDir()
	for n := range plan.Chunks {
		job := Job{Source: e.job.Source, OutDir: filepath.Join(dir, strconv.Itoa(n))}
		e.check(os.Mkdir(job.OutDir, 0o700))
		outputs, err := e.tools.EncodeChunk(ctx, job, plan, n, nil)
		e.check(err)
		for _, o := range outputs {
			pieces[o.Rendition] = append(pieces[o.Rendition], o.Path)
		}
	}
	sound := ""
	if plan.Audio != nil {
		o, err := e.tools.EncodeAudio(ctx, Job{Source: e.job.Source, OutDir: dir}, plan, nil)
		e.check(err)
		sound = o.Path
	}
	for i, paths := range pieces {
		e.assemble(filepath.Join(dir, fmt.Sprintf("film%d.mp4", i)), paths, sound)
	}
}

func (e *engine) assemble(path string, pieces []string, sound string) {
	open := func(path string) mp4.Piece {
		f, err := os.Open(path)
		e.check(err)
		e.Cleanup(func() { f.Close() })
		info, err := f.Stat()
		e.check(err)
		return mp4.Piece{ReaderAt: f, Size: info.Size()}
	}
	var all []mp4.Piece
	for _, p := range pieces {
		all = append(all, open(p))
	}
	var audio *mp4.Piece
	if sound != "" {
		p := open(sound)
		audio = &p
	}
	f, err := os.Create(path)
	e.check(err)
	defer f.Close()
	_, err = mp4.Assemble(f, all, audio)
	e.check(err)
}

// oneByOne is what people do without a service: one ffmpeg for each resolution.
func (e *engine) oneByOne() {
	for i, r := range e.plan.Renditions {
		args := []string{"-i", e.job.Source, "-map", fmt.Sprintf("0:%d", e.plan.Input.VideoStream), "-map", "0:a:0?",
			"-vf", fmt.Sprintf("scale=%d:%d", r.Width, r.Height)}
		args = append(args, x264Args(e.plan, r, 0)...)
		args = append(args, "-c:a", "aac", "-ac", "2", "-movflags", "+faststart", filepath.Join(e.job.OutDir, fmt.Sprintf("each%d.mp4", i)))
		e.ffmpeg(args...)
	}
}

// prepareFrames stores the frames of each rendition uncompressed.
func (e *engine) prepareFrames() {
	for i, r := range e.plan.Renditions {
		e.ffmpeg("-i", e.job.Source, "-map", fmt.Sprintf("0:%d", e.plan.Input.VideoStream), "-fps_mode", "passthrough",
			"-vf", fmt.Sprintf("scale=%d:%d", r.Width, r.Height), "-pix_fmt", "yuv420p", "-f", "rawvideo", e.frames(i))
	}
}

func (e *engine) frames(rendition int) string {
	return filepath.Join(e.job.OutDir, fmt.Sprintf("frames%d.yuv", rendition))
}

// limit decodes the film once and encodes each rendition from frames that lie
// ready, and the sound once.
func (e *engine) limit() {
	e.ffmpeg("-i", e.job.Source, "-map", fmt.Sprintf("0:%d", e.plan.Input.VideoStream), "-fps_mode", "passthrough", "-f", "null", "-")
	for i, r := range e.plan.Renditions {
		args := []string{"-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", fmt.Sprintf("%dx%d", r.Width, r.Height),
			"-framerate", fmt.Sprintf("%.3f", max(e.plan.Input.FrameRate, 1)), "-i", e.frames(i)}
		args = append(args, x264Args(e.plan, r, 0)...)
		args = append(args, "-force_key_frames", keyGrid(e.plan, 0), filepath.Join(e.job.OutDir, fmt.Sprintf("limit%d.mp4", i)))
		e.ffmpeg(args...)
	}
	if e.plan.Audio != nil {
		e.ffmpeg("-i", e.job.Source, "-map", fmt.Sprintf("0:%d", e.plan.Audio.Stream), "-c:a", "aac", "-ac", "2", "-ar", "48000", filepath.Join(e.job.OutDir, "limit.m4a"))
	}
}

func (e *engine) ffmpeg(args ...string) {
	out, err := exec.CommandContext(e.Context(), "ffmpeg", append([]string{"-nostdin", "-v", "error", "-y"}, args...)...).CombinedOutput()
	if err != nil {
		e.Fatalf("ffmpeg %v: %v: %s", args, err, out)
	}
}

func (e *engine) check(err error) {
	if err != nil {
		e.Helper()
		e.Fatal(err)
	}
}

// benchClips returns the films to measure: real footage where it is to be had,
// else one that ffmpeg makes.
func benchClips(b *testing.B) []string {
	root, err := filepath.Abs(cmp.Or(os.Getenv("SPOOL_TEST_MEDIA"), filepath.Join("..", "..", "..", "shared", "media")))
	if err != nil {
		b.Fatal(err)
	}
	films, err := filepath.Glob(filepath.Join(root, "bench", "*_*"))
	if err != nil {
		b.Fatal(err)
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

func writeReport(b *testing.B, tools *Tools, rows []string) {
	text := "# Benchmarks\n\n" +
		"Written by `make bench`. Six resolutions (1080p to 144p) of each film, x264 with the same settings in all ways, ffmpeg " + tools.Version() + ".\n\n" +
		"- **Spool**: probe, one decode, cascaded scaling, all encodes, sound once, assembly.\n" +
		"- **each**: one `ffmpeg` for each resolution, one after the other, as most people do it.\n" +
		"- **limit**: one decode, plus encoding uncompressed frames that lie ready, plus the sound once.\n\n" +
		fmt.Sprintf("Medians of %d rounds in which the ways took turns; CPU and wall in seconds. Compare the ratios: the machine is not always idle.\n\n", *benchRounds) +
		"| film | length | Spool CPU | each CPU | limit CPU | Spool/limit | Spool/each | Spool wall | each wall | wall ratio |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n" +
		strings.Join(rows, "\n") + "\n"
	if err := os.WriteFile(*benchReport, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}
