package media

import (
	"math"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	// A sample is a sixtieth of the film: three of them cost a few hundredths of
	// what encoding it did. Longer ones tell no more.
	samplePart   = 60
	leastSample  = 100 * time.Millisecond
	sampleLength = 500 * time.Millisecond
	// keyEvery is how far apart keyframes of the films are, at most.
	keyEvery = 2 * time.Second
	// farthest is how much of a film may be decoded in vain to get to a sample.
	farthest = 10 * time.Second
)

// samples chooses where finished films are compared with their source: at the
// beginning, about the middle and near the end. Comparing has to be cheap, and
// decoding is most of it; so a sample begins where keyframes of the source and
// of the films are near.
func samples(p *video.Plan, line *timeline, reliable bool) []video.Chunk {
	s := newSampler(p, line)
	var out []video.Chunk
	free := line.first // no sample may begin before
	for _, target := range []int64{line.first, line.first + (line.last-line.first)/2, s.latest} {
		at, ok := s.near(target, free)
		if !ok {
			continue
		}
		free = at.start + s.length
		c := video.Chunk{Start: at.start, End: free, Seek: video.NoSeek}
		switch {
		case at.key == line.first: // needs no seeking
		case reliable:
			c.Seek = at.key
		default:
			c.Seek = line.seekTo(at.key, 1) // seeking may land behind the keyframe aimed at
		}
		out = append(out, c)
	}
	return out
}

// sampler looks for places where little has to be decoded.
type sampler struct {
	line   *timeline
	tb     video.Ratio
	chunks []video.Chunk
	keys   []int64 // where decoding the source can begin
	length int64
	latest int64   // when a sample may begin
	reach  int64   // how far it may be from where it ought to be
	source float64 // pixels of a frame
	films  float64 // pixels of a frame of all films
}

func newSampler(p *video.Plan, line *timeline) *sampler {
	s := &sampler{
		line: line, tb: p.Input.TimeBase, chunks: p.Chunks, keys: []int64{line.first},
		source: float64(p.Input.CodedWidth) * float64(p.Input.CodedHeight),
	}
	for _, r := range p.Renditions {
		s.films += float64(r.Width) * float64(r.Height)
	}
	// Of a source that cannot be sought in, only the beginning is in reach.
	if timed(p.Input) && !line.untimed {
		for _, k := range line.keys {
			s.keys = append(s.keys, max(k.pts, line.first))
		}
	}
	s.length = max(min((line.last-line.first)/samplePart, s.ticks(sampleLength)), s.ticks(leastSample), 1)
	s.latest = max(line.last-s.length, line.first)
	s.reach = min(max((line.last-line.first)/6, s.ticks(keyEvery)), s.ticks(farthest))
	return s
}

func (s *sampler) ticks(d time.Duration) int64 { return int64(s.tb.Ticks(d.Seconds())) }

// place is where a sample may begin.
type place struct {
	key, start int64   // where decoding the source begins, and where comparing does
	waste      float64 // pixels times ticks that are decoded and not compared
}

// near finds the cheapest place around target, at free or later. Where there is
// no keyframe around, the last one before has to do.
func (s *sampler) near(target, free int64) (best place, ok bool) {
	before := s.line.first
	for _, k := range s.keys {
		if k <= target {
			before = max(before, k)
		}
		if abs(k-target) > s.reach {
			continue
		}
		for _, p := range s.behind(k, free) {
			closer := p.waste == best.waste && abs(p.start-target) < abs(best.start-target)
			if !ok || p.waste < best.waste || closer {
				best, ok = p, true
			}
		}
	}
	if ok {
		return best, true
	}
	for _, p := range s.behind(before, free) {
		return p, true
	}
	return place{}, false
}

func abs(n int64) int64 { return max(n, -n) }

// behind returns the places that decoding from keyframe k comes to: itself, and
// the next keyframe of the films.
func (s *sampler) behind(k, free int64) (all []place) {
	starts := []int64{k}
	if next, found := s.filmKey(max(k, free)); found {
		starts = append(starts, next)
	}
	for _, start := range starts {
		if start >= free && start <= s.latest && start-k <= s.reach {
			waste := float64(start-k)*s.source + float64(s.fromFilmKey(start))*s.films
			all = append(all, place{key: k, start: start, waste: waste})
		}
	}
	return all
}

// filmKey returns the first frame at or after pts that is a keyframe of the
// films, as far as the two seconds between them tell.
func (s *sampler) filmKey(pts int64) (int64, bool) {
	n := math.Ceil(s.tb.Seconds(pts-s.line.first)/keyEvery.Seconds() - 1e-5)
	i, _ := slices.BinarySearch(s.line.shown, s.line.first+s.ticks(time.Duration(n)*keyEvery))
	if i == len(s.line.shown) {
		return 0, false
	}
	return s.line.shown[i], true
}

// fromFilmKey returns how long before pts the films have a keyframe.
func (s *sampler) fromFilmKey(pts int64) int64 {
	if slices.ContainsFunc(s.chunks, func(c video.Chunk) bool { return c.Start == pts }) {
		return 0
	}
	every := s.ticks(keyEvery)
	first, found := s.filmKey(s.line.first + (pts-s.line.first)/max(every, 1)*every)
	if !found || first > pts {
		return every
	}
	return pts - first
}
