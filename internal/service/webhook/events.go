package webhook

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// eventRow is something that happened, and the video as it was when that was committed.
type eventRow struct {
	ID        string
	Type      video.EventType
	Video     video.ID
	CreatedAt time.Time
	Snapshot  snapshot
	Damaged   error // why the snapshot could not be read; it is empty then
}

// snapshot is a video at one moment, with all that its state is derived from.
type snapshot struct {
	Video      video.Video
	Steps      []store.Step         `json:",omitempty"` // added up, while it is processing; see store.StepTotals
	Replaces   *catalog.Replacement `json:",omitempty"` // the file on its way to it
	Resolution video.Name           `json:",omitempty"` // the one that the event is about
	Reason     video.DeletionReason `json:",omitempty"`
	Webhook    string               `json:",omitempty"` // the one that is tested; there is no video then
}

// Record has the events of a database recorded for the webhooks that want them, and their deliveries enqueued, in
// the transactions that make them happen.
func Record(s *store.Store, q queue.Queue) { s.OnEvents(recorder{q}.recordEvents) }

// recorder writes events and deliveries, and enqueues their tasks.
type recorder struct{ queue queue.Queue }

// recordEvents writes the events of a transaction, with the videos as they are when it commits.
func (r recorder) recordEvents(ctx context.Context, tx *store.Tx, all []store.Event, at time.Time) error {
	for i, e := range all {
		if slices.ContainsFunc(all[:i], func(o store.Event) bool { return o.Video == e.Video }) {
			continue // written with the first event of its video
		}
		of := slices.DeleteFunc(slices.Clone(all), func(o store.Event) bool { return o.Video != e.Video })
		if err := r.recordEventsOf(ctx, tx, e.Video, of, at); err != nil {
			return err
		}
	}
	return nil
}

// recordEventsOf writes the events of one video, if any webhook wants them.
func (r recorder) recordEventsOf(ctx context.Context, tx *store.Tx, id video.ID, events []store.Event, at time.Time) error {
	id, events, err := aboutReplaced(ctx, tx, id, events)
	if err != nil || len(events) == 0 {
		return err
	}
	hooks, err := webhooksFor(ctx, tx.Queries, id)
	if err != nil || len(hooks) == 0 {
		return err
	}
	snapshot, err := snapshotOf(ctx, tx, id)
	if err != nil || snapshot.Video.ID == "" {
		return err
	}
	for _, e := range events {
		wanted := slices.DeleteFunc(slices.Clone(hooks), func(h Webhook) bool { return !h.wants(e.Type) })
		if len(wanted) == 0 {
			continue
		}
		snapshot.Resolution, snapshot.Reason = e.Resolution, e.Reason
		if err := r.insertEvent(ctx, tx, eventRow{ID: newID(), Type: e.Type, Video: id, CreatedAt: at, Snapshot: snapshot}, wanted); err != nil {
			return err
		}
	}
	return nil
}

// aboutReplaced turns the events of a hidden video into events of the video whose file it will replace: others are only told
// that it failed.
func aboutReplaced(ctx context.Context, tx *store.Tx, id video.ID, events []store.Event) (video.ID, []store.Event, error) {
	var of video.ID
	err := tx.QueryRow(ctx, `SELECT COALESCE(replaces, '') FROM video WHERE id = $1`, id).Scan(&of)
	if errors.Is(err, sql.ErrNoRows) || err == nil && of == "" {
		return id, events, nil
	}
	failed := slices.ContainsFunc(events, func(e store.Event) bool { return e.Type == video.EventFailed })
	if err != nil || !failed {
		return of, nil, store.Wrap("find the video whose file is replaced", err)
	}
	return of, []store.Event{{Type: video.EventReplaceFailed, Video: of}}, nil
}

