package encode

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// RenditionFile is the finished MP4 of one rendition.
type RenditionFile struct {
	Path      string
	Rendition int // index in Plan.Renditions
}

// Measure compares rendition files with the source that they were made from, at
// the plan's samples, and returns their quality by rendition. A file that has no
// frame in any sample is left out.
//
// The source goes through the filters of the encode once more, so that only the
// loss of the encoder is measured, and not the loss of a smaller size. To find out
// whether a size is worth having, some frames of the next smaller file are enlarged
// and compared as well.
func (enc *Encoder) Measure(ctx context.Context, job ffmpeg.Job, p *video.Plan, files []RenditionFile, progress ffmpeg.Progress) (map[int]video.QualityScore, error) {
	if len(files) == 0 {
		return nil, nil
	}
	// Each size is scaled from the one before it. Files of several passes come in
	// the order of their passes.
	files = slices.SortedStableFunc(slices.Values(files), func(a, b RenditionFile) int {
		return cmp.Compare(p.Renditions[b.Rendition].Height, p.Renditions[a.Rendition].Height)
	})
	if err := colour.WriteLUT(job.OutDir, p.Input); err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	ctx, cancel := enc.withDeadline(ctx, measureTime(p))
	defer cancel()
	sums := make([]differences, len(files))
	gains := make([]gain, len(files))
	for n := range p.Samples {
		stderr, err := enc.run.Encode(ctx, job, enc.measurePolicy(job, p, files), measureArgs(job, p, files, n), func(float64) {})
		if sparse := job.SparseError(ctx, err, stderr); sparse != nil {
			err = sparse
		} else if ours := ffmpeg.MachineError(err, stderr); ours != nil {
			err = ours
		}
		for i := range files {
			if err == nil {
				err = sums[i].read(job, n, i)
			}
			if err == nil && i+1 < len(files) {
				err = gains[i].read(job, n, i)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("measure sample %d: %w", n, err)
		}
		progress.Report(float64(n+1) / float64(len(p.Samples)))
	}
	found := map[int]video.QualityScore{}
	for i, f := range files {
		if sums[i].frames > 0 {
			score := sums[i].score()
			if i+1 < len(files) && gains[i].isNone() && sameRate([]video.Rendition{p.Renditions[f.Rendition], p.Renditions[files[i+1].Rendition]}) {
				score.NoBetterThan = firstName(p.Renditions[files[i+1].Rendition].Names)
			}
			found[f.Rendition] = score
		}
	}
	return found, nil
}

// measurePolicy allows a run to read the source and the rendition files.
func (enc *Encoder) measurePolicy(job ffmpeg.Job, p *video.Plan, files []RenditionFile) sandbox.Policy {
	may := enc.encodePolicy(job, p, plan.MaxSampleSeek)
	may.Threads = ffmpeg.MaxThreads(2 * len(files)) // their decoders, and filters
	may.Files = baseFiles + 2*len(files)*len(p.Samples)
	for _, f := range files {
		may.Read = append(may.Read, f.Path)
	}
	return may
}

// measureArgs compares sample n of each file with the source. For each file, the
// differences of every frame are written to two files in the job's folder.
func measureArgs(job ffmpeg.Job, p *video.Plan, files []RenditionFile, n int) []string {
	s := p.Samples[n]
	start := p.Input.TimeBase.Seconds(s.Start - p.FirstPTS)
	end := p.Input.TimeBase.Seconds(s.End - p.FirstPTS)

	args := ffmpeg.CommonArgs(job, p.Input, s.Seek, 1) // each thread would decode a frame that is not needed
	for _, f := range files {
		args = append(args, ffmpeg.RenditionInput...)
		if start > 0 {
			args = append(args, "-noaccurate_seek", "-ss", fmt.Sprintf("%.6f", start+0.0005)) // it is a keyframe
		}
		args = append(args, "-i", ffmpeg.FileURL(f.Path))
	}
	var g strings.Builder
	g.WriteString(sourceGraph(p, files, s))
	for i := range files {
		source, film := fmt.Sprintf("split[a%[1]d][b%[1]d]", i), ""
		if i+1 < len(files) {
			source = fmt.Sprintf("split=3[a%[1]d][b%[1]d][u%[1]d]", i)
		}
		if i > 0 {
			film = enlarge(p, files, n, i)
		}
		fmt.Fprintf(&g, ";[v%[1]d]settb=AVTB,setpts=PTS-%[7]d,%[8]s"+
			";[%[2]d:v:0]settb=AVTB,trim=start=%.6[3]f:end=%.6[4]f,setsar=1,format=yuv420p%[9]s[f%[1]d]"+
			";[f%[1]d][a%[1]d]ssim=stats_file=%[5]s:shortest=1[c%[1]d]"+
			";[c%[1]d][b%[1]d]psnr=stats_file=%[6]s:shortest=1[m%[1]d]",
			i, i+1, start, end, statsFile("ssim", n, i), statsFile("psnr", n, i), sourceLead(p), source, film)
	}
	args = append(args, "-filter_complex", g.String())
	for i := range files {
		args = append(args, "-map", fmt.Sprintf("[m%d]", i), "-fps_mode", "passthrough", "-f", "null", "-")
		if i > 0 {
			args = append(args, "-map", fmt.Sprintf("[e%d]", i), "-fps_mode", "passthrough", "-f", "null", "-")
		}
	}
	return args
}

// sourceLead is by how many microseconds the source's frames are moved ahead. A
// frame of an output is compared with the latest frame of the source, which is
// the one with the same time, unless the output's times are rounded.
func sourceLead(p *video.Plan) int {
	if p.Timescale%p.Input.TimeBase.Den == 0 {
		return 0
	}
	return 10
}

// sourceGraph brings a sample of the source to the sizes of the outputs, exactly
// as the encode did. It has all frames, also those that the frame-rate limit
// dropped.
func sourceGraph(p *video.Plan, files []RenditionFile, s video.Chunk) string {
	q := *p
	q.Chunks, q.LimitRate, q.Renditions = []video.Chunk{s}, 0, nil
	for _, f := range files {
		q.Renditions = append(q.Renditions, p.Renditions[f.Rendition])
	}
	selection := chunkFilters(&q, 0)
	if !ffmpeg.HasTimestamps(p.Input) { // all frames pass; times count from the first
		tb := p.Input.TimeBase
		selection = append(selection, "setpts=PTS-STARTPTS", fmt.Sprintf("trim=start=%.6f:end=%.6f", tb.Seconds(s.Start-p.FirstPTS), tb.Seconds(s.End-p.FirstPTS)))
	}
	return graph(&q, selection, toVideo)
}

// statsFile names the file of a filter's numbers. It is relative to ffmpeg's
// working directory, the job's folder.
func statsFile(filter string, sample, file int) string {
	return fmt.Sprintf("%s-%d-%d.txt", filter, sample, file)
}

// differences sums up how the frames of one file differ from the source.
type differences struct {
	frames int
	ssim   float64
	mse    float64 // squared error
}

// read adds the numbers of one file in one sample.
func (d *differences) read(job ffmpeg.Job, sample, file int) error {
	similar, err := readStats(filepath.Join(job.OutDir, statsFile("ssim", sample, file)), "Y")
	if err != nil {
		return err
	}
	noise, err := readStats(filepath.Join(job.OutDir, statsFile("psnr", sample, file)), "mse_y")
	if err != nil {
		return err
	}
	if len(similar) != len(noise) {
		return fmt.Errorf("compared %d frames for similarity and %d for noise", len(similar), len(noise))
	}
	d.frames += len(similar)
	for i := range similar {
		d.ssim += similar[i]
		d.mse += noise[i]
	}
	return nil
}

func (d *differences) score() video.QualityScore {
	const white, best = 255, 100.0
	l := video.QualityScore{SSIM: d.ssim / float64(d.frames), PSNR: best}
	if mse := d.mse / float64(d.frames); mse > 0 {
		l.PSNR = min(best, 10*math.Log10(white*white/mse))
	}
	return l
}

// maxStats is how much a filter may write about one sample, which lasts for
// seconds: some 150 bytes for each frame.
const maxStats = 8 << 20

// readStats returns one number of every line that a filter wrote: words such as
// "n:1 Y:0.973456 U:0.98". No file means no frames.
func readStats(path, name string) ([]float64, error) {
	f, _, err := openOutput(path, "numbers", maxStats)
	if f == nil {
		return nil, err
	}
	defer f.Close()
	var all []float64
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		for word := range strings.FieldsSeq(lines.Text()) {
			value, found := strings.CutPrefix(word, name+":")
			if !found {
				continue
			}
			x, err := strconv.ParseFloat(value, 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("%s is no number in %q", name, lines.Text())
			}
			all = append(all, x)
		}
	}
	return all, lines.Err()
}
