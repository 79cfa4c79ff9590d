package encode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// ChooseQuality decides with which CRF the renditions of a new plan are encoded, and
// writes it into the plan. The same CRF looks different on different pictures, so a
// few frames are encoded first, and what they lost decides. Whatever goes wrong with
// that is no reason not to encode: the CRF is the usual one then. The error is that
// of ctx.
func (enc *Encoder) ChooseQuality(ctx context.Context, job ffmpeg.Job, p *video.Plan) error {
	if enc.encoder.accelerator != Software { // it has no CRF
		return nil
	}
	var shifts []float64
	if enc.adapt && len(p.Trials) > 0 {
		began := time.Now()
		found, err := enc.tryFrames(ctx, job, p)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			enc.log.InfoContext(ctx, "the picture cannot decide the CRF; the usual one is used", "err", err)
		default:
			shifts = shiftsOf(p, found)
			enc.log.DebugContext(ctx, "CRF chosen", "shifts", shifts, "took", time.Since(began))
		}
	}
	applyShifts(p, shifts)
	return nil
}

// applyShifts writes the CRF of each rendition into a plan: for H.264, and for what is
// made beside it later. Without shifts it is the usual one.
func applyShifts(p *video.Plan, shifts []float64) {
	codecs := append([]video.Codec{video.H264}, video.ExtraCodecs...)
	for i := range p.Renditions {
		r := &p.Renditions[i]
		if i < len(shifts) && r.Profile.CRF == 0 {
			r.Shift = shifts[i]
		}
		r.CRF = map[video.Codec]float64{}
		for _, c := range codecs {
			r.CRF[c] = effortOf(c, p.Quality, *r).crf + math.Round(r.Shift/steps[c])*steps[c]
		}
	}
}

// steps are the smallest steps of the CRF of each codec.
var steps = map[video.Codec]float64{video.H264: 0.5, video.HEVC: 0.5, video.AV1: 1}

// The trial is always the same, so that its figures can be compared, whatever the
// frames are encoded with later.
const (
	tryPreset = "veryfast"
	tryCRF    = 25
	// tryTime is how long a trial may delay the video.
	tryTime = 15 * time.Second
)

// trySides are the longest shorter sides of the sizes that are tried: of each, the
// largest rendition that is no larger. Others have the shift of the one next to them.
// They are smaller for a film that can be played while it is encoded, because a viewer may be waiting.
func trySides(p *video.Plan) []int {
	if p.Early != nil {
		return []int{720, 480}
	}
	return []int{1080, 480}
}

// triedSizes returns the indices of the renditions that are tried.
func triedSizes(p *video.Plan) []int {
	var tried []int
	all := p.Renditions
	for _, side := range trySides(p) {
		best := -1
		for i, r := range all {
			if min(r.Width, r.Height) <= side && (best < 0 || r.Height > all[best].Height) {
				best = i
			}
		}
		if best >= 0 && !slices.Contains(tried, best) {
			tried = append(tried, best)
		}
	}
	return tried
}

// tryFrames encodes the trials of a plan at some of its sizes, compares the result
// with the source at a fraction of these sizes, and returns what was found, by rendition.
func (enc *Encoder) tryFrames(ctx context.Context, job ffmpeg.Job, p *video.Plan) (map[int]trialResult, error) {
	q, tried := *p, triedSizes(p)
	if len(tried) == 0 {
		return nil, errors.New("all sizes are too large for a trial")
	}
	q.Renditions = nil
	for _, i := range tried {
		q.Renditions = append(q.Renditions, p.Renditions[i])
	}
	if err := colour.WriteLUT(job.OutDir, p.Input); err != nil {
		return nil, err
	}
	job = trialJob(job, p)
	defer removeTrial(job, len(tried))
	ctx, cancel := context.WithTimeoutCause(ctx, enc.tryTime, ffmpeg.ErrTimeLimit)
	defer cancel()
	for _, args := range [][]string{tryArgs(job, &q, enc.threads), shrinkArgs(job, &q)} {
		if _, err := enc.run.Encode(ctx, job, enc.tryPolicy(job, &q), args, func(float64) {}); err != nil {
			return nil, err
		}
	}
	found := map[int]trialResult{}
	for i, n := range tried {
		r, err := readTrialResult(job, &q, i)
		if err != nil {
			return nil, err
		}
		found[n] = r
	}
	return found, nil
}

// TrialBytes is roughly how many bytes the trials of a plan take on the disk meanwhile.
func TrialBytes(p *video.Plan) (sum int64) {
	for _, i := range triedSizes(p) {
		r := p.Renditions[i]
		w, h := smallSize(r)
		// The frames before and after at a fraction of their size, and encoded with half a byte for each pixel.
		sum += int64(len(p.Trials)) * video.MaxTrialFrames * int64(2*w*h+r.Width*r.Height/2)
	}
	return sum
}

