package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
)

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

// Run removes what is too old for the log, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	s.prune(ctx)
	s.client.CloseIdle()
}

// Handle handles a task of the kind Deliver or CleanUp.
func (s *Service) Handle(ctx context.Context, t queue.Task) error {
	if t.Kind == queue.CleanUp {
		return s.cleanUp(ctx, t)
	}
	return s.deliver(ctx, t)
}

// deliver tries one delivery.
func (s *Service) deliver(ctx context.Context, t queue.Task) error {
	id, replay, _ := strings.Cut(t.ID, replaySeparator)
	found, err := pendingDelivery(ctx, s.store.Queries, id, replay)
	if err != nil || len(found) == 0 { // it has ended, or another task is for its replay
		return err
	}
	if wait := found[0].NextAt.Sub(s.now()); wait > time.Second { // the process died that had tried it
		return queue.RetryAfter(wait, errNotAccepted)
	}
	all, err := s.load(ctx, found, s.now())
	if err != nil {
		return err
	}
	tries, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	detach := context.AfterFunc(ctx, func() { time.AfterFunc(drainTime, cancel) })
	defer detach()
	r := s.tryRecovering(tries, all[0])
	if r.outcome == "" {
		return context.Cause(ctx)
	}
	if err := s.recordResult(context.WithoutCancel(ctx), r); err != nil {
		return err
	}
	s.tried(r.outcome, time.Duration(r.Attempt.Milliseconds)*time.Millisecond)
	if r.State != Pending {
		return nil
	}
	return queue.RetryAfter(r.NextAt.Sub(s.now()), errNotAccepted)
}

// errNotAccepted is the error of a try that failed. The log of the delivery says why.
var errNotAccepted = errors.New("the receiver did not accept the event")

// recordResult stores the outcome of a try. While the database is away it tries again for a while.
func (s *Service) recordResult(ctx context.Context, r result) error {
	for deadline := time.Now().Add(recordTime); ; time.Sleep(troublePause) {
		err := s.store.InTx(ctx, func(tx *store.Tx) error {
			if err := s.record.conclude(ctx, tx, r.conclusion); err != nil || r.State == Pending {
				return err
			}
			return s.record.queue.Complete(ctx, tx)
		})
		if err == nil || errors.Is(err, queue.ErrCancelled) || time.Now().After(deadline) {
			return err
		}
		s.log.WarnContext(ctx, "could not record the outcome of a delivery", "delivery", r.Delivery.ID, "err", err)
	}
}

// result is a try that has ended.
type result struct {
	conclusion
	outcome Outcome // "": it was not tried
}

// tryRecovering is try. A panic counts as a failed attempt.
func (s *Service) tryRecovering(ctx context.Context, o outgoing) (r result) {
	began := s.now()
	if panics.Log(ctx, s.log, "delivering an event panicked", func() { r = s.try(ctx, o) }) {
		return r
	}
	c, outcome := s.plan.conclude(o.delivery, attemptRow{At: began, Error: unwritable})
	return result{c, outcome}
}

// try sends one message.
func (s *Service) try(ctx context.Context, o outgoing) result {
	if reason := o.obstacle(); reason != "" {
		return result{conclusion: conclusion{Delivery: o.delivery, State: Failed, Tries: o.delivery.Tries,
			Attempt: attemptRow{At: s.now().UTC(), Error: reason}}, outcome: OutcomeFailed}
	}
	began, clock := s.now().UTC().Truncate(time.Millisecond), time.Now()
	message, err := s.message(o, began)
	attempt := attemptRow{At: began}
	if err != nil {
		s.log.ErrorContext(ctx, "could not write the message of an event", "event", o.delivery.Event, "err", err)
		attempt.Error = unwritable
	} else if attempt.Status, err = s.post(ctx, o.hook.URL, message); err != nil {
		if ctx.Err() != nil { // a stop; the receiver may have it already, and gets it again
			return result{}
		}
		attempt.Error = explainError(err)
	} else {
		attempt.Error = explain(attempt.Status)
	}
	attempt.Milliseconds = time.Since(clock).Milliseconds()
	c, outcome := s.plan.conclude(o.delivery, attempt)
	return result{conclusion: c, outcome: outcome}
}

// post sends a message and returns the status of the response. The body is not used.
func (s *Service) post(ctx context.Context, url string, m Message) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(m.Body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Spool-Webhooks/1")
	r.Header.Set(HeaderID, m.ID)
	r.Header.Set(HeaderTimestamp, m.Timestamp)
	r.Header.Set(HeaderSignature, m.Signature)
	res, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body) // so that the connection can be used again; the status counts
	return res.StatusCode, nil
}
