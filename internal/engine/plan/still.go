package plan

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	// stillKeys is after how many frames of a still a chunk may begin: where its renditions have keyframes.
	stillKeys = 2 * video.StillRate
	// stillChunks is how many times as long a chunk of a still is. It takes seconds to encode all the same.
	stillChunks = 6
	// longestSound is of how long a file a part can be made, if all of its times are to be noted.
	longestSound = 10 * maxDuration
)

// stillBase is the time base of stills. Frames and nearly all samples are whole numbers of it.
var stillBase = video.Ratio{Num: 1, Den: 90_000}

// addStill gives a file that has sound and no picture one to show. Others stay as they are.
func (i *Inspector) addStill(ctx context.Context, job ffmpeg.Job, found *probe.Result, t *video.Trim) error {
	track, err := found.Sound()
	if err != nil || track == nil {
		return err
	}
	from, to := found.SoundSpan(*track)
	seconds := to - from
	if seconds > longestSound.Seconds() {
		return tooLong(seconds)
	}
	picture, err := i.covers.Make(ctx, job, found, *track, time.Duration(seconds*float64(time.Second)))
	if err != nil {
		return fmt.Errorf("picture of the sound: %w", err)
	}
	found.Show(picture.Kind, picture.Width, picture.Height, stillBase, stillLine(from, to, t))
	return nil
}

// stillLine returns when the frames of a still are shown whose sound begins and ends at these seconds. They count from
// where the part begins that is to be made, so that it begins exactly there.
func stillLine(from, to float64, t *video.Trim) *probe.Timeline {
	ticks := func(seconds float64) int64 { return int64(math.Round(stillBase.Ticks(seconds))) }
	line := probe.NewTimeline()
	add := func(pts, next int64, key bool) {
		p := probe.Packet{Type: "video", PTS: pts, DTS: pts, Duration: next - pts, Position: -1}
		if key {
			p.Flags = "K"
		}
		line.Add(p)
	}
	begin, end := ticks(from), max(ticks(to), ticks(from)+1)
	if t != nil && t.Start > 0 {
		part := min(begin+ticks(min(t.Start, latest)), end)
		add(begin, part, true)
		begin = part
	}
	step := ticks(1.0 / video.StillRate)
	for n := int64(0); begin+n*step < end; n++ {
		add(begin+n*step, min(begin+(n+1)*step, end), n%stillKeys == 0)
	}
	return line
}

// forStill returns chunks of a still, which are long: encoding one takes little more time than beginning it.
func (c Chunking) forStill() Chunking {
	c.Length *= stillChunks
	return c
}

// showStill has all pictures of a plan be the one that there is. Storyboard, preview and measuring are left out,
// because they tell nothing about it.
func showStill(p *video.Plan) {
	p.Input.VideoStream = 0 // of the picture
	for i := range p.Thumbnails {
		p.Thumbnails[i].PTS, p.Thumbnails[i].Seek = p.FirstPTS, video.NoSeek
	}
	p.Poster.Frames = []video.PosterFrame{{PTS: p.FirstPTS, Next: p.FirstPTS, Seek: video.NoSeek}}
	p.Pictures, p.Samples = false, nil
}
