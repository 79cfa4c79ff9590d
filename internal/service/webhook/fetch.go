package webhook

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

const (
	// MaxFetch is how many messages are fetched at once.
	MaxFetch = 100
	// fetchLease is how long the outcome of a fetched message may take to be reported.
	fetchLease = time.Minute
)

// Fetched is a message that was fetched.
type Fetched struct {
	DeliveryID string
	Type       video.EventType
	Receipt    string // for the report
	Message
}

// Fetch leases the messages that a webhook holds, oldest first. Each is fetched again later unless its
// outcome is reported within a minute.
func (s *Service) Fetch(ctx context.Context, by auth.Actor, id string, limit int) ([]Fetched, error) {
	if err := by.Require(auth.Admin, auth.Read); err != nil {
		return nil, err
	}
	h, err := s.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if !h.Pull {
		return nil, &video.Error{Kind: video.Conflict, Code: "webhook_has_url", Msg: "This webhook has a URL, and its events are sent there. Only events of a webhook without a URL can be fetched."}
	}
	now := s.now()
	var claimed []deliveryRow
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		claimed, err = claimHeld(ctx, tx, id, limit, newID(), now, now.Add(fetchLease))
		return err
	})
	if err != nil || len(claimed) == 0 {
		return nil, err
	}
	all, err := s.load(ctx, claimed, now)
	if err != nil {
		return nil, err
	}
	var out []Fetched
	for _, o := range all {
		if o.obstacle() != "" {
			continue // it was deleted or disabled this moment
		}
		m, err := s.message(o, now)
		if err != nil { // this one alone has failed
			if err := s.conclude(ctx, o.delivery, attemptRow{At: now.UTC().Truncate(time.Millisecond), Error: unwritable}); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, Fetched{DeliveryID: o.delivery.ID, Type: o.delivery.Type, Receipt: o.delivery.Round, Message: m})
	}
	return out, nil
}

// Report says what became of a message that was fetched: the status with which it was answered, or
// an error.
func (s *Service) Report(ctx context.Context, by auth.Actor, delivery, receipt string, a Attempt) error {
	if err := by.Require(auth.Admin); err != nil {
		return err
	}
	d, err := findDelivery(ctx, s.store.Queries, by.Tenant, delivery)
	if err != nil {
		return err
	}
	if d.State != held || d.Round == "" || d.Round != receipt {
		return &video.Error{Kind: video.Conflict, Code: "receipt_expired", Msg: "The message was fetched again, or its outcome was reported already."}
	}
	if a.Error == "" {
		a.Error = explain(a.Status)
	}
	return s.conclude(ctx, d, attemptRow{At: s.now().UTC().Truncate(time.Millisecond), Status: a.Status, Error: a.Error, Milliseconds: a.Duration.Milliseconds()})
}

// conclude records a try of a delivery that was fetched.
func (s *Service) conclude(ctx context.Context, d deliveryRow, a attemptRow) error {
	c, outcome := s.plan.conclude(d, a)
	if err := s.store.InTx(ctx, func(tx *store.Tx) error { return s.record.conclude(ctx, tx, c) }); err != nil {
		return err
	}
	s.tried(outcome, -1) // how long it took is what a client says
	return nil
}
