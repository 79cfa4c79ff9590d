package janitor_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// events are what a database has emitted, as "expiring ID" and "deleted ID expired".
type events struct {
	mu  sync.Mutex
	all []string
}

// listen notes the expiries and deletions of a rig.
func (e *events) listen(b *servicetest.Rig) {
	b.Store.OnEvents(func(_ context.Context, _ *store.Tx, all []store.Event, _ time.Time) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, one := range all {
			if one.Type == video.EventExpiring || one.Type == video.EventDeleted {
				e.all = append(e.all, fmt.Sprintf("%s %s %s", one.Type, one.Video, one.Reason))
			}
		}
		return nil
	})
}

// want wants exactly these events since it was last called, in any order.
func (e *events) want(t *testing.T, what string, want ...string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(e.all)); !slices.Equal(got, want) {
		t.Errorf("%s: events are %q; want %q", what, got, want)
	}
	e.all = nil
}

func expiring(id video.ID) string { return fmt.Sprintf("%s %s ", video.EventExpiring, id) }
func expired(id video.ID) string {
	return fmt.Sprintf("%s %s %s", video.EventDeleted, id, video.Expired)
}

// expire is what a process does every few seconds.
func expire(b *servicetest.Rig) {
	b.T.Helper()
	_, err := b.TellExpiring(b.T.Context())
	b.Must(err)
	_, err = b.DeleteExpired(b.T.Context())
	b.Must(err)
}

func TestAVideoExpires(t *testing.T) {
	t.Parallel()
	b, seen := servicetest.New(t), new(events)
	seen.listen(b)
	at := func(d time.Duration) *time.Time { return new(b.Now().Add(d)) }
	far := b.Ready(servicetest.Plan("720p", "240p")).ID
	soon, never := b.Create(video.Draft{ExpiresAt: at(23 * time.Hour)}).Video.ID, b.Create(video.Draft{ExpiresAt: at(30 * time.Hour)}).Video.ID
	edit := func(id video.ID, to *time.Time) {
		t.Helper()
		_, err := b.Catalog.Edit(t.Context(), b.By, id, video.Edit{ExpiresAt: to})
		b.Must(err)
	}
	edit(far, at(48*time.Hour))
	seen.want(t, "at once", expiring(soon))
	expire(b)
	seen.want(t, "nothing more is due")

	b.Advance(22 * time.Hour)
	expire(b)
	seen.want(t, "a day before", expiring(never))
	edit(never, new(time.Time))
	edit(soon, at(time.Hour)) // the same time as before
	seen.want(t, "it was told of this time")
	b.Advance(time.Hour - time.Millisecond)
	expire(b)
	seen.want(t, "a moment before")
	b.Advance(time.Millisecond)
	expire(b)
	seen.want(t, "the first expires", expired(soon))
	edit(far, at(24*time.Hour))
	seen.want(t, "another time", expiring(far))

	b.Advance(25 * time.Hour)
	expire(b)
	seen.want(t, "the other expires", expired(far))
	_, err := b.OpenPublic(t.Context(), far, "720p.mp4")
	servicetest.WantCode(t, err, video.NotFound, "not_found")
	if keys := b.Objects(); len(keys) > 0 {
		t.Errorf("objects %v are left", keys)
	}
	if v := b.Video(never); !v.ExpiresAt.IsZero() {
		t.Errorf("a video that expires no more expires at %s", v.ExpiresAt)
	}
}

// A server that was off for days tells of a video and deletes it at once. A video whose files cannot be removed keeps
// no other.
func TestVideosExpireAfterAPause(t *testing.T) {
	t.Parallel()
	b, seen := servicetest.New(t), new(events)
	seen.listen(b)
	var want []string
	for range 205 {
		id := b.Create(video.Draft{ExpiresAt: new(b.Now().Add(48 * time.Hour))}).Video.ID
		want = append(want, expiring(id), expired(id))
	}
	b.Advance(100 * time.Hour)
	expire(b)
	seen.want(t, "after a pause", want...)
	for _, past := range []time.Duration{0, -time.Hour} {
		_, err := b.Catalog.Create(t.Context(), b.By, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"720p"}, ExpiresAt: new(b.Now().Add(past))}, servicetest.Base)
		servicetest.WantCode(t, err, video.Invalid, "invalid_request")
	}
}

// Two processes that work at once tell of each video once and delete it once.
func TestProcessesShareWhatExpires(t *testing.T) {
	t.Parallel()
	address, seen := pgtest.Fresh(t), new(events)
	same := func(s *disk.Store) blob.Store { return s }
	both := []*servicetest.Rig{servicetest.NewPostgres(t, address, same), servicetest.NewPostgres(t, address, same)}
	var want []string
	for range 30 {
		id := both[0].Create(video.Draft{ExpiresAt: new(both[0].Now().Add(48 * time.Hour))}).Video.ID
		want = append(want, expiring(id), expired(id))
	}
	var all sync.WaitGroup
	for _, b := range both {
		seen.listen(b)
		b.Advance(49 * time.Hour)
		all.Go(func() { expire(b) })
	}
	all.Wait()
	seen.want(t, "two processes", want...)
}
