package encode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/video"
)

const (
	// silentBelow is where the gate of EBU R 128 is, in LUFS: a track that is nowhere louder has no loudness.
	silentBelow = -70
	// leastRange is how long a track has to be to have a loudness range, which compares what is heard in three seconds each:
	// of the first of them alone, ffmpeg tells one of 20 LU.
	leastRange = 4 * time.Second
	// peakRate is the sample rate at which peaks are measured and limited: they are higher between the samples.
	peakRate = 4 * sampleRate
	// overshoot is how many dB more than its input AAC was seen to have: up to 0.7 with films and speech, and 1.7 with
	// noise and clicks. trialBelow is how far below the highest peak a track has to stay to need no trial.
	overshoot, trialBelow = 0.5, 3.0
	// trials is how often a track is encoded to find the limit that keeps its peaks low enough.
	trials = 4

	mostDecibels = 1000 // more is no level
	loudnessFile = "loudness.txt"
)

// levelFilters change a track as its plan says: by one gain and, where that is not enough, with a limiter that looks ahead.
func levelFilters(a *video.Audio) string {
	filters := ""
	if a.Gain != 0 {
		filters = fmt.Sprintf(",volume=%.2fdB:precision=float", a.Gain)
	}
	if a.Limit != nil {
		filters += fmt.Sprintf(",aresample=%d,alimiter=level=false:latency=true:limit=%.6f,aresample=%d", peakRate, math.Pow(10, *a.Limit/20), sampleRate)
	}
	return filters
}

// exactLevel are the options that keep the AAC encoder from changing the loudness of a single channel: with them, noise was
// seen to lose 0.1 LU; without, to gain 0.7.
func exactLevel(p *video.Plan) []string {
	if p.LoudnessTarget == 0 || p.Audio.Channels != 1 {
		return nil
	}
	return []string{"-aac_pns", "0", "-aac_is", "0"}
}

// measuredGraph also measures what comes from some filters and lasts length. A few words about its last second are all that
// is written. Samples are floating-point numbers: in 16 bits, what is too loud or very quiet would be another sound.
func measuredGraph(filters string, length time.Duration) string {
	return fmt.Sprintf("%s,aformat=sample_fmts=fltp,asplit[a][s];[s]ebur128=metadata=1,aresample=%d,aformat=sample_fmts=fltp,astats=metadata=1:measure_perchannel=none:measure_overall=Peak_level,"+
		"aselect='gte(t,%.6f)',ametadata=mode=print:file=%s[m]", filters, peakRate, (length - time.Second).Seconds(), loudnessFile)
}

// meterOutput has ffmpeg run the meter of a measuredGraph.
var meterOutput = []string{"-map", "[m]", "-f", "null", "-"}

// readMeter reads what the last run of a job has measured of a track, and removes it. Nothing is silence.
func readMeter(job ffmpeg.Job, p *video.Plan) (*video.Loudness, error) {
	path := filepath.Join(job.OutDir, loudnessFile)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return new(video.Loudness), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 1 << 20 // the program that wrote it may be hostile
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err := errors.Join(err, os.Remove(path)); err != nil {
		return nil, err
	}
	last := map[string]*float64{}
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte("="))
		if x, err := strconv.ParseFloat(string(value), 64); err == nil && math.Abs(x) < mostDecibels {
			last[string(key)] = new(math.Round(x*100) / 100)
		}
	}
	l := &video.Loudness{TruePeak: last["lavfi.astats.Overall.Peak_level"]}
	if i := last["lavfi.r128.I"]; i != nil && *i > silentBelow {
		l.Integrated = i
		if p.Duration >= leastRange {
			l.Range = last["lavfi.r128.LRA"]
		}
	}
	return l, nil
}

// Level measures the sound of a plan and decides how it becomes as loud as the plan says, without peaks that are too high:
// AAC makes them higher than they were, so a track whose peaks come near is encoded on trial. Silence stays as it is.
func (enc *Encoder) Level(ctx context.Context, job ffmpeg.Job, p *video.Plan, progress ffmpeg.Progress) (*video.Loudness, error) {
	l, err := enc.measureSource(ctx, job, p, progress)
	if err != nil || l.TruePeak == nil {
		return l, err
	}
	if l.Integrated != nil {
		l.Gain = math.Round((p.LoudnessTarget-*l.Integrated)*100) / 100
	}
	peak := *l.TruePeak + l.Gain
	if peak < video.MaxTruePeak-trialBelow {
		return l, nil
	}
	if peak > video.MaxTruePeak {
		peak = video.MaxTruePeak - overshoot
		l.Limit = new(peak)
	}
	for range trials {
		over, err := enc.tryLevel(ctx, job, p.Levelled(l))
		if err != nil || over <= 0 {
			return l, err
		}
		peak = math.Round((peak-over-0.1)*100) / 100
		l.Limit = new(peak)
	}
	return l, nil
}

// measureSource measures the sound of a plan. What cannot be decoded is silence.
func (enc *Encoder) measureSource(ctx context.Context, job ffmpeg.Job, p *video.Plan, progress ffmpeg.Progress) (*video.Loudness, error) {
	if p.Audio == nil {
		return new(video.Loudness), nil
	}
	ctx, cancel := enc.withDeadline(ctx, audioTime(p, job.Source))
	defer cancel()
	job.Patience = patience(p, p.Audio.SeekTo())
	args := slices.Concat(ffmpeg.CommonArgs(job, p.Input, p.Audio.SeekTo(), enc.threads), []string{
		"-filter_complex", measuredGraph(audioFilters(p, audioRun{padded: true}), p.Duration), "-map", "[a]", "-f", "null", "-"}, meterOutput)
	stderr, err := enc.run.Encode(ctx, job, enc.encodePolicy(job, p, p.Duration), args, func(at float64) {
		progress.Report(at / p.Duration.Seconds())
	})
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		return nil, fmt.Errorf("measure the loudness: %w", ours)
	}
	if err != nil && !ffmpeg.SourceDamaged(stderr) {
		return nil, fmt.Errorf("measure the loudness: %w", err)
	}
	return readMeter(job, p)
}

// tryLevel encodes the sound of a plan and returns by how many dB its peaks are too high.
func (enc *Encoder) tryLevel(ctx context.Context, job ffmpeg.Job, p *video.Plan) (over float64, err error) {
	made, err := enc.encodeAudio(ctx, job, p, audioRun{padded: true}, nil)
	if err != nil || made.Frames == 0 {
		return 0, err
	}
	ctx, cancel := enc.withDeadline(ctx, p.Duration)
	defer cancel()
	may := enc.encodePolicy(job, p, p.Duration)
	may.Read = []string{made.Path}
	args := slices.Concat(ffmpeg.RunArgs(), ffmpeg.RenditionInput, []string{"-i", ffmpeg.FileURL(made.Path),
		"-filter_complex", measuredGraph("[0:0]anull", p.Duration), "-map", "[a]", "-f", "null", "-"}, meterOutput)
	stderr, err := enc.run.Encode(ctx, job, may, args, func(float64) {})
	if ours := ffmpeg.MachineError(err, stderr); ours != nil {
		err = ours
	}
	if err != nil {
		return 0, fmt.Errorf("measure the peaks of the sound: %w", err)
	}
	l, err := readMeter(job, p)
	if err != nil || l.TruePeak == nil {
		return 0, err
	}
	return *l.TruePeak - video.MaxTruePeak, nil
}
