package webhook

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// State says what becomes of a delivery.
type State string

const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed"
)

// States lists all of them.
var States = []State{Pending, Delivered, Failed}

// Delivery is one event for one webhook.
type Delivery struct {
	ID            string
	EventID       string
	Type          video.EventType
	VideoID       video.ID // "" for a test
	State         State
	Attempts      []Attempt
	CreatedAt     time.Time
	NextAttemptAt time.Time // zero: there is no other
}

// Attempt is what became of one try.
type Attempt struct {
	At       time.Time
	Status   int // of the response; 0: there was none
	Error    string
	Duration time.Duration
}

// Page is a part of the log.
type Page struct {
	Deliveries []Delivery
	Next       video.Cursor // zero: this is the last
}

// Deliveries returns the log of a webhook, newest first; with a state, only those deliveries.
func (s *Service) Deliveries(ctx context.Context, by auth.Actor, id string, state State, after video.Cursor, limit int) (Page, error) {
	h, err := s.Get(ctx, by, id)
	if err != nil {
		return Page{}, err
	}
	if state == Pending {
		state = h.unfinishedState()
	}
	rows, err := listDeliveries(ctx, s.store.Queries, id, state, after, limit+1)
	if err != nil {
		return Page{}, err
	}
	var p Page
	if len(rows) > limit {
		rows = rows[:limit]
		last := rows[limit-1]
		p.Next = video.Cursor{CreatedAt: last.CreatedAt, ID: video.ID(last.ID)}
	}
	for _, d := range rows {
		p.Deliveries = append(p.Deliveries, viewDelivery(d))
	}
	return p, nil
}

// Delivery returns an entry of the log, with the body of its message. A body tells of a video, so it takes the scope
// that reads one, too.
func (s *Service) Delivery(ctx context.Context, by auth.Actor, id string) (Delivery, []byte, error) {
	if err := by.Require(auth.Admin, auth.Read); err != nil {
		return Delivery{}, nil, err
	}
	d, err := findDelivery(ctx, s.store.Queries, by.Tenant, id)
	if err != nil {
		return Delivery{}, nil, err
	}
	events, err := eventsByID(ctx, s.store.Queries, []string{d.Event})
	if err != nil {
		return Delivery{}, nil, err
	}
	e, kept := events[d.Event]
	if !kept {
		return Delivery{}, nil, deliveryNotFound() // both are removed at the same age
	}
	body, err := s.bodyOf(e)
	return viewDelivery(d), body, err
}

func viewDelivery(d deliveryRow) Delivery {
	v := Delivery{ID: d.ID, EventID: d.Event, Type: d.Type, VideoID: d.Video, State: d.State, CreatedAt: d.CreatedAt, NextAttemptAt: d.NextAt}
	if d.State == held {
		v.State = Pending
	}
	for _, a := range d.Attempts {
		v.Attempts = append(v.Attempts, Attempt{At: a.At, Status: a.Status, Error: a.Error, Duration: time.Duration(a.Milliseconds) * time.Millisecond})
	}
	return v
}

// Replay has an event delivered once more, with the same id, as if it had just been recorded.
func (s *Service) Replay(ctx context.Context, by auth.Actor, delivery string) error {
	if err := by.Require(auth.Admin); err != nil {
		return err
	}
	d, err := findDelivery(ctx, s.store.Queries, by.Tenant, delivery)
	if err != nil {
		return err
	}
	h, err := findWebhook(ctx, s.store.Queries, by.Tenant, d.Webhook)
	if video.KindOf(err) == video.NotFound { // it was deleted, and soon its log is, too
		return deliveryNotFound()
	}
	if err != nil {
		return err
	}
	if !h.Enabled {
		return errDisabled
	}
	if err := s.space(ctx); err != nil { // each attempt makes the log longer
		return err
	}
	return s.rows.replay(ctx, h, delivery, newID(), s.now())
}

// OldestPending returns how old the oldest event is that is still to be delivered.
func (s *Service) OldestPending(ctx context.Context) (time.Duration, error) {
	at, err := oldestPending(ctx, s.store.Queries)
	if err != nil || at.IsZero() {
		return 0, err
	}
	return max(0, s.now().Sub(at)), nil
}
