package uploads_test

import (
	"os"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// TestLeasesAmongProcesses has two processes want the same upload: the one that
// has it is told so, and a dead one loses it.
func TestLeasesAmongProcesses(t *testing.T) {
	t.Parallel()
	address := pgtest.Fresh(t)
	proxy := pgtest.NewProxy(t, address)
	same := func(s *disk.Store) blob.Store { return s }
	first, second := servicetest.NewPostgres(t, proxy.URL(), same), servicetest.NewPostgres(t, address, same)
	id := first.Create(video.Draft{}).Video.ID
	stopped := make(chan struct{})
	lease, err := first.Leases.Acquire(t.Context(), id, func() { close(stopped) })
	first.Must(err)
	if !lease.Valid() {
		t.Error("a lease that was just acquired is not valid")
	}
	wantHeld(t, first, lease, true)
	go func() {
		<-stopped
		lease.Release()
	}()
	next, err := second.Leases.Acquire(t.Context(), id, func() {})
	second.Must(err)
	next.Release()
	if testing.Short() {
		t.Skip("the rest waits until a lease has ended")
	}

	lost := make(chan struct{})
	lease, err = first.Leases.Acquire(t.Context(), id, func() { close(lost) })
	first.Must(err)
	proxy.Cut(t) // it is as good as dead: it cannot renew
	next, err = second.Leases.Acquire(t.Context(), id, func() {})
	second.Must(err)
	defer next.Release()
	if lease.Valid() {
		t.Error("two processes have a valid lease")
	}
	wantHeld(t, second, lease, false)
	wantHeld(t, second, next, true)
	<-lost
}

// wantHeld asks the database of a process whether a lease is still held.
func wantHeld(t *testing.T, r *servicetest.Rig, lease uploads.Lease, want bool) {
	t.Helper()
	r.Must(r.Store.InTx(t.Context(), func(tx *store.Tx) error {
		if held, err := lease.Hold(t.Context(), tx); err != nil || held != want {
			t.Errorf("a lease is held: %t, %v; want %t", held, err, want)
		}
		return nil
	}))
}
