package audience

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// sums are what is counted of a video or a tenant in an hour or a day. Times are in milliseconds.
type sums struct {
	Views, Quiet, Followed, Completed, Viewers int64
	Watched, Stalls, Stalled, Failures, Bytes  int64
	lists
}

// tally is a line of a list.
type tally struct {
	Views   int64 `json:"v,omitempty"`
	Watched int64 `json:"w,omitempty"`
}

// lists are what is counted by name. They are stored as JSON.
type lists struct {
	Devices   map[string]tally `json:"devices,omitempty"`
	Browsers  map[string]tally `json:"browsers,omitempty"`
	Countries map[string]tally `json:"countries,omitempty"`
	Referrers map[string]tally `json:"referrers,omitempty"`
	Qualities map[string]tally `json:"qualities,omitempty"`
	Startup   []int64          `json:"startup,omitempty"` // a histogram: see startupBounds
	Parts     []int64          `json:"parts,omitempty"`   // views that saw each part of the film
}

// maxNames is how many names a list has. What comes later is counted as otherName.
const (
	maxNames  = 50
	otherName = "other"
)

func addTo(list *map[string]tally, name string, t tally) {
	if *list == nil {
		*list = map[string]tally{}
	}
	if _, there := (*list)[name]; !there && len(*list) >= maxNames {
		name = otherName
	}
	sum := (*list)[name]
	(*list)[name] = tally{sum.Views + t.Views, sum.Watched + t.Watched}
}

func (l *lists) device(name string, t tally)   { addTo(&l.Devices, name, t) }
func (l *lists) browser(name string, t tally)  { addTo(&l.Browsers, name, t) }
func (l *lists) country(name string, t tally)  { addTo(&l.Countries, name, t) }
func (l *lists) referrer(name string, t tally) { addTo(&l.Referrers, name, t) }
func (l *lists) quality(name string, t tally)  { addTo(&l.Qualities, name, t) }

func (l *lists) part(n int) { addAt(&l.Parts, n, 1) }

// maxCells is how many cells a list of numbers has.
const maxCells = 128

func addAt(list *[]int64, n int, by int64) {
	if n < 0 || n >= maxCells {
		return
	}
	for len(*list) <= n {
		*list = append(*list, 0)
	}
	(*list)[n] += by
}

// The cells of the histogram of start-up times grow by startupGrowth: each quantile is right to a tenth.
const (
	startupFirst  = 0.05 // seconds
	startupGrowth = 1.2
	startupCells  = 40
)

func (l *lists) startup(d time.Duration) {
	n := 0
	if seconds := d.Seconds(); seconds > startupFirst {
		n = min(int(math.Ceil(math.Log(seconds/startupFirst)/math.Log(startupGrowth))), startupCells)
	}
	addAt(&l.Startup, n, 1)
}

// startupQuantile returns the time, in seconds, in which a share of the plays had begun; 0: nothing is known.
func (l *lists) startupQuantile(share float64) float64 {
	var all, below float64
	for _, n := range l.Startup {
		all += float64(n)
	}
	for i, n := range l.Startup {
		if below+float64(n) >= share*all && n > 0 {
			upper := startupFirst * math.Pow(startupGrowth, float64(i))
			lower := upper / startupGrowth
			if i == 0 {
				lower = 0
			}
			return lower + (upper-lower)*(share*all-below)/float64(n)
		}
		below += float64(n)
	}
	return 0
}

// add adds other sums.
func (s *sums) add(o *sums) {
	s.Views, s.Quiet, s.Followed = s.Views+o.Views, s.Quiet+o.Quiet, s.Followed+o.Followed
	s.Completed, s.Viewers, s.Watched = s.Completed+o.Completed, s.Viewers+o.Viewers, s.Watched+o.Watched
	s.Stalls, s.Stalled, s.Failures, s.Bytes = s.Stalls+o.Stalls, s.Stalled+o.Stalled, s.Failures+o.Failures, s.Bytes+o.Bytes
	s.lists.merge(&o.lists)
}

func (l *lists) merge(o *lists) {
	for _, pair := range []struct {
		to   *map[string]tally
		from map[string]tally
	}{{&l.Devices, o.Devices}, {&l.Browsers, o.Browsers}, {&l.Countries, o.Countries}, {&l.Referrers, o.Referrers}, {&l.Qualities, o.Qualities}} {
		for name, t := range pair.from {
			addTo(pair.to, name, t)
		}
	}
	for i, n := range o.Startup {
		addAt(&l.Startup, i, n)
	}
	for i, n := range o.Parts {
		addAt(&l.Parts, i, n)
	}
}

// isEmpty reports whether nothing was counted by name.
func (l *lists) isEmpty() bool {
	return len(l.Devices)+len(l.Browsers)+len(l.Countries)+len(l.Referrers)+len(l.Qualities)+len(l.Startup)+len(l.Parts) == 0
}

func (l *lists) encode() string {
	if l.isEmpty() {
		return ""
	}
	text, _ := json.Marshal(l) // texts and numbers: it cannot fail
	return string(text)
}

func decodeLists(text string) (l lists, err error) {
	if text == "" {
		return l, nil
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return l, fmt.Errorf("read the lists of an audience: %w", err)
	}
	return l, nil
}

const (
	// maxSlots is how many videos may wait to be written, maxWaiting how many viewers and visits. More are not counted.
	maxSlots   = 10_000
	maxWaiting = 10_000
	// manySlots is when they are written before their time.
	manySlots = maxSlots / 4
)

// slot is an hour of a video.
type slot struct {
	video video.ID
	hour  time.Time
}

// batch is what waits to be written.
type batch struct {
	slots   map[slot]*sums
	viewers map[viewer]time.Time // with the hour in which they came
	visits  map[visit]*visitSums
}

// visitSums are what a visit adds if it is new.
type visitSums struct {
	hour time.Time
	sums
}

func newBatch() *batch {
	return &batch{slots: map[slot]*sums{}, viewers: map[viewer]time.Time{}, visits: map[visit]*visitSums{}}
}

func (b *batch) isEmpty() bool { return len(b.slots)+len(b.viewers)+len(b.visits) == 0 }

// slotOf returns the sums of a video in the hour of a time; nil: too much waits.
func (s *Service) slotOf(id video.ID, at time.Time) *sums {
	to := s.pending.slot(slot{id, hourOf(at)})
	if len(s.pending.slots) >= manySlots {
		select {
		case s.full <- struct{}{}:
		default:
		}
	}
	return to
}

func (b *batch) slot(key slot) *sums {
	to, ok := b.slots[key]
	if !ok && len(b.slots) < maxSlots {
		to = new(sums)
		b.slots[key] = to
	}
	return to
}

func (b *batch) addViewer(v viewer, hour time.Time) {
	if _, there := b.viewers[v]; !there && len(b.viewers) < maxWaiting {
		b.viewers[v] = hour
	}
}

func (b *batch) visit(key visit, at time.Time) *sums {
	if b.visits[key] != nil || len(b.visits) >= maxWaiting {
		return nil
	}
	to := &visitSums{hour: hourOf(at)}
	b.visits[key] = to
	return &to.sums
}

// merge takes back what could not be written.
func (b *batch) merge(o *batch) {
	for key, from := range o.slots {
		if to := b.slot(key); to != nil {
			to.add(from)
		}
	}
	for v, hour := range o.viewers {
		b.addViewer(v, hour)
	}
	for key, from := range o.visits {
		if b.visits[key] == nil && len(b.visits) < maxWaiting {
			b.visits[key] = from
		}
	}
}
