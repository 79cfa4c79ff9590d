package encode

import (
	"context"
	"fmt"
	"slices"

	"github.com/spool-video/spool/internal/engine/colour"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// AudioAndPoster is EncodeAudio and Poster of a short clip in one run, because starting
// another takes longer than all that it does. Both are the same to the byte as those of runs
// of their own. The poster is "" if its first frame is not good: Poster looks at others.
//
// An error says nothing about the file. Each of the two may still be made by itself.
func (enc *Encoder) AudioAndPoster(ctx context.Context, job ffmpeg.Job, p *video.Plan, progress ffmpeg.Progress) (audio Output, poster string, err error) {
	still := posterStills(p, p.Poster.Frames[0])
	shots := plan.Batches(still)
	undecoded, err := enc.runBoth(ctx, job, p, still, shots, progress)
	if err == nil {
		audio, err = checkFile(audioPath(job), "", nil, p.Duration)
	}
	if err == nil && audio.Frames == 0 {
		err = ErrNoAudio
	}
	if err == nil {
		poster, err = firstPoster(job, p, still, shots[0])
	}
	if err != nil {
		return Output{}, "", fmt.Errorf("audio and poster: %w", err)
	}
	progress.Report(1)
	audio.Lost = lostAudio(p, undecoded)
	return audio, poster, nil
}

// firstPoster returns the poster of a run for both, or "" if it is not good.
func firstPoster(job ffmpeg.Job, p, still *video.Plan, shot plan.Batch) (string, error) {
	made, err := collect(job, still, shot)
	if err != nil {
		return "", err
	}
	first, err := bestPoster(p, made)
	if err != nil || first.score < goodFrame {
		return "", err
	}
	return writePoster(job, first.picture)
}

// runBoth runs ffmpeg, and returns how many packets of the audio could not be decoded. Only a run without any
// error counts; what the error means, a run for one of the two finds out.
func (enc *Encoder) runBoth(ctx context.Context, job ffmpeg.Job, p, still *video.Plan, shots []plan.Batch, progress ffmpeg.Progress) (undecoded int, err error) {
	if err := colour.WriteLUT(job.OutDir, p.Input); err != nil {
		return 0, err
	}
	ctx, cancel := enc.withDeadline(ctx, audioTime(p, job.Source)+thumbnailTime(shots, enc.run.StallTimeout()))
	defer cancel()
	undecoded, _, err = enc.run.EncodeCounting(ctx, job, enc.encodePolicy(job, p, p.Duration), bothArgs(job, p, still, shots[0], enc.threads), p.Audio.Stream, func(at float64) {
		progress.Report(at / p.Duration.Seconds())
	})
	return undecoded, err
}

// bothArgs read the source twice: from its beginning for the audio, and where the frames of the poster are. The poster
// is the first output: as a later one, ffmpeg 5 would decode the rest of the video after it has its frames.
func bothArgs(job ffmpeg.Job, p, still *video.Plan, b plan.Batch, threads int) []string {
	return slices.Concat(ffmpeg.CommonArgs(job, p.Input, video.NoSeek, threads), ffmpeg.SourceArgs(job, p.Input, b.Seek, posterOptions.threads),
		thumbnailOutputs(still, 1, b, posterOptions), audioOutput(job, p, audioGraph(p)))
}
