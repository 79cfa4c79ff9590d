package audience

import (
	"context"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// FilmParts is into how many parts a film is divided for the question where people stop.
const FilmParts = 100

// Report is what a player tells of a session since its report before. Times are by the clock, not in the film.
type Report struct {
	Session   string // a random text that the player made for this session
	Sequence  int    // counts the reports of a session, from 0
	Total     time.Duration
	Watched   []Watched
	Parts     []int // of the film, that were seen for the first time in this session
	Completed bool  // 95 % of the film was reached for the first time
	Startup   time.Duration
	Stalls    int
	Stalled   time.Duration
	Failed    bool
	Referrer  string // the host of the page that led here; "": none
}

// Watched is how long something was watched in one quality.
type Watched struct {
	Quality video.Name // "": not known
	Time    time.Duration
	First   bool // the quality is new in this session
}

// total is how long was watched since the report before.
func (r *Report) watched() (sum time.Duration) {
	for _, w := range r.Watched {
		sum += w.Time
	}
	return sum
}

// firstSecond is how much has to be watched for a view.
const firstSecond = time.Second

// begins reports whether a view begins with this report.
func (r *Report) begins() bool {
	return r.Total >= firstSecond && r.Total-r.watched() < firstSecond
}

// Play counts a report.
func (s *Service) Play(ctx context.Context, id video.ID, token string, who Visitor, r Report) error {
	if !s.Counts() {
		return nil
	}
	if _, err := s.open(ctx, id, token); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	in, fresh := s.session(id, r.Session, now)
	if !fresh && r.Sequence <= in.sequence { // repeated, or replayed
		return nil
	}
	in.sequence = r.Sequence
	p := play{video: id, who: who, at: now, session: in, crowd: s.crowd(id, who.Network, now), report: r, begins: r.begins(), follows: true}
	s.count(p)
	return nil
}

// play is a report on its way into the sums.
type play struct {
	video   video.ID
	who     Visitor
	at      time.Time
	session *session
	crowd   *crowd
	report  Report
	begins  bool   // with this report
	follows bool   // it is known where in the film the player is
	once    uint64 // not 0: several processes may see the session, and its view counts once by this number
}

// count adds a report to the sums, as far as it can be true.
func (s *Service) count(p play) {
	to := s.slotOf(p.video, p.at)
	if to == nil {
		return
	}
	seen := Observation{}
	defer func() { s.config.Observe(seen) }()
	view := p.begins && p.session.begin() && p.crowd.begin()
	if view && p.who.Quiet {
		to.Views, to.Quiet = to.Views+1, to.Quiet+1
		seen.View = true
	}
	if p.who.Quiet {
		return
	}
	from := s.originOf(p)
	if view {
		seen.View = true
		s.countView(p, to, from)
	}
	seen.Watched = p.countWatched(to, from)
	p.countTrouble(to, &seen)
	if !p.follows {
		return
	}
	for _, part := range p.report.Parts {
		if p.session.parts.add(part) {
			to.part(part)
		}
	}
	if p.report.Completed && !p.session.completed {
		p.session.completed = true
		to.Completed++
	}
}

// countView adds a view, and its viewer.
func (s *Service) countView(p play, to *sums, from origin) {
	if p.once != 0 {
		to = s.pending.visit(visit{p.video, dayOf(p.at), p.once}, p.at)
		if to == nil {
			return
		}
	}
	to.Views++
	if p.follows {
		to.Followed++
	}
	from.add(to, tally{Views: 1})
	if viewer := newViewer(p); p.crowd.admit(viewer.person) {
		s.pending.addViewer(viewer, hourOf(p.at))
	}
}

// countWatched adds how long was watched, at most what a session and its address can have watched, and returns it.
func (p play) countWatched(to *sums, from origin) (sum time.Duration) {
	for _, w := range p.report.Watched {
		t := min(w.Time, p.session.left(p.at), p.crowd.left(p.at))
		if t < 0 {
			t = 0
		}
		p.session.watched += t
		p.crowd.watched += t
		sum += t
		one := tally{Watched: t.Milliseconds()}
		if w.First && p.session.qualities.add(slices.Index(video.Names, w.Quality)) {
			one.Views = 1
		}
		if w.Quality != "" {
			to.quality(string(w.Quality), one)
		}
	}
	to.Watched += sum.Milliseconds()
	from.add(to, tally{Watched: sum.Milliseconds()})
	return sum
}

// countTrouble adds how long playing took to begin, stalls and failures.
func (p play) countTrouble(to *sums, seen *Observation) {
	r := p.report
	if r.Startup > 0 && !p.session.started {
		p.session.started = true
		to.startup(r.Startup)
		seen.Startup = r.Startup
	}
	// There is at most one stall a second, and waiting takes no longer than the session.
	if stalls := min(r.Stalls, p.session.stallsLeft(p.at)); stalls > 0 {
		p.session.stalls += stalls
		to.Stalls += int64(stalls)
		seen.Stalls = stalls
	}
	if stalled := min(r.Stalled, p.session.stallLeft(p.at)); stalled > 0 {
		p.session.stalled += stalled
		to.Stalled += stalled.Milliseconds()
		seen.Stalled = stalled
	}
	if r.Failed && !p.session.failed {
		p.session.failed = true
		to.Failures++
		seen.Failed = true
	}
}

// origin is what a request tells of a player.
type origin struct{ device, browser, country, referrer string }

func (s *Service) originOf(p play) origin {
	o := origin{referrer: "direct", country: s.places.country(p.who.Network.Addr())}
	o.device, o.browser = agentOf(p.who.UserAgent)
	if p.report.Referrer != "" {
		o.referrer = p.report.Referrer
	}
	return o
}

func (o origin) add(to *sums, t tally) {
	to.device(o.device, t)
	to.browser(o.browser, t)
	to.referrer(o.referrer, t)
	if o.country != "" {
		to.country(o.country, t)
	}
}

// flags are numbers below 128 that were seen.
type flags [2]uint64

// add reports whether a number is new.
func (f *flags) add(n int) bool {
	if n < 0 || n >= 128 || f[n/64]&(1<<(n%64)) != 0 {
		return false
	}
	f[n/64] |= 1 << (n % 64)
	return true
}