// trialJob is the job of a trial. It stands back as encodes do, unless the film can be played while it is encoded.
func trialJob(job ffmpeg.Job, p *video.Plan) ffmpeg.Job {
	if p.Early == nil {
		job.Yield = max(job.Yield, 1)
	}
	return job
}

// removeTrial removes the files of a trial. The task has a folder of its own, so what cannot be removed
// goes with that.
func removeTrial(job ffmpeg.Job, renditions int) {
	for i := range renditions {
		for _, path := range []string{tryPath(job, i), shrunkPath(job, "before", i), shrunkPath(job, "after", i)} {
			_ = os.Remove(path)
		}
	}
}

func (enc *Encoder) tryPolicy(job ffmpeg.Job, p *video.Plan) sandbox.Policy {
	may := enc.encodePolicy(job, p, time.Minute)
	may.Threads = ffmpeg.MaxThreads(len(p.Renditions) + len(p.Trials))
	return may
}

func tryPath(job ffmpeg.Job, rendition int) string {
	return filepath.Join(job.OutDir, fmt.Sprintf("try%d.h264", rendition))
}

func shrunkPath(job ffmpeg.Job, name string, rendition int) string {
	return filepath.Join(job.OutDir, fmt.Sprintf("%s%d.gray", name, rendition))
}

// shrinkBy is how much smaller frames are compared. Noise is mostly gone then, and so
// it does not count; what people notice is still there. It is also far cheaper.
const shrinkBy = 2

func smallSize(r video.Rendition) (width, height int) {
	return max(r.Width/shrinkBy, 32), max(r.Height/shrinkBy, 32)
}

func shrink(r video.Rendition) string {
	w, h := smallSize(r)
	return fmt.Sprintf("extractplanes=y,scale=%d:%d:flags=area", w, h)
}

// tryArgs encodes the trials of a plan, one after the other, at every rendition, and
// stores the frames at a fraction of it.
func tryArgs(job ffmpeg.Job, p *video.Plan, threads int) []string {
	args := ffmpeg.CommonArgs(job, p.Input, p.Trials[0].Seek, threads)
	for _, c := range p.Trials[1:] {
		args = append(args, ffmpeg.SourceArgs(job, p.Input, c.Seek, threads)...)
	}
	q, graphs, all := *p, "", ""
	q.Chunks, q.LimitRate = p.Trials, 0
	for n := range p.Trials {
		graphs += fmt.Sprintf("[%d:%d]%s,setpts=PTS-STARTPTS[t%d];", n, p.Input.VideoStream, strings.Join(chunkFilters(&q, n), ","), n)
		all += fmt.Sprintf("[t%d]", n)
	}
	graphs += graphFrom(all, &q, []string{fmt.Sprintf("concat=n=%d", len(p.Trials))}, toVideo, everyFrame)
	for i, r := range p.Renditions {
		graphs += fmt.Sprintf(";[v%[1]d]format=yuv420p,split[e%[1]d][f%[1]d];[f%[1]d]%[2]s[h%[1]d]", i, shrink(r))
	}
	args = append(args, "-filter_complex", graphs)
	for i := range p.Renditions {
		args = append(args, "-map", fmt.Sprintf("[e%d]", i), "-c:v", "libx264", "-preset", tryPreset, "-crf", strconv.Itoa(tryCRF),
			"-threads", strconv.Itoa(threads), "-fps_mode", "passthrough", "-f", "h264", ffmpeg.FileURL(tryPath(job, i)),
			"-map", fmt.Sprintf("[h%d]", i), "-fps_mode", "passthrough", "-f", "rawvideo", ffmpeg.FileURL(shrunkPath(job, "before", i)))
	}
	return args
}

// shrinkArgs brings what tryArgs made to the size at which it is compared.
func shrinkArgs(job ffmpeg.Job, p *video.Plan) []string {
	args := ffmpeg.RunArgs()
	for i := range p.Renditions {
		args = append(args, "-protocol_whitelist", "file", "-codec_whitelist", "h264", "-threads", "1", "-f", "h264", "-i", ffmpeg.FileURL(tryPath(job, i)))
	}
	for i, r := range p.Renditions {
		args = append(args, "-map", fmt.Sprintf("%d:v", i), "-vf", shrink(r), "-fps_mode", "passthrough", "-f", "rawvideo", ffmpeg.FileURL(shrunkPath(job, "after", i)))
	}
	return args
}
