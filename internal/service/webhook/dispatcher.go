package webhook

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
)

// Config is what an operator may choose.
type Config struct {
	// RetryFactor shortens the pauses before further tries, for tests; 0: 1.
	RetryFactor float64
	// InFlight is how many requests a process has under way at most; 0: 1024.
	InFlight int
	// Timeout is for one try; 0: 15 s.
	Timeout time.Duration
	// Space returns an error while the disk has no space for more than what has to be recorded; nil: the
	// database is on another disk.
	Space func(context.Context) error
	// Release gives up disk space that is held for what gets the service out of a full disk, and reports
	// whether there was any; nil: there is none.
	Release func() bool
}

const (
	defaultInFlight = 1024
	// tryTimeout is for one request with its response.
	tryTimeout = 15 * time.Second
	// leaseMargin is how much longer than a try a lease lasts: its outcome has to be recorded.
	leaseMargin = 15 * time.Second
	// pollEvery is how often a process looks for events that others have recorded.
	pollEvery = 500 * time.Millisecond
	// troublePause is the pause after an error of the database.
	troublePause = 2 * time.Second
	// drainTime is how long a stop waits for requests under way.
	drainTime                     = 3 * time.Second
	lanesPerRound, claimsPerRound = 1000, 200
	maxResponse                   = 64 << 10
	pruneEvery                    = time.Hour
	prunedAtOnce                  = 500
)

// unwritable is what the log says of a message that could not be made.
const unwritable = "Spool could not write the message."

// Observer is told of each try.
type Observer interface {
	// WebhookTried is told how a try to deliver an event ended, and how long it took; -1: that is not known.
	WebhookTried(o Outcome, took time.Duration)
}

// Dispatcher delivers events to webhooks.
type Dispatcher struct {
	store   *store.Store
	rows    store.Webhooks
	sign    signer
	client  *outbound.Client
	plan    schedule
	timeout time.Duration
	slots   *slots
	now     func() time.Time
	log     *slog.Logger
	count   Observer
	config  Config

	wake    chan struct{}
	results chan result
	cursor  string // the last lane that was looked at
}

// result is a try that has ended.
type result struct {
	store.Conclusion
	slot    slot
	outcome Outcome // "": it was not tried
}

// NewDispatcher returns a dispatcher for the webhooks of a service.
func NewDispatcher(s *store.Store, svc *Service, c Config, log *slog.Logger) *Dispatcher {
	if c.InFlight == 0 {
		c.InFlight = defaultInFlight
	}
	if c.Timeout == 0 {
		c.Timeout = tryTimeout
	}
	d := &Dispatcher{
		store: s, rows: svc.rows, sign: svc.sign, plan: svc.plan, timeout: c.Timeout, now: svc.now, log: log, count: svc.count, config: c,
		client: outbound.NewClient(svc.guard, outbound.Options{Timeout: c.Timeout, MaxBody: maxResponse, IdleConns: 256}),
		slots:  newSlots(c.InFlight), wake: make(chan struct{}, 1), results: make(chan result, c.InFlight),
	}
	svc.rows.Notify(d.Wake)
	return d
}

