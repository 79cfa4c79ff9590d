package plan

import (
	"math"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

const (
	// A sample is a sixtieth of the video: three of them cost a few percent of
	// the encode. Longer ones are no more accurate.
	samplePart   = 60
	leastSample  = 100 * time.Millisecond
	sampleLength = 500 * time.Millisecond
	// keyEvery is the largest distance between keyframes of the outputs.
	keyEvery = 2 * time.Second
	// MaxSampleSeek is how much may be decoded without being compared, to get to
	// a sample.
	MaxSampleSeek = 10 * time.Second
)

// samples chooses where finished rendition files are compared with their source:
// at the beginning, about the middle and near the end. Decoding is most of the
// cost, so a sample begins where a keyframe of the source and one of the outputs
// are close together.
func samples(p *video.Plan, line *probe.Timeline, reliable bool) []video.Chunk {
	s := newSampler(p, line)
	var out []video.Chunk
	free := line.First // no sample may begin earlier
	for _, target := range []int64{line.First, line.First + (line.Last-line.First)/2, s.latest} {
		at, ok := s.nearestCandidate(target, free)
		if !ok {
			continue
		}
		free = at.start + s.length
		c := video.Chunk{Start: at.start, End: free, Seek: video.NoSeek}
		switch {
		case at.key == line.First:
			c.Seek = line.Opening(backUnless(reliable))
		case reliable:
			c.Seek = at.key
		default:
			c.Seek = line.SeekTo(at.key, 1) // seeking may land behind the keyframe aimed at
		}
		out = append(out, c)
	}
	return out
}

// sampler looks for places where little has to be decoded.
type sampler struct {
	line    *probe.Timeline
	tb      video.Ratio
	chunks  []video.Chunk
	keys    []int64 // where decoding the source can begin
	length  int64
	latest  int64   // when a sample may begin
	reach   int64   // how far it may be from its target
	source  float64 // pixels of a frame
	outputs float64 // pixels of a frame of all renditions
}

func newSampler(p *video.Plan, line *probe.Timeline) *sampler {
	s := &sampler{
		line: line, tb: p.Input.TimeBase, chunks: p.Chunks, keys: []int64{line.First},
		source: float64(p.Input.CodedWidth) * float64(p.Input.CodedHeight),
	}
	for _, r := range p.Renditions {
		s.outputs += float64(r.Width) * float64(r.Height)
	}
	// Without seeking, only the beginning is in reach.
	if ffmpeg.HasTimestamps(p.Input) && !line.Untimed {
		for _, k := range line.Keys {
			s.keys = append(s.keys, max(k.PTS, line.First))
		}
	}
	s.length = max(min((line.Last-line.First)/samplePart, s.ticks(sampleLength)), s.ticks(leastSample), 1)
	s.latest = max(line.Last-s.length, line.First)
	s.reach = min(max((line.Last-line.First)/6, s.ticks(keyEvery)), s.ticks(MaxSampleSeek))
	return s
}

func (s *sampler) ticks(d time.Duration) int64 { return int64(s.tb.Ticks(d.Seconds())) }

// candidate is where a sample may begin.
type candidate struct {
	key, start int64   // where decoding the source begins, and where comparing does
	waste      float64 // pixels times ticks that are decoded and not compared
}

// nearestCandidate finds the cheapest candidate around target, at free or later. If there is
// no keyframe around, the last one before is used.
func (s *sampler) nearestCandidate(target, free int64) (best candidate, ok bool) {
	before := s.line.First
	for _, k := range s.keys {
		if k <= target {
			before = max(before, k)
		}
		if abs(k-target) > s.reach {
			continue
		}
		for _, p := range s.candidatesAfter(k, free) {
			closer := p.waste == best.waste && abs(p.start-target) < abs(best.start-target)
			if !ok || p.waste < best.waste || closer {
				best, ok = p, true
			}
		}
	}
	if ok {
		return best, true
	}
	for _, p := range s.candidatesAfter(before, free) {
		return p, true
	}
	return candidate{}, false
}

func abs(n int64) int64 { return max(n, -n) }

// candidatesAfter returns the candidates that decoding from keyframe k leads to: k itself,
// and the next keyframe of the outputs.
func (s *sampler) candidatesAfter(k, free int64) (all []candidate) {
	starts := []int64{k}
	if next, found := s.outputKey(max(k, free)); found {
		starts = append(starts, next)
	}
	for _, start := range starts {
		if start >= free && start <= s.latest && start-k <= s.reach {
			waste := float64(start-k)*s.source + float64(s.sinceOutputKey(start))*s.outputs
			all = append(all, candidate{key: k, start: start, waste: waste})
		}
	}
	return all
}

// outputKey returns the first frame at or after pts that is a keyframe of the
// outputs, as far as their distance of two seconds tells.
func (s *sampler) outputKey(pts int64) (int64, bool) {
	n := math.Ceil(s.tb.Seconds(pts-s.line.First)/keyEvery.Seconds() - 1e-5)
	i, _ := slices.BinarySearch(s.line.Shown, s.line.First+s.ticks(time.Duration(n)*keyEvery))
	if i == len(s.line.Shown) {
		return 0, false
	}
	return s.line.Shown[i], true
}

// sinceOutputKey returns how long before pts the outputs have a keyframe.
func (s *sampler) sinceOutputKey(pts int64) int64 {
	if slices.ContainsFunc(s.chunks, func(c video.Chunk) bool { return c.Start == pts }) {
		return 0
	}
	every := s.ticks(keyEvery)
	first, found := s.outputKey(s.line.First + (pts-s.line.First)/max(every, 1)*every)
	if !found || first > pts {
		return every
	}
	return pts - first
}