// webhooksFor returns the enabled webhooks of the tenant that a video belongs to. It
// reads no more of them than a worker may see.
func webhooksFor(ctx context.Context, q store.Queries, id video.ID) ([]Webhook, error) {
	scan := func(row *sql.Rows) (h Webhook, err error) {
		var events string
		err = row.Scan(&h.ID, &h.Tenant, &events, &h.Pull)
		h.Events = splitEvents(events)
		return h, err
	}
	return store.Collect(ctx, q, "find webhooks", scan, `
		SELECT id, tenant, events, pull FROM webhook
		 WHERE tenant = (SELECT tenant FROM video WHERE id = $1) AND enabled`, id)
}

// snapshotOf returns a video as the transaction sees it, or none if it is gone.
func snapshotOf(ctx context.Context, tx *store.Tx, id video.ID) (snapshot, error) {
	v, err := tx.Video(ctx, id)
	if video.KindOf(err) == video.NotFound {
		return snapshot{}, nil
	}
	if err != nil {
		return snapshot{}, err
	}
	s := snapshot{Video: v}
	s.Video.Source, s.Video.Plan = video.Source{}, nil
	if s.Replaces, err = catalog.ReplacementOf(ctx, tx.Queries, id); err != nil {
		return s, err
	}
	if v.Plan != nil && v.Status == video.Processing {
		s.Video.Plan = withoutDetails(v.Plan)
		steps, err := tx.StepTotals(ctx, []video.ID{id}, pipeline.PerRendition())
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
func (r recorder) insertEvent(ctx context.Context, tx *store.Tx, e eventRow, hooks []Webhook) error {
	text, err := json.Marshal(e.Snapshot)
	if err != nil {
		return fmt.Errorf("record %s of %s: %w", e.Type, e.Video, err)
	}
	if _, err := tx.Exec(ctx, "record event", `
		INSERT INTO webhook_event (id, type, video_id, created_at, snapshot) VALUES ($1, $2, $3, $4, $5)`,
		e.ID, e.Type, e.Video, store.Millis(e.CreatedAt), string(text)); err != nil {
		return err
	}
	var values []string
	var args []any
	var deliveries []deliveryRow
	for _, h := range hooks {
		d := deliveryRow{ID: newID(), Webhook: h.ID, Event: e.ID, Tenant: h.Tenant, State: h.unfinishedState()}
		n := len(args)
		values = append(values, fmt.Sprintf("($%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d)", n+1, n+2, n+3, n+4, n+5, n+6, n+7, n+8, n+8))
		args = append(args, d.ID, d.Webhook, d.Event, d.Tenant, e.Type, e.Video, d.State, store.Millis(e.CreatedAt))
		deliveries = append(deliveries, d)
	}
	if _, err := tx.Exec(ctx, "record deliveries", `
		INSERT INTO webhook_delivery (id, webhook_id, event_id, tenant, type, video_id, state, created_at, next_at)
		VALUES `+strings.Join(values, ", "), args...); err != nil {
		return err
	}
	return r.send(ctx, tx, deliveries)
}

// eventsByID returns the events with these ids, as far as they exist. An event that cannot be read carries its own
// error, so that the others reach their receivers.
func eventsByID(ctx context.Context, q store.Queries, ids []string) (map[string]eventRow, error) {
	in, arg := store.IDList(1, ids)
	all := make(map[string]eventRow, len(ids))
	_, err := store.Collect(ctx, q, "read events", func(row *sql.Rows) (none struct{}, err error) {
		var e eventRow
		var at sql.NullInt64
		var text string
		if err := row.Scan(&e.ID, &e.Type, &e.Video, &at, &text); err != nil {
			return none, err
		}
		e.CreatedAt = store.FromMillis(at)
		if err := json.Unmarshal([]byte(text), &e.Snapshot); err != nil {
			e.Snapshot, e.Damaged = snapshot{}, fmt.Errorf("read event %s: %w", e.ID, err)
		}
		all[e.ID] = e
		return none, nil
	}, `SELECT id, type, video_id, created_at, snapshot FROM webhook_event WHERE id IN `+in, arg)
	return all, err
}
