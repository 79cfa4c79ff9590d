package store

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// Event says that something has happened to a video.
type Event struct {
	Type       video.EventType
	Video      video.ID
	Resolution video.Name // the one that it is about; "": the whole video
	Reason     video.DeletionReason
}

// OnEvents has f called in each transaction that has emitted events, just before it commits, with all of them
// and the time: what f records has happened, and nothing that has happened is missing. If f fails, the
// transaction is rolled back.
func (s *Store) OnEvents(f func(ctx context.Context, tx *Tx, all []Event, at time.Time) error) {
	s.onEvents = f
}

// UseClock sets the clock of events. Without it they get the time of this machine.
func (s *Store) UseClock(now func() time.Time) { s.now = now }

func (s *Store) eventTime() time.Time {
	if s.now == nil {
		return time.Now()
	}
	return s.now()
}

// time is when the transaction says that something has happened.
func (t *Tx) time() time.Time {
	if t.now == nil {
		return time.Now()
	}
	return t.now()
}

// emit says that something has happened to a video. The statements that change a status call it, so no caller can
// forget it.
func (t *Tx) emit(kind video.EventType, id video.ID) {
	t.emitted = append(t.emitted, Event{Type: kind, Video: id})
}

// EmitCaptionsReady says that captions of a video are ready that a program has made.
func (t *Tx) EmitCaptionsReady(id video.ID) { t.emit(video.EventCaptionsReady, id) }

// emitResolutionReady emits that a resolution is ready. With the first one its video can be played, if
// it could not be played while it was encoded. That is noted with the video: it does not happen again
// when the first one was deleted and another becomes ready.
func (t *Tx) emitResolutionReady(ctx context.Context, id video.ResolutionID) error {
	e := Event{Type: video.EventResolutionReady}
	err := t.db.QueryRowContext(ctx, `SELECT video_id, name FROM resolution WHERE id = $1`, id).Scan(&e.Video, &e.Resolution)
	if err != nil {
		return Wrap("find video of resolution", err)
	}
	n, err := t.Exec(ctx, "note playable video", `
		UPDATE video SET playable_at = $1 WHERE id = $2 AND playable_at IS NULL`, Millis(t.time()), e.Video)
	if n > 0 {
		t.emit(video.EventPlayable, e.Video)
	}
	t.emitted = append(t.emitted, e)
	return err
}

// recordEvents passes on what a transaction has emitted.
func (s *Store) recordEvents(ctx context.Context, t *Tx) error {
	if s.onEvents == nil || len(t.emitted) == 0 {
		return nil
	}
	return s.onEvents(ctx, t, t.emitted, s.eventTime())
}
