package uploads

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/video"
)

const (
	// leaseTTL is how long a killed process keeps an upload from its next request.
	leaseTTL   = 8 * time.Second
	renewEvery = 2 * time.Second
	// leaseTrust is how long after the last renewal a holder still trusts its lease.
	leaseTrust = leaseTTL - renewEvery
	// acquireTimeout is how long a request waits for the one before it to end: longer than a lease,
	// so that a client never notices a process that was killed.
	acquireTimeout = 20 * time.Second
	retryLease     = 200 * time.Millisecond
)

// leaseRows are storedLeases. Tests of the clock replace them.
type leaseRows interface {
	shared() bool
	take(ctx context.Context, l leaseRow, ttl time.Duration) (mine bool, err error)
	hold(ctx context.Context, tx *store.Tx, l leaseRow) (bool, error)
	renew(ctx context.Context, process string, ttl time.Duration) (requested map[leaseRow]bool, err error)
	drop(ctx context.Context, l leaseRow) error
}

// Leases let one request at a time in the whole fleet write to the upload of a video. Within this process
// a map decides, among processes a row in the database. All leases of a process are renewed with one
// statement, so that thousands of slow clients cost no more than one.
type Leases struct {
	rows    leaseRows
	log     *slog.Logger
	process string

	mu       sync.Mutex
	held     map[video.ID]*holder
	renewing bool
	renewed  time.Time // when all leases were last known to be ours
}

// holder is the request that has a lease, or waits for it.
type holder struct {
	lease leaseRow
	put   bool          // the request is a PUT, which cannot be resumed
	since time.Time     // zero: the lease is not taken yet
	lost  bool          // another process may have the lease
	stop  func()        // asks the request to end
	ended chan struct{} // closed when it has ended
}

// Lease is the right to write to an upload, exclusively.
type Lease struct {
	Release func()      // must be called in the end
	Valid   func() bool // whether no other request can have the lease yet
	// Hold asks the database whether no other request has the lease, and keeps it so until tx ends.
	Hold func(ctx context.Context, tx *store.Tx) (bool, error)
}

// NewLeases returns the leases of this process.
func NewLeases(s *store.Store, log *slog.Logger) *Leases {
	return &Leases{rows: storedLeases{s}, log: log, process: uuid.NewString(), held: map[video.ID]*holder{}}
}

// Acquire makes the caller the only one who writes to the upload of a video, until it releases the
// lease. The holder before it is asked to stop: behind a proxy, a broken connection can look alive
// for long, and its client is back already. In the same way stop is called when another request wants
// the upload, or when the lease is lost.
func (l *Leases) Acquire(ctx context.Context, id video.ID, stop func()) (Lease, error) {
	return l.acquire(ctx, &holder{}, id, stop)
}

// acquirePut is Acquire for a request that has to start over when it is stopped. InterruptAll does not
// stop it.
func (l *Leases) acquirePut(ctx context.Context, id video.ID, stop func()) (Lease, error) {
	return l.acquire(ctx, &holder{put: true}, id, stop)
}

func (l *Leases) acquire(ctx context.Context, h *holder, id video.ID, stop func()) (Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	h.lease = leaseRow{video: id, token: uuid.Must(uuid.NewV7()).String(), process: l.process}
	h.ended = make(chan struct{})
	h.stop = sync.OnceFunc(func() { panics.Log(ctx, l.log, "a request panicked when it was asked to stop", stop) })
	if err := l.waitForProcess(ctx, h); err != nil {
		return Lease{}, err
	}
	if err := l.acquireRow(ctx, h); err != nil {
		l.releaseHolder(h)
		return Lease{}, err
	}
	release := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTTL)
		defer cancel()
		if err := l.rows.drop(ctx, h.lease); err != nil {
			l.log.WarnContext(ctx, "could not release the lease of an upload; it expires in a few seconds", "video", id, "err", err)
		}
		l.releaseHolder(h)
	}
	return Lease{
		Release: release, Valid: func() bool { return l.valid(h) },
		Hold: func(ctx context.Context, tx *store.Tx) (bool, error) { return l.rows.hold(ctx, tx, h.lease) },
	}, nil
}

