package uploads_test

import (
	"os"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/servicetest"
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
	<-lost
}
