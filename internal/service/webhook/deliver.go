package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
)

// Config is what an operator may choose.
type Config struct {
	// RetryFactor shortens the pauses before further tries, for tests; 0: 1.
	RetryFactor float64
	// Timeout is for one try; 0: 15 s.
	Timeout time.Duration
	// Space returns an error while the disk has no space for more than what has to be recorded; nil: the
	// database is on another disk.
	Space func(context.Context) error
	// Release gives up disk space that is held for what gets the service out of a full disk, and reports
	// whether there was any; nil: no space is held.
	Release func() bool
}

const (
	// tryTimeout is for one request with its response.
	tryTimeout = 15 * time.Second
	// drainTime is how long a stop waits for requests under way.
	drainTime = 3 * time.Second
	// recordTime is for how long the outcome of a try is tried to be recorded. After that, the message is
	// sent again.
	recordTime = 15 * time.Second
	// troublePause is the pause after an error of the database.
	troublePause = 2 * time.Second
	maxResponse  = 64 << 10
	pruneEvery   = time.Hour
)

// unwritable is what the log says of a message that could not be made.
const unwritable = "Spool could not write the message."

// Dispatcher delivers events to webhooks.
type Dispatcher struct {
	store   *store.Store
	record  recorder
	sign    signer
	client  *outbound.Client
	plan    schedule
	timeout time.Duration
	now     func() time.Time
	log     *slog.Logger
	tried   func(Outcome, time.Duration)
}

// NewDispatcher returns a dispatcher for the webhooks of a service.
func NewDispatcher(svc *Service, c Config, log *slog.Logger) *Dispatcher {
	if c.Timeout == 0 {
		c.Timeout = tryTimeout
	}
	return &Dispatcher{
		store: svc.store, record: svc.rows.record, sign: svc.sign, plan: svc.plan, timeout: c.Timeout, now: svc.now, log: log, tried: svc.tried,
		client: outbound.NewClient(svc.guard, outbound.Options{Timeout: c.Timeout, MaxBody: maxResponse, IdleConns: 256}),
	}
}

// Run removes what is too old for the log, until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) {
	d.prune(ctx)
	d.client.CloseIdle()
}

// Handle handles a task of the kind Deliver or CleanUp.
func (d *Dispatcher) Handle(ctx context.Context, t queue.Task) error {
	if t.Kind == queue.CleanUp {
		return d.cleanUp(ctx, t)
	}
	return d.deliver(ctx, t)
}

// deliver tries one delivery.
func (d *Dispatcher) deliver(ctx context.Context, t queue.Task) error {
	id, replay, _ := strings.Cut(t.ID, replaySeparator)
	found, err := pendingDelivery(ctx, d.store.Queries, id, replay)
	if err != nil || len(found) == 0 { // it has ended, or another task is for its replay
		return err
	}
	if wait := found[0].NextAt.Sub(d.now()); wait > time.Second { // the process died that had tried it
		return queue.RetryAfter(wait, errNotAccepted)
	}
	all, err := d.sign.load(ctx, found, d.now())
	if err != nil {
		return err
	}
	tries, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	detach := context.AfterFunc(ctx, func() { time.AfterFunc(drainTime, cancel) })
	defer detach()
	r := d.tryRecovering(tries, all[0])
	if r.outcome == "" {
		return context.Cause(ctx)
	}
	if err := d.recordResult(context.WithoutCancel(ctx), r); err != nil {
		return err
	}
	d.tried(r.outcome, time.Duration(r.Attempt.Milliseconds)*time.Millisecond)
	if r.State != Pending {
		return nil
	}
	return queue.RetryAfter(r.NextAt.Sub(d.now()), errNotAccepted)
}

// errNotAccepted is the error of a try that failed. The log of the delivery says why.
var errNotAccepted = errors.New("the receiver did not accept the event")

// recordResult stores the outcome of a try. While the database is away it tries again for a while.
func (d *Dispatcher) recordResult(ctx context.Context, r result) error {
	for deadline := time.Now().Add(recordTime); ; time.Sleep(troublePause) {
		err := d.store.InTx(ctx, func(tx *store.Tx) error {
			if err := d.record.conclude(ctx, tx, r.conclusion); err != nil || r.State == Pending {
				return err
			}
			return d.record.queue.Complete(ctx, tx)
		})
		if err == nil || errors.Is(err, queue.ErrCancelled) || time.Now().After(deadline) {
			return err
		}
		d.log.WarnContext(ctx, "could not record the outcome of a delivery", "delivery", r.Delivery.ID, "err", err)
	}
}

// result is a try that has ended.
type result struct {
	conclusion
	outcome Outcome // "": it was not tried
}

// tryRecovering is try. A panic counts as a failed attempt.
func (d *Dispatcher) tryRecovering(ctx context.Context, o outgoing) (r result) {
	began := d.now()
	if panics.Log(ctx, d.log, "delivering an event panicked", func() { r = d.try(ctx, o) }) {
		return r
	}
	c, outcome := d.plan.conclude(o.delivery, attemptRow{At: began, Error: unwritable})
	return result{c, outcome}
}

// try sends one message.
func (d *Dispatcher) try(ctx context.Context, o outgoing) result {
	if reason := o.obstacle(); reason != "" {
		return result{conclusion: conclusion{Delivery: o.delivery, State: Failed, Tries: o.delivery.Tries,
			Attempt: attemptRow{At: d.now().UTC(), Error: reason}}, outcome: OutcomeFailed}
	}
	began, clock := d.now().UTC().Truncate(time.Millisecond), time.Now()
	message, err := d.sign.message(o, began)
	attempt := attemptRow{At: began}
	if err != nil {
		d.log.ErrorContext(ctx, "could not write the message of an event", "event", o.delivery.Event, "err", err)
		attempt.Error = unwritable
	} else if attempt.Status, err = d.post(ctx, o.hook.URL, message); err != nil {
		if ctx.Err() != nil { // a stop; the receiver may have it already, and gets it again
			return result{}
		}
		attempt.Error = explainError(err)
	} else {
		attempt.Error = explain(attempt.Status)
	}
	attempt.Milliseconds = time.Since(clock).Milliseconds()
	c, outcome := d.plan.conclude(o.delivery, attempt)
	return result{conclusion: c, outcome: outcome}
}

// post sends a message and returns the status of the response. The body is not used.
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
