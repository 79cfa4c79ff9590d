package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/video"
)

// emission is an event of a transaction that has not ended yet.
type emission struct {
	kind       video.EventType
	video      video.ID
	resolution video.Name // the one that the event is about; "": the whole video
}

// Emit records that something has happened to a video, for the webhooks of its tenant.
// The statements that change a status call it, so no caller can forget it. All events of
// a transaction are written just before it commits, with the video as it is then: what
// a webhook is told has happened, and nothing that has happened is missing.
func (t *Tx) Emit(kind video.EventType, id video.ID) {
	t.emitted = append(t.emitted, emission{kind: kind, video: id})
}

// emitResolutionReady emits that a resolution is ready. With the first one its video can be played, if
// it could not be played while it was encoded. That is noted with the video: it does not happen again
// when the first one was deleted and another becomes ready.
func (t *Tx) emitResolutionReady(ctx context.Context, id video.ResolutionID) error {
	e := emission{kind: video.EventResolutionReady}
	err := t.db.QueryRowContext(ctx, `SELECT video_id, name FROM resolution WHERE id = $1`, id).Scan(&e.video, &e.resolution)
	if err != nil {
		return Wrap("find video of resolution", err)
	}
	n, err := t.Exec(ctx, "note playable video", `
		UPDATE video SET playable_at = $1 WHERE id = $2 AND playable_at IS NULL`, Millis(t.now()), e.video)
	if n > 0 {
		t.Emit(video.EventPlayable, e.video)
	}
	t.emitted = append(t.emitted, e)
	return err
}

// UseClock sets the clock of events. Without it they get the time of this machine.
func (w Webhooks) UseClock(now func() time.Time) { w.s.now = now }

func (s *Store) eventTime() time.Time {
	if s.now == nil {
		return time.Now()
	}
	return s.now()
}

// Event is something that happened, and the video as it was when that was committed.
type Event struct {
	ID        string
	Type      video.EventType
	Video     video.ID
	CreatedAt time.Time
	Snapshot  Snapshot
	Damaged   error // why the snapshot could not be read; it is empty then
}

// Snapshot is a video at one moment, with all that its state is derived from.
type Snapshot struct {
	Video      video.Video
	Steps      []Step     `json:",omitempty"` // added up, while it is processing; see StepTotals
	Resolution video.Name `json:",omitempty"` // the one that the event is about
	Webhook    string     `json:",omitempty"` // the one that is tested; there is no video then
}

// recordEvents writes what the transaction has emitted.
func (s *Store) recordEvents(ctx context.Context, t *Tx) error {
	at := s.eventTime()
	for i, e := range t.emitted {
		before := func(o emission) bool { return o.video == e.video }
		if slices.ContainsFunc(t.emitted[:i], before) {
			continue // written with the first event of its video
		}
		if err := t.recordEventsOf(ctx, e.video, at); err != nil {
			return err
		}
	}
	return nil
}

// recordEventsOf writes the events of one video, if any webhook wants them.
func (t *Tx) recordEventsOf(ctx context.Context, id video.ID, at time.Time) error {
	hooks, err := t.webhooksOf(ctx, id)
	if err != nil || len(hooks) == 0 {
		return err
	}
	snapshot, err := t.snapshotOf(ctx, id)
	if err != nil || snapshot.Video.ID == "" {
		return err
	}
	for _, e := range t.emitted {
		wanted := slices.DeleteFunc(slices.Clone(hooks), func(h Webhook) bool { return !h.Wants(e.kind) })
		if e.video != id || len(wanted) == 0 {
			continue
		}
		snapshot.Resolution = e.resolution
		if err := t.insertEvent(ctx, Event{Type: e.kind, Video: id, CreatedAt: at, Snapshot: snapshot}, wanted); err != nil {
			return err
		}
	}
	return nil
}

// webhooksOf returns the enabled webhooks of the tenant that a video belongs to. It
// reads no more of them than a worker may see.
func (t *Tx) webhooksOf(ctx context.Context, id video.ID) ([]Webhook, error) {
	scan := func(row *sql.Rows) (w Webhook, err error) {
		var events string
		err = row.Scan(&w.ID, &w.Tenant, &events, &w.Pull)
		w.Events = splitEvents(events)
		return w, err
	}
	return Collect(ctx, t.Queries, "find webhooks", scan, `
		SELECT id, tenant, events, pull FROM webhook
		 WHERE tenant = (SELECT tenant FROM video WHERE id = $1) AND enabled`, id)
}