// valid uses the clock of this machine, which goes on while a process is stopped: one that wakes up
// after its lease has ended knows so before it writes anything.
func (l *Leases) valid(h *holder) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.rows.shared() || !h.lost && (time.Since(l.renewed) < leaseTrust || time.Since(h.since) < leaseTrust)
}

func locked() error {
	return &video.Error{Kind: video.Locked, Code: "upload_locked", Msg: "Another request is still writing to this upload. Try again shortly."}
}

// waitForProcess waits until no other request of this process has the upload.
func (l *Leases) waitForProcess(ctx context.Context, h *holder) error {
	for {
		l.mu.Lock()
		other := l.held[h.lease.video]
		if other == nil {
			l.held[h.lease.video] = h
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		other.stop()
		select {
		case <-other.ended:
		case <-ctx.Done():
			return locked()
		}
	}
}

func (l *Leases) releaseHolder(h *holder) {
	l.mu.Lock()
	delete(l.held, h.lease.video)
	l.mu.Unlock()
	close(h.ended)
}

// Interrupt asks the request that writes to an upload to end, if there is one, when tx has committed.
func (l *Leases) Interrupt(ctx context.Context, tx *store.Tx, id video.ID) error {
	tx.OnCommit(func() { l.interrupt(id) })
	return requestLease(ctx, tx, id)
}

// interrupt does so in this process.
func (l *Leases) interrupt(id video.ID) {
	l.mu.Lock()
	h := l.held[id]
	l.mu.Unlock()
	if h != nil {
		h.stop()
	}
}

// InterruptAll asks all requests that write to resumable uploads to store what they have and end:
// their clients go on at another process, or after the next start.
func (l *Leases) InterruptAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.held {
		if !h.put {
			go h.stop()
		}
	}
}

// acquireRow waits until no other process has the upload.
func (l *Leases) acquireRow(ctx context.Context, h *holder) error {
	for {
		asked := time.Now()
		mine, err := l.rows.take(ctx, h.lease, leaseTTL)
		if mine {
			l.startRenewing(h, asked)
			return nil
		}
		if ctx.Err() != nil {
			return locked()
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(retryLease):
		case <-ctx.Done():
		}
	}
}

// startRenewing has the lease of h renewed until it leaves.
func (l *Leases) startRenewing(h *holder, taken time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.since = taken
	if !l.renewing && l.rows.shared() {
		l.renewing, l.renewed = true, taken
		go l.renewAll()
	}
}

// renewAll renews the leases of this process for as long as it has any. It does not use the context of the
// first request, which would keep everything that belongs to the request in memory.
func (l *Leases) renewAll() {
	ctx := context.Background()
	for {
		time.Sleep(renewEvery)
		l.mu.Lock()
		if len(l.held) == 0 {
			l.renewing = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		if !panics.Log(ctx, l.log, "the renewal of upload leases panicked", func() { l.renew(ctx) }) {
			l.review(time.Now(), nil, errRenewal)
		}
	}
}

// errRenewal stands for the result of a renewal that panicked.
var errRenewal = errors.New("the renewal of upload leases failed")

// renew renews all leases once, and stops the requests whose lease is requested or lost. While the
// database does not answer, none is lost until it may have expired.
func (l *Leases) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, renewEvery)
	defer cancel()
	asked := time.Now()
	requested, err := l.rows.renew(ctx, l.process, leaseTTL)
	for _, orphan := range l.review(asked, requested, err) {
		_ = l.rows.drop(ctx, orphan) // the next time, if not now
	}
}

// review checks every holder after a renewal. It returns leases that no request has: the answer to
// taking or dropping them was lost.
func (l *Leases) review(asked time.Time, requested map[leaseRow]bool, err error) (orphans []leaseRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.renewed = asked
	}
	for _, h := range l.held {
		if h.since.IsZero() {
			continue
		}
		wanted, ours := requested[h.lease]
		lost := err == nil && !ours && h.since.Before(asked)
		doubtful := err != nil && time.Since(l.renewed) > leaseTrust && time.Since(h.since) > leaseTrust
		h.lost = h.lost || lost || doubtful
		if wanted || h.lost {
			go h.stop()
		}
	}
	for lease := range requested {
		if h := l.held[lease.video]; h == nil || h.lease != lease {
			orphans = append(orphans, lease)
		}
	}
	return orphans
}
