package audience

import (
	"crypto/sha256"
	"hash/maphash"
	"net/netip"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	// grace is what a session may add beside twice the time since it began: its first report comes after some of it.
	grace = 30 * time.Second
	// maxViewers is how many viewers an address can be in a day, for a video.
	maxViewers = 20
	// maxViews is how many views of a video one address can have in a day.
	maxViews = 10 * maxViewers
)

// session is one playing of a video, as far as this process has seen it.
type session struct {
	began     time.Time
	sequence  int
	view      bool
	started   bool
	failed    bool
	completed bool
	watched   time.Duration
	stalled   time.Duration
	stalls    int
	parts     flags
	qualities flags
	cmcd      timeline
}

// session returns the session of a video with a name, and whether it is new.
func (s *Service) session(id video.ID, name string, now time.Time) (in *session, fresh bool) {
	key := maphash.Comparable(s.seed, [2]string{string(id), name})
	if in, ok := s.sessions.Get(key); ok {
		return in, false
	}
	in = &session{began: now, sequence: -1}
	s.sessions.Put(key, in, 1)
	return in, true
}

// begin reports whether the view of a session is counted now.
func (in *session) begin() bool {
	first := !in.view
	in.view = true
	return first
}

// left is how much a session may still have watched.
func (in *session) left(now time.Time) time.Duration {
	return 2*now.Sub(in.began) + grace - in.watched
}

func (in *session) stallsLeft(now time.Time) int {
	return int((now.Sub(in.began)+grace)/time.Second) - in.stalls
}

func (in *session) stallLeft(now time.Time) time.Duration {
	return now.Sub(in.began) + grace - in.stalled
}

// crowdKey is an address that watches a video on a day.
type crowdKey struct {
	video   video.ID
	network netip.Prefix
	day     int64
}

// crowd is who watches a video from one address. They count as at most maxViewers people.
type crowd struct {
	began   time.Time
	views   int
	watched time.Duration
	people  map[person]bool
}

// person is a user agent behind an address, as a hash.
type person [16]byte

func (s *Service) crowd(id video.ID, network netip.Prefix, now time.Time) *crowd {
	key := crowdKey{id, network, dayOf(now)}
	if c, ok := s.crowds.Get(key); ok {
		return c
	}
	c := &crowd{began: now, people: map[person]bool{}}
	s.crowds.Put(key, c, 1)
	return c
}

// begin reports whether another view from the address counts.
func (c *crowd) begin() bool {
	c.views++
	return c.views <= maxViews
}

// left is how much may still have been watched from the address: what maxViewers sessions may.
func (c *crowd) left(now time.Time) time.Duration {
	return maxViewers*(2*now.Sub(c.began)+grace) - c.watched
}

// admit reports whether somebody is another viewer, who counts.
func (c *crowd) admit(p person) bool {
	if c.people[p] || len(c.people) >= maxViewers {
		return false
	}
	c.people[p] = true
	return true
}

// viewer is somebody who watches a video on a day, until the sums are written.
type viewer struct {
	video   video.ID
	day     int64
	network netip.Prefix
	person  person
}

func newViewer(p play) viewer {
	sum := sha256.Sum256([]byte(p.who.UserAgent))
	return viewer{p.video, dayOf(p.at), p.who.Network, person(sum[:16])}
}

// visit is a session whose view counts once, whichever process sees it.
type visit struct {
	video video.ID
	day   int64
	hash  uint64
}

// dayOf numbers the days, UTC, from 1970 on. hourOf returns when the hour of a time began.
func dayOf(t time.Time) int64 { return t.UTC().Unix() / (24 * 60 * 60) }

func hourOf(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }
