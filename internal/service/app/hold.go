package app

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

const (
	// leaseLife is how long a killed process keeps an upload from its next piece.
	leaseLife  = 8 * time.Second
	renewEvery = 2 * time.Second
	// leaseDoubt is how long after the last renewal a holder still trusts its lease.
	leaseDoubt = leaseLife - renewEvery
	// holdPatience is how long a request waits for the one before it to end: longer
	// than a lease, so that a client never hears of a process that was killed.
	holdPatience = 20 * time.Second
	leasePause   = 200 * time.Millisecond
)

// holds are the uploads in pieces that requests of this process are busy with.
// Each upload has one such request at a time in the whole fleet: in this process
// by the map, among processes by a lease, which is a row in the database. All
// leases of a process are renewed with one statement, so that thousands of slow
// clients cost no more than one.
type holds struct {
	store   *store.Store
	process string

	mu       sync.Mutex
	held     map[video.ID]*hold
	renewing bool
	renewed  time.Time // when all leases were last known to be ours
}

// hold is one request's.
type hold struct {
	lease store.Lease
	since time.Time     // zero: the lease is not taken yet
	lost  bool          // the lease may be another's
	stop  func()        // asks the request to end
	over  chan struct{} // closed when it has ended
}

// Hold is the right to work on an upload, alone.
type Hold struct {
	Release func()      // must be called in the end
	Lasts   func() bool // whether nobody else can have it yet
}

func newHolds(s *store.Store) *holds {
	return &holds{store: s, process: uuid.NewString(), held: map[video.ID]*hold{}}
}

// HoldUpload makes the caller the only one who works on the upload of a video,
// until it releases it. Whoever did before is asked to stop: behind a proxy, a
// broken connection can look alive for long, and its client is back already.
// In turn stop is called when another wants the upload, or when the right to it
// is lost.
func (a *App) HoldUpload(ctx context.Context, id video.ID, stop func()) (Hold, error) {
	ctx, cancel := context.WithTimeout(ctx, holdPatience)
	defer cancel()
	h := &hold{
		lease: store.Lease{Video: id, Token: a.newID(), Process: a.holds.process},
		stop:  sync.OnceFunc(stop), over: make(chan struct{}),
	}
	if err := a.holds.enter(ctx, h); err != nil {
		return Hold{}, err
	}
	if err := a.holds.takeLease(ctx, h); err != nil {
		a.holds.leave(h)
		return Hold{}, err
	}
	release := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseLife)
		defer cancel()
		if err := a.holds.store.Leases().Drop(ctx, h.lease); err != nil {
			a.log.WarnContext(ctx, "could not let an upload go; it is free in a few seconds", "video", id, "err", err)
		}
		a.holds.leave(h)
	}
	return Hold{Release: release, Lasts: func() bool { return a.holds.lasts(h) }}, nil
}

// lasts asks this machine's clock, which goes on while a process is stopped: one
// that wakes up after its lease has ended knows so before it writes anything.
func (s *holds) lasts(h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.store.Leases().Shared() || !h.lost && (time.Since(s.renewed) < leaseDoubt || time.Since(h.since) < leaseDoubt)
}

func busy() error {
	return &video.Error{Kind: video.Locked, Code: "upload_locked", Msg: "Another request is still writing to this upload. Try again shortly."}
}

// enter waits until no other request of this process has the upload.
func (s *holds) enter(ctx context.Context, h *hold) error {
	for {
		s.mu.Lock()
		other := s.held[h.lease.Video]
		if other == nil {
			s.held[h.lease.Video] = h
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		other.stop()
		select {
		case <-other.over:
		case <-ctx.Done():
			return busy()
		}
	}
}

func (s *holds) leave(h *hold) {
	s.mu.Lock()
	delete(s.held, h.lease.Video)
	s.mu.Unlock()
	close(h.over)
}

// stop asks the request that has an upload here to end, if there is one.
func (s *holds) stop(id video.ID) {
	s.mu.Lock()
	h := s.held[id]
	s.mu.Unlock()
	if h != nil {
		h.stop()
	}
}

// InterruptUploads asks all requests that bring pieces to store what they have
// and end: their clients go on at another process, or after the next start.
func (a *App) InterruptUploads() {
	a.holds.mu.Lock()
	defer a.holds.mu.Unlock()
	for _, h := range a.holds.held {
		go h.stop()
	}
}

// takeLease waits until no other process has the upload.
func (s *holds) takeLease(ctx context.Context, h *hold) error {
	for {
		asked := time.Now()
		mine, err := s.store.Leases().Take(ctx, h.lease, leaseLife)
		if mine {
			s.keep(ctx, h, asked)
			return nil
		}
		if ctx.Err() != nil {
			return busy()
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(leasePause):
		case <-ctx.Done():
		}
	}
}

// keep has the lease of h renewed until it leaves.
func (s *holds) keep(ctx context.Context, h *hold, taken time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.since = taken
	if !s.renewing && s.store.Leases().Shared() {
		s.renewing, s.renewed = true, taken
		go s.renewAll(context.WithoutCancel(ctx))
	}
}

// renewAll renews the leases of this process for as long as it has any.
func (s *holds) renewAll(ctx context.Context) {
	for {
		time.Sleep(renewEvery)
		s.mu.Lock()
		if len(s.held) == 0 {
			s.renewing = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		s.renew(ctx)
	}
}

// renew renews all leases once, and stops the requests whose lease is wanted or
// lost. While the database does not answer, none is lost until it may have ended.
func (s *holds) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, renewEvery)
	defer cancel()
	asked := time.Now()
	wanted, err := s.store.Leases().Renew(ctx, s.process, leaseLife)
	for _, l := range s.review(asked, wanted, err) {
		_ = s.store.Leases().Drop(ctx, l) // the next time, if not now
	}
}

// review looks at every hold after a renewal. It returns leases that no request
// has: the answer to taking or dropping them was lost.
func (s *holds) review(asked time.Time, wanted map[store.Lease]bool, err error) (orphans []store.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.renewed = asked
	}
	for _, h := range s.held {
		if h.since.IsZero() {
			continue
		}
		want, ours := wanted[h.lease]
		lost := err == nil && !ours && h.since.Before(asked)
		doubtful := err != nil && time.Since(s.renewed) > leaseDoubt && time.Since(h.since) > leaseDoubt
		h.lost = h.lost || lost || doubtful
		if want || h.lost {
			go h.stop()
		}
	}
	for l := range wanted {
		if h := s.held[l.Video]; h == nil || h.lease != l {
			orphans = append(orphans, l)
		}
	}
	return orphans
}
