package audience

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

const (
	// hoursUpTo is the longest range that is told by hour.
	hoursUpTo = 7 * day
	// usualRange is the range where a client names none, and maxRange the longest one.
	usualRange = 30 * day
	maxRange   = 1000 * day
	// maxTop is how many videos the list of those that were watched most has.
	maxTop = 20
	// maxLines is how many lines a list has.
	maxLines = 50
)

// Range is from when until when an audience is asked for, in whole hours or whole days.
type Range struct{ From, To time.Time }

// ByHour reports whether a range is told by hour, not by day.
func (r Range) ByHour() bool { return r.To.Sub(r.From) <= hoursUpTo }

func (r Range) span() span {
	if r.ByHour() {
		return hours
	}
	return days
}

func (r Range) step() time.Duration {
	if r.ByHour() {
		return time.Hour
	}
	return day
}

// NewRange returns the hours or days that two times touch. A time that is zero is left to Spool: to is now, and from 30 days
// before it.
func NewRange(from, to, now time.Time) (Range, error) {
	if to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.Add(-usualRange)
	}
	r := Range{from.UTC(), to.UTC()}
	var fault string
	switch {
	case !r.From.Before(r.To):
		fault = "must be before to"
	case r.To.Sub(r.From) > maxRange:
		fault = "must be at most 1000 days before to"
	case r.From.Year() < 1970 || r.To.Year() > 9999:
		fault = "must be a time in the years that there are"
	}
	if fault != "" {
		return r, video.InvalidFields(video.Fault{Field: "from", Code: "out_of_range", Message: fault})
	}
	step := r.step()
	r.From = r.From.Truncate(step)
	if end := r.To.Truncate(step); end.Before(r.To) {
		r.To = end.Add(step)
	}
	return r, nil
}

// Line is a line of a list.
type Line struct {
	Name    string
	Views   int64
	Watched time.Duration
}

// Moment is an hour or a day.
type Moment struct {
	At      time.Time
	Views   int64
	Watched time.Duration
}

// Part is a part of a film, and which share of its views saw it.
type Part struct {
	From, To time.Duration
	Share    float64
}

// Figures are what is known of the audience of a video or of a tenant.
type Figures struct {
	Range
	Views, Viewers int64
	Watched        time.Duration
	Average        time.Duration // of a view
	Completion     float64       // the share of views that reached 95 % of the film
	Bytes          int64
	StartupMedian  time.Duration
	Startup95      time.Duration
	StallRatio     float64 // of the time, how much of it was waiting
	StallsPerHour  float64
	Failures       int64
	Timeline       []Moment

	Devices, Browsers, Countries, Referrers, Qualities []Line
}

// Top is a video of a tenant that was watched much.
type Top struct {
	Video   video.ID
	Title   string
	Views   int64
	Watched time.Duration
}

// OfVideo returns the audience of a video, and how many viewers were left in each part of it.
func (s *Service) OfVideo(ctx context.Context, by auth.Actor, id video.ID, r Range) (Figures, []Part, error) {
	v, err := auth.VisibleVideo(ctx, s.store, by, auth.Read, id)
	if err != nil {
		return Figures{}, nil, err
	}
	rows, err := readRows(ctx, s.store.Queries, ofVideos, string(id), r)
	f, sum := figuresOf(rows, r)
	return f, partsOf(sum, v.Duration), err
}

// OfTenant returns the audience of all videos of a tenant, also of those that are deleted, and the videos that were
// watched most.
func (s *Service) OfTenant(ctx context.Context, by auth.Actor, r Range) (Figures, []Top, error) {
	if err := by.Require(auth.Read); err != nil {
		return Figures{}, nil, err
	}
	rows, err := readRows(ctx, s.store.Queries, ofTenants, string(by.Tenant), r)
	if err != nil {
		return Figures{}, nil, err
	}
	top, err := readTop(ctx, s.store.Queries, by.Tenant, r, maxTop)
	f, _ := figuresOf(rows, r)
	return f, top, err
}

// BytesThisMonth returns how much Spool has sent of a tenant's videos since the month began, UTC.
func (s *Service) BytesThisMonth(ctx context.Context, by auth.Actor) (int64, error) {
	if err := by.Require(auth.Read); err != nil {
		return 0, err
	}
	now := s.now().UTC()
	return readBytes(ctx, s.store.Queries, by.Tenant, time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC))
}

// figuresOf computes figures from the rows of a range, and returns the sums of all.
func figuresOf(rows []row, r Range) (Figures, *sums) {
	sum := new(sums)
	at := map[int64]*sums{}
	for i := range rows {
		sum.add(&rows[i].sums)
		at[rows[i].at] = &rows[i].sums
	}
	f := Figures{
		Range: r, Views: sum.Views, Viewers: sum.Viewers, Watched: millis(sum.Watched), Bytes: sum.Bytes, Failures: sum.Failures,
		Completion: share(sum.Completed, sum.Followed), StallRatio: share(sum.Stalled, sum.Stalled+sum.Watched),
		StartupMedian: seconds(sum.startupQuantile(0.5)), Startup95: seconds(sum.startupQuantile(0.95)),
		Devices: linesOf(sum.Devices), Browsers: linesOf(sum.Browsers), Countries: linesOf(sum.Countries), Referrers: linesOf(sum.Referrers), Qualities: linesOf(sum.Qualities),
	}
	if told := sum.Views - sum.Quiet; told > 0 {
		f.Average = f.Watched / time.Duration(told)
	}
	if f.Watched > 0 {
		f.StallsPerHour = float64(sum.Stalls) / f.Watched.Hours()
	}
	for t := r.From; t.Before(r.To); t = t.Add(r.step()) {
		m := Moment{At: t}
		if of := at[t.UnixMilli()]; of != nil {
			m.Views, m.Watched = of.Views, millis(of.Watched)
		}
		f.Timeline = append(f.Timeline, m)
	}
	return f, sum
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// share returns a part of a whole, from 0 to 1.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(float64(part)/float64(whole), 1)
}

// linesOf returns a list, what was seen most in front.
func linesOf(list map[string]tally) []Line {
	all := []Line{}
	for name, t := range list {
		all = append(all, Line{name, t.Views, millis(t.Watched)})
	}
	slices.SortFunc(all, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b.Views, a.Views), cmp.Compare(b.Watched, a.Watched), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), maxLines)]
}

// partsOf returns which share of the views saw each part of a film.
func partsOf(sum *sums, length time.Duration) []Part {
	if length <= 0 || sum.Followed == 0 {
		return []Part{}
	}
	all := make([]Part, FilmParts)
	for i := range all {
		all[i] = Part{From: length * time.Duration(i) / FilmParts, To: length * time.Duration(i+1) / FilmParts}
		if i < len(sum.Parts) {
			all[i].Share = share(sum.Parts[i], sum.Followed)
		}
	}
	return all
}

// Range returns the hours or days between two times; see NewRange.
func (s *Service) Range(from, to time.Time) (Range, error) { return NewRange(from, to, s.now()) }