// Wake has the dispatcher look for something to deliver now.
func (d *Dispatcher) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends. Then it waits a moment for requests under way, and gives back the rest.
func (d *Dispatcher) Run(ctx context.Context) {
	tries, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(drainTime, cancel) })
	var running, recording sync.WaitGroup
	recording.Go(func() { d.record(ctx) })
	if err := d.rows.ReleaseLeases(ctx, d.now()); err != nil && ctx.Err() == nil {
		d.log.WarnContext(ctx, "could not release the leases of deliveries; they end by themselves", "err", err)
	}
	running.Go(func() { d.prune(ctx) })
	running.Go(func() { d.cleanUp(ctx) })
	for ctx.Err() == nil {
		var pause time.Duration
		if !panics.Log(ctx, d.log, "delivering events panicked", func() { pause = d.startDue(ctx, tries, &running) }) {
			pause = troublePause
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-d.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	running.Wait()
	close(d.results)
	recording.Wait()
	d.client.CloseIdle()
}

// startDue starts what is due and returns how long to pause.
func (d *Dispatcher) startDue(ctx, tries context.Context, running *sync.WaitGroup) time.Duration {
	next, err := d.rows.NextDelivery(ctx)
	if err != nil {
		return d.logTrouble(ctx, err)
	}
	now := d.now()
	if next.IsZero() {
		return pollEvery
	}
	if wait := next.Sub(now); wait > 0 {
		return min(wait, pollEvery)
	}
	lanes, err := d.rows.Lanes(ctx, d.cursor, now, lanesPerRound)
	if err != nil {
		return d.logTrouble(ctx, err)
	}
	chosen := d.choose(lanes)
	n, err := d.start(ctx, tries, chosen, running)
	switch {
	case err != nil:
		return d.logTrouble(ctx, err)
	case n > 0 || d.cursor != "":
		return 0 // there may be more
	}
	return pollEvery
}

// logTrouble logs an error of the database and returns how long to pause.
func (d *Dispatcher) logTrouble(ctx context.Context, err error) time.Duration {
	if ctx.Err() == nil {
		d.log.WarnContext(ctx, "could not look for events to deliver", "err", err)
	}
	return troublePause
}

// choose reserves slots for the heads of lanes, and moves the cursor behind the last lane that was
// looked at, so that the next round goes on there.
func (d *Dispatcher) choose(lanes []store.Lane) map[string]slot {
	chosen := map[string]slot{}
	d.cursor = ""
	for i, l := range lanes {
		if l.Head != "" {
			if s, ok := d.slots.reserve(l); ok {
				chosen[l.Head] = s
			}
		}
		if len(chosen) == claimsPerRound || i+1 == lanesPerRound {
			d.cursor = l.Webhook
			break
		}
	}
	return chosen
}

// start claims the chosen deliveries and sends them. It returns how many it could claim.
func (d *Dispatcher) start(ctx, tries context.Context, chosen map[string]slot, running *sync.WaitGroup) (n int, err error) {
	defer func() {
		for _, s := range chosen { // what others have claimed, or could not be
			d.slots.release(s)
		}
	}()
	if len(chosen) == 0 {
		return 0, nil
	}
	ids := make([]string, 0, len(chosen))
	for id := range chosen {
		ids = append(ids, id)
	}
	now := d.now()
	claimed, err := d.rows.Claim(ctx, ids, newID(), now, now.Add(d.timeout+leaseMargin))
	if err != nil {
		return 0, err
	}
	all, err := d.sign.load(ctx, claimed, now)
	if err != nil {
		return 0, err // the leases end by themselves
	}
	for _, o := range all {
		mine := chosen[o.delivery.ID]
		delete(chosen, o.delivery.ID)
		running.Go(func() { d.results <- d.tryRecovering(tries, o, mine) })
	}
	return len(all), nil
}

// tryRecovering is try. A panic counts as a failed attempt.
func (d *Dispatcher) tryRecovering(ctx context.Context, o outgoing, mine slot) (r result) {
	began := d.now()
	if panics.Log(ctx, d.log, "delivering an event panicked", func() { r = d.try(ctx, o) }) {
		r.slot = mine
		return r
	}
	c, outcome := d.plan.conclude(o.delivery, store.DeliveryAttempt{At: began, Error: unwritable})
	return result{c, mine, outcome}
}

// try sends one message.
func (d *Dispatcher) try(ctx context.Context, o outgoing) result {
	if reason := o.obstacle(); reason != "" {
		return result{Conclusion: store.Conclusion{Delivery: o.delivery, State: store.DeliveryFailed, Tries: o.delivery.Tries,
			Attempt: store.DeliveryAttempt{At: d.now().UTC(), Error: reason}}, outcome: OutcomeFailed}
	}
	began, clock := d.now().UTC().Truncate(time.Millisecond), time.Now()
	message, err := d.sign.message(o, began)
	attempt := store.DeliveryAttempt{At: began}
	if err != nil {
		d.log.ErrorContext(ctx, "could not write the message of an event", "event", o.delivery.Event, "err", err)
		attempt.Error = unwritable
	} else if attempt.Status, err = d.post(ctx, o.hook.URL, message); err != nil {
		if ctx.Err() != nil { // a stop; the receiver may have it already, and gets it again
			return result{Conclusion: store.Conclusion{Delivery: o.delivery, Released: true, State: o.delivery.State, NextAt: began, Tries: o.delivery.Tries}}
		}
		attempt.Error = explainError(err)
	} else {
		attempt.Error = explain(attempt.Status)
	}
	attempt.Milliseconds = time.Since(clock).Milliseconds()
	c, outcome := d.plan.conclude(o.delivery, attempt)
	return result{Conclusion: c, outcome: outcome}
}

// post sends a message and returns the status of the response, whose body nobody needs.
func (d *Dispatcher) post(ctx context.Context, url string, m Message) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(m.Body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Spool-Webhooks/1")
	r.Header.Set(HeaderID, m.ID)
	r.Header.Set(HeaderTimestamp, m.Timestamp)
	r.Header.Set(HeaderSignature, m.Signature)
	res, err := d.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body) // so that the connection can be used again; the status counts
	return res.StatusCode, nil
}
