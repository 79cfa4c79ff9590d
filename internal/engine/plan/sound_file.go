package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

// InspectSound probes a file of which a sound track is made for a video with a plan. It returns a plan whose audio is the
// sound of that file, from its beginning and as long as the video. A file without sound is a *video.Failure.
func (i *Inspector) InspectSound(ctx context.Context, job ffmpeg.Job, of *video.Plan) (*video.Plan, error) {
	job.Sound = true
	found, err := i.prober.ProbeSound(ctx, job)
	if failure, ok := errors.AsType[*video.Failure](err); ok && failure.Code == video.Corrupt {
		return nil, video.Failf(video.Corrupt, "The file is damaged, or it is none with sound.")
	}
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	track, err := soundIn(found)
	if err != nil {
		return nil, err
	}
	tb := probe.ParseRatio(track.TimeBase)
	begin := min(max(found.Format.Start, -latest), latest)
	p := &video.Plan{
		Input:     video.Input{Container: found.Format.Name, TimeBase: tb, RawClock: found.RawClock, EditStarts: found.EditStarts},
		Timescale: of.Timescale, Duration: of.Duration, FirstPTS: int64(math.Round(tb.Ticks(begin))), Audio: new(newAudio(track, nil)), LoudnessTarget: of.LoudnessTarget,
	}
	fitAudio(found, p, p.Audio, track)
	return p, nil
}

// soundIn returns the sound of a file: its default track, or else the first.
func soundIn(found *probe.Result) (probe.Stream, error) {
	var tracks []probe.Stream
	var why *video.Failure
	for _, s := range found.Streams {
		switch failure := undecodable(found, s); {
		case s.Type != "audio":
		case failure != nil:
			why = cmp.Or(why, failure)
		case found.Timelines[s.Index] == nil || probe.ParseRatio(s.TimeBase).Den <= 0:
			why = cmp.Or(why, video.Failf(video.Corrupt, "This sound track is damaged and could not be decoded."))
		default:
			tracks = append(tracks, s)
		}
	}
	if len(tracks) == 0 {
		return probe.Stream{}, cmp.Or(why, video.Failf(video.NoAudioStream, "The file holds no sound."))
	}
	return tracks[max(0, slices.IndexFunc(tracks, func(s probe.Stream) bool { return s.Disposition["default"] != 0 }))], nil
}
