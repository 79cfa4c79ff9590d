package plan

import (
	"slices"

	"github.com/spool-video/spool/internal/video"
)

// Batch is what one run of ffmpeg makes: thumbnails that are close together, so
// that decoding what is between them costs less than another run.
type Batch struct {
	Seek  int64
	Shots []Shot // in order of time
}

// Shot is one frame of the source, and the thumbnails that show it.
type Shot struct {
	PTS        int64
	Thumbnails []int // indexes in video.Plan.Thumbnails
}

// startCost is how many seconds of video can be decoded in the time that it
// takes to start a run and to open the file.
const startCost = 1.0

// Batches groups the thumbnails of a plan.
func Batches(p *video.Plan) []Batch {
	order := make([]int, len(p.Thumbnails))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(min(max(p.Thumbnails[a].PTS-p.Thumbnails[b].PTS, -1), 1))
	})
	var out []Batch
	for _, i := range order {
		t := p.Thumbnails[i]
		if len(out) == 0 || !out[len(out)-1].reaches(t, p) {
			out = append(out, Batch{Seek: t.Seek})
		}
		b := &out[len(out)-1]
		if n := len(b.Shots); n > 0 && b.Shots[n-1].PTS == t.PTS {
			b.Shots[n-1].Thumbnails = append(b.Shots[n-1].Thumbnails, i)
		} else {
			b.Shots = append(b.Shots, Shot{PTS: t.PTS, Thumbnails: []int{i}})
		}
	}
	return out
}

// reaches reports whether decoding on to a thumbnail costs less than another
// run.
func (b *Batch) reaches(t video.Thumbnail, p *video.Plan) bool {
	tb := p.Input.TimeBase
	from := max(t.Seek, p.Origin())
	return tb.Seconds(t.PTS-b.Shots[len(b.Shots)-1].PTS) <= tb.Seconds(t.PTS-from)+startCost
}
