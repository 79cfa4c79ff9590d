package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/video"
)

// Shortage says how little is left of the space that deletions need.
type Shortage int

const (
	Enough   Shortage = iota
	Short             // they will fail if this goes on
	Critical          // they fail any moment
)

const (
	// spaceEvery is how often the free space is measured.
	spaceEvery = time.Second
	// maxShort is how many measurements in a row have to find it short before events go that are still to
	// be delivered: another program may need much for a moment.
	maxShort = 5
	// freedAtOnce is how many deliveries are removed before the space is measured again.
	freedAtOnce = 50
	// clearEvery is how often logs of removed webhooks, and deliveries to disabled ones, are looked for.
	clearEvery = time.Second
	// tellEvery is how often the log says the same again.
	tellEvery = time.Minute
)

// spaceState is what was found and done to keep disk space free.
type spaceState struct {
	mu          sync.Mutex
	short       int // measurements in a row that found too little
	ended, lost int // deliveries that were removed and that the log does not tell yet
	told        reminder
	complained  reminder
}

// reminder is a line of the log that is written once in tellEvery at most.
type reminder struct{ last time.Time }

// isDue reports whether the line is to be written now.
func (r *reminder) isDue() bool {
	if now := time.Now(); r.last.IsZero() || now.Sub(r.last) >= tellEvery {
		r.last = now
		return true
	}
	return false
}

// keepSpaceFree removes events while they take the space that creates and deletions need, until ctx ends. Each
// deletion of a video is an event: without this, a full disk could not be left by deleting.
func (d *Dispatcher) keepSpaceFree(ctx context.Context) {
	if d.config.Space == nil {
		return
	}
	d.repeat(ctx, spaceEvery, "freeing disk space panicked", func() { d.checkSpace(ctx, true) })
}

// FreeSpace removes events if deletions fail any moment. A deletion calls it first, because many of them
// write more in a moment than is left when keepSpaceFree measures the next time.
func (d *Dispatcher) FreeSpace(ctx context.Context) {
	if d.config.Short == nil {
		return
	}
	if shortage, err := d.config.Short(ctx); err == nil && shortage == Critical {
		d.checkSpace(ctx, false)
	}
}

// clearUp does what was left of changes of webhooks, until ctx ends: it removes the logs of those that were
// removed, and ends what was still to be delivered to those that were disabled.
func (d *Dispatcher) clearUp(ctx context.Context) {
	var complained reminder
	d.repeat(ctx, clearEvery, "clearing up behind webhooks panicked", func() {
		for _, step := range []func(context.Context, int) (bool, error){d.rows.RemoveLogs, d.rows.EndDeliveries} {
			if err := d.clearAll(ctx, step); err != nil && ctx.Err() == nil && complained.isDue() {
				d.log.WarnContext(ctx, "could not clear up behind webhooks that were deleted or disabled", "err", err)
			}
		}
	})
}

// clearAll repeats a step until nothing is left. A removal has to be written to the database's log first:
// where a full disk has no space for a large one, it takes smaller ones.
func (d *Dispatcher) clearAll(ctx context.Context, step func(ctx context.Context, limit int) (more bool, err error)) (err error) {
	limit := prunedAtOnce
	for more := true; more && err == nil && ctx.Err() == nil; {
		err = diskspace.WithRelease(d.config.Release, func() (err error) {
			more, err = step(ctx, limit)
			return err
		})
		if video.KindOf(err) == video.InsufficientStorage && limit > 1 {
			limit, more, err = max(limit/4, 1), true, nil
		}
	}
	return err
}

// repeat calls f again and again until ctx ends.
func (d *Dispatcher) repeat(ctx context.Context, pause time.Duration, panicked string, f func()) {
	every := time.NewTicker(pause)
	defer every.Stop()
	for ctx.Err() == nil {
		panics.Log(ctx, d.log, panicked, f)
		select {
		case <-every.C:
		case <-ctx.Done():
		}
	}
}

// checkSpace measures the space once, and removes what has to go. Only scheduled measurements count towards
// maxShort: many deletions in a moment do not make a shortage that lasts.
func (d *Dispatcher) checkSpace(ctx context.Context, scheduled bool) {
	r := &d.space
	r.mu.Lock()
	defer r.mu.Unlock()
	err := d.freeSpace(ctx, r, scheduled)
	if r.ended+r.lost > 0 && r.told.isDue() {
		d.log.WarnContext(ctx, "the disk is nearly full, so events of webhooks were removed", "ended", r.ended, "undelivered", r.lost)
		r.ended, r.lost = 0, 0
	}
	if err != nil && ctx.Err() == nil && r.complained.isDue() {
		d.log.WarnContext(ctx, "could not free disk space by removing events of webhooks", "err", err)
	}
}

// freeSpace removes deliveries that have ended while the space is not enough for creates. Those that are
// still open go only if deletions would fail: at once if it is critical, else if it stays short.
func (d *Dispatcher) freeSpace(ctx context.Context, r *spaceState, scheduled bool) error {
	for ; ctx.Err() == nil; scheduled = false {
		if video.KindOf(d.config.Space(ctx)) != video.InsufficientStorage {
			r.short = 0
			return nil
		}
		shortage, err := d.config.Short(ctx)
		if err != nil {
			return err
		}
		switch {
		case shortage == Enough:
			r.short = 0
		case scheduled:
			r.short++
		}
		all := shortage == Critical || shortage == Short && r.short >= maxShort
		var ended, open int
		err = diskspace.WithRelease(d.config.Release, func() (err error) {
			ended, open, err = d.rows.FreeSpace(ctx, all, freedAtOnce)
			return err
		})
		if err != nil || ended+open == 0 {
			return err
		}
		r.ended, r.lost = r.ended+ended, r.lost+open
	}
	return nil
}