// PerRendition is the kind of the steps that there are of each rendition: a state needs
// them separately.
const PerRendition = "assemble"

// snapshotOf returns a video as the transaction sees it, or none if it is gone.
func (t *Tx) snapshotOf(ctx context.Context, id video.ID) (Snapshot, error) {
	v, err := t.video(ctx, id, listColumns)
	if video.KindOf(err) == video.NotFound {
		return Snapshot{}, nil
	}
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Video: v}
	s.Video.Source = video.Source{}
	if v.Plan != nil {
		s.Video.Plan = withoutDetails(v.Plan)
		steps, err := t.stepTotals(ctx, []video.ID{id}, PerRendition)
		if err != nil {
			return s, err
		}
		s.Steps = steps[id]
	}
	return s, nil
}

// withoutDetails returns a plan without the parts that are long and that no state needs.
func withoutDetails(p *video.Plan) *video.Plan {
	short := *p
	short.Streams, short.Jumps, short.Chunks, short.Thumbnails, short.Head, short.Samples = nil, nil, nil, nil, nil, nil
	return &short
}

// insertEvent stores an event, and its delivery to each of the webhooks.
func (t *Tx) insertEvent(ctx context.Context, e Event, hooks []Webhook) error {
	text, err := json.Marshal(e.Snapshot)
	if err != nil {
		return fmt.Errorf("record %s of %s: %w", e.Type, e.Video, err)
	}
	e.ID = uuid.Must(uuid.NewV7()).String()
	if _, err := t.Exec(ctx, "record event", `
		INSERT INTO webhook_event (id, type, video_id, created_at, snapshot) VALUES ($1, $2, $3, $4, $5)`,
		e.ID, e.Type, e.Video, Millis(e.CreatedAt), string(text)); err != nil {
		return err
	}
	var rows []string
	var args []any
	var deliveries []Delivery
	for _, h := range hooks {
		d := Delivery{ID: uuid.Must(uuid.NewV7()).String(), Webhook: h.ID, Event: e.ID, Tenant: h.Tenant, State: h.unfinishedState()}
		n := len(args)
		rows = append(rows, fmt.Sprintf("($%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d)", n+1, n+2, n+3, n+4, n+5, n+6, n+7, n+8, n+8))
		args = append(args, d.ID, d.Webhook, d.Event, d.Tenant, e.Type, e.Video, d.State, Millis(e.CreatedAt))
		deliveries = append(deliveries, d)
	}
	_, err = t.Exec(ctx, "record deliveries", `
		INSERT INTO webhook_delivery (id, webhook_id, event_id, tenant, type, video_id, state, created_at, next_at)
		VALUES `+strings.Join(rows, ", "), args...)
	if err != nil {
		return err
	}
	return t.send(ctx, deliveries)
}

// Events returns the events with these ids, as far as they exist. An event that cannot be read carries its own
// error, so that the others reach their receivers.
func (w Webhooks) Events(ctx context.Context, ids []string) (map[string]Event, error) {
	in, arg := IDList(1, ids)
	all := make(map[string]Event, len(ids))
	_, err := Collect(ctx, w.s.Queries, "read events", func(row *sql.Rows) (none struct{}, err error) {
		var e Event
		var at sql.NullInt64
		var text string
		if err := row.Scan(&e.ID, &e.Type, &e.Video, &at, &text); err != nil {
			return none, err
		}
		e.CreatedAt = FromMillis(at)
		if err := json.Unmarshal([]byte(text), &e.Snapshot); err != nil {
			e.Snapshot, e.Damaged = Snapshot{}, fmt.Errorf("read event %s: %w", e.ID, err)
		}
		all[e.ID] = e
		return none, nil
	}, `SELECT id, type, video_id, created_at, snapshot FROM webhook_event WHERE id IN `+in, arg)
	return all, err
}
