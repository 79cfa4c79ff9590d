package encode

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

var (
	studySizes   = flag.String("sizes", "1080p,480p", "resolutions of the study, largest first")
	studyOptions = flag.String("options", "", "which sets of encoder options the study tries as well: a regular expression of their names")
)

// BenchmarkStudy compares what Spool makes with one ffmpeg for each resolution that encodes H.264 with
// veryfast, CRF 23, as most services do: the bytes as delivered and at equal VMAF, and the processor time of
// both codecs of Spool together. Spool's CRF are those that it chooses, its frames go through EncodeChunk, and
// every argument comes from where a worker's come from. With -options it also tries encoder options one by one, on frames that lie ready.
func BenchmarkStudy(b *testing.B) {
	tools := newEngine(b)
	tools.Encoder.threads, tools.Encoder.adapt = runtime.GOMAXPROCS(0), true
	var names []video.Name
	for _, s := range strings.Split(*studySizes, ",") {
		names = append(names, video.Name(s))
	}
	s := &study{rate: newRater(b), names: names}
	for _, source := range benchClips(b) {
		name := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.add(b, name, newBench(b, tools, source, names))
			}
			if *benchReport == "" {
				return
			}
			// The page always has what was measured so far: all of it takes long.
			if err := s.write(*benchReport, tools.run.Version()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// study collects what was measured.
type study struct {
	rate    rater
	names   []video.Name
	films   []studyFilm
	options []optionResult
}

// studyFilm is what the ways made of one video.
type studyFilm struct {
	name      string
	seconds   float64
	sizes     []studySize // by rendition
	plain     cost
	trial     cost // with the inspection
	h264, av1 cost
}

// studySize is what the ways made of one rendition.
type studySize struct {
	plain     point // veryfast, CRF 23
	h264, av1 result
}

// result is what Spool delivers, and the part of the bytes of veryfast that it takes for its score.
type result struct {
	point
	equal float64
}

// point is an encode: its bytes, and how good it looks.
type point struct{ bytes, score float64 }

// curve is one encoder at several CRF.
type curve []point

// bytesAt is how many bytes an encoder takes for a score, interpolated between the two encodes around
// it: over a few points the logarithm of the bytes is nearly linear in the score. Beyond the ends it
// goes on straight.
func (c curve) bytesAt(score float64) float64 {
	all := slices.SortedFunc(slices.Values(c), func(a, b point) int { return int(math.Copysign(1, a.bytes-b.bytes)) })
	i := 1
	for i < len(all)-1 && all[i].score < score {
		i++
	}
	low, high := all[i-1], all[i]
	if high.score <= low.score { // more bytes, and no better: the cheaper one is as good
		return low.bytes
	}
	return low.bytes * math.Pow(high.bytes/low.bytes, (score-low.score)/(high.score-low.score))
}

const plainCRF = 23

// cpuColumns are the parts of Spool's processor time.
var cpuColumns = []string{"trial", "H.264", "AV1", "H.264+AV1", "all"}

// ofPlain is each of them against that of veryfast.
func (f studyFilm) ofPlain() (all []float64) {
	for _, d := range []time.Duration{f.trial.cpu, f.h264.cpu, f.av1.cpu, f.h264.cpu + f.av1.cpu, f.trial.cpu + f.h264.cpu + f.av1.cpu} {
		all = append(all, d.Seconds()/f.plain.cpu.Seconds())
	}
	return all
}

func (s *study) add(b *testing.B, name string, e *bench) {
	film := studyFilm{name: name, seconds: e.plan.Duration.Seconds(), sizes: make([]studySize, len(e.plan.Renditions))}
	film.plain = e.took(e.onePerSize)
	film.trial = e.took(func() {
		var err error
		e.plan, err = e.tools.Inspect(e.Context(), e.job, plan.Request{Names: e.names})
		e.check(err)
		e.check(e.tools.ChooseQuality(e.Context(), e.job, e.plan))
	})
	film.h264 = e.took(func() { e.pictures(e.plan) })
	for i := range film.sizes {
		film.sizes[i].h264.point = s.point(e, i, e.films[i])
	}
	beside := e.plan.Beside(video.AV1, everyRendition(e.plan))
	film.av1 = e.took(func() { e.pictures(beside) })
	for i := range film.sizes {
		z := &film.sizes[i]
		z.av1.point = s.point(e, i, e.films[i])
		plain := s.plainCurve(e, i, min(z.h264.score, z.av1.score), max(z.h264.score, z.av1.score))
		z.plain = plain[0]
		z.h264.equal = z.h264.bytes / plain.bytesAt(z.h264.score)
		z.av1.equal = z.av1.bytes / plain.bytesAt(z.av1.score)
		b.Logf("rendition %d, CRF %v: %+v, veryfast %v", i, e.plan.Renditions[i].CRF, *z, plain)
	}
	b.Logf("CPU: veryfast %v, trial %v, H.264 %v, AV1 %v", film.plain, film.trial, film.h264, film.av1)
	for i, part := range film.ofPlain() {
		b.ReportMetric(part, cpuColumns[i]+"-of-veryfast")
	}
	s.films = append(s.films, film)
	s.tryOptions(e, film)
}

// plainCurve encodes a rendition with veryfast: at CRF 23, and at as many more as it takes to have scores
// on both sides of what Spool has. The first is that of CRF 23.
func (s *study) plainCurve(e *bench, rendition int, lowest, highest float64) curve {
	const worse, better, most, least = 4, -3, 40, 8
	try := func(crf int) point {
		p, _ := s.try(e, rendition, plainArgs(e.plan, crf))
		return p
	}
	all := curve{try(plainCRF)}
	for crf, p := plainCRF, all[0]; p.score > lowest && crf < most; {
		crf += worse
		p = try(crf)
		all = append(all, p)
	}
	for crf, p := plainCRF, all[0]; (p.score < highest || len(all) == 1) && crf > least; {
		crf += better
		p = try(crf)
		all = append(all, p)
	}
	return all
}

// equal is the part of the bytes of veryfast that a way takes for the same score. Its first encode rarely
// has that score, so it encodes once more on the other side of it, and interpolates.
func (s *study) equal(e *bench, rendition int, o optionSet, first, plain point) float64 {
	all := curve{first}
	for range 3 {
		last := all[len(all)-1]
		if len(all) > 1 && (first.score-plain.score)*(last.score-plain.score) <= 0 {
			break
		}
		o.effort.crf += o.encoder.stepTo(last.score - plain.score)
		p, _ := s.try(e, rendition, o.args(e.plan, e.plan.Renditions[rendition]))
		all = append(all, p)
	}
	e.Logf("rendition %d, %s %s: %v, veryfast %v", rendition, o.encoder.name, o.effort.preset, all, plain)
	return all.bytesAt(plain.score) / plain.bytes
}

// stepTo is by how much to change the CRF to lose so many points of VMAF, and one more: the scale of AV1
// has 64 steps, that of H.264 52.
func (e codecEncoder) stepTo(points float64) float64 {
	perPoint := 0.6
	if e.codec == video.AV1 {
		perPoint = 1.2
	}
	return math.Copysign(math.Round(min(10, (math.Abs(points)+1.5)*perPoint)), points)
}

func everyRendition(p *video.Plan) (all []int) {
	for i := range p.Renditions {
		all = append(all, i)
	}
	return all
}

// plainArgs is the way of most services.
func plainArgs(p *video.Plan, crf int) []string {
	return []string{"-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-crf", strconv.Itoa(crf),
		"-g", strconv.Itoa(int(2 * p.Input.FrameRate))}
}

// onePerSize is one ffmpeg for each resolution, from the source.
func (e *bench) onePerSize() {
	for i, r := range e.plan.Renditions {
		args := []string{"-i", e.job.Source, "-an", "-vf", fmt.Sprintf("scale=%d:%d", r.Width, r.Height), "-fps_mode", "passthrough"}
		args = append(args, plainArgs(e.plan, plainCRF)...)
		e.ffmpeg(append(args, filepath.Join(e.job.OutDir, fmt.Sprintf("plain%d.mp4", i)))...)
	}
}

// pictures encodes the frames of a plan as a worker does, and joins the chunks.
func (e *bench) pictures(p *video.Plan) {
	pieces, job := make([][]string, len(p.Renditions)), e.job
	for n, c := range p.Chunks {
		if c.Start >= c.End {
			continue
		}
		job.OutDir = e.TempDir()
		outputs, err := e.tools.EncodeChunk(e.Context(), job, p, n, nil)
		e.check(err)
		for _, o := range outputs {
			pieces[o.Rendition] = append(pieces[o.Rendition], o.Path)
		}
	}
	e.films = nil
	for i, paths := range pieces {
		e.films = append(e.films, filepath.Join(e.TempDir(), "pictures.mp4"))
		e.assemble(e.films[i], paths, "")
	}
}

// try encodes the frames of a rendition that lie ready, and rates the result.
func (s *study) try(e *bench, rendition int, args []string) (point, cost) {
	path := filepath.Join(e.job.OutDir, "try.mp4")
	c := e.took(func() { e.ffmpeg(slices.Concat(e.raw(rendition), args, []string{path})...) })
	return s.point(e, rendition, path), c
}

func (s *study) point(e *bench, rendition int, path string) point {
	info, err := os.Stat(path)
	e.check(err)
	return point{float64(info.Size()), s.rate.score(e, rendition, path)}
}

// optionResult is what a set of options saves and costs on one rendition.
type optionResult struct {
	option string
	size   int // index of the resolution
	bytes  float64
	cpu    float64
}

// tryOptions encodes with one thread, because more cost processor time of their own.
func (s *study) tryOptions(e *bench, film studyFilm) {
	if *studyOptions == "" {
		return
	}
	wanted := regexp.MustCompile(*studyOptions)
	for i, r := range e.plan.Renditions {
		_, plain := s.try(e, i, append(plainArgs(e.plan, plainCRF), "-threads", "1"))
		for _, o := range optionSets {
			if !wanted.MatchString(o.name) {
				continue
			}
			p, c := s.try(e, i, o.args(e.plan, r))
			s.options = append(s.options, optionResult{o.name, i, s.equal(e, i, o, p, film.sizes[i].plain), c.cpu.Seconds() / plain.cpu.Seconds()})
			e.Logf("%s at %d × %d: %+v", o.name, r.Width, r.Height, s.options[len(s.options)-1])
		}
	}
}

// optionSet is a way to use an encoder that the study tries.
type optionSet struct {
	name    string
	encoder codecEncoder
	effort  effort
}

// args are a worker's arguments with other options. The cap of the source is left out, so that quality
// is constant.
func (o optionSet) args(p *video.Plan, r video.Rendition) []string {
	q := *p
	q.Codec = o.encoder.codec
	with := settingsFor(&q, r, 0, 1)
	with.effort, with.kbps, with.buffer = o.effort, with.highest, bufferSize(with.highest)
	args := o.encoder.args(with)
	if !o.encoder.fixedGOP {
		args = append(args, "-force_key_frames", keyGrid(&q, 0))
	}
	return args
}
