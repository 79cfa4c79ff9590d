package uploads

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// fakeRows is a database that gives every lease to everybody, and shows the calls of Renew to a test.
type fakeRows struct {
	mu      sync.Mutex
	held    map[leaseRow]bool
	renewed func(ctx context.Context)
}

func (f *fakeRows) shared() bool { return true }

func (f *fakeRows) hold(context.Context, *store.Tx, leaseRow) (bool, error) { return true, nil }

func (f *fakeRows) take(_ context.Context, lease leaseRow, _ time.Duration) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[lease] = false
	return true, nil
}

func (f *fakeRows) renew(ctx context.Context, _ string, _ time.Duration) (map[leaseRow]bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed(ctx)
	return maps.Clone(f.held), nil
}

func (f *fakeRows) drop(_ context.Context, lease leaseRow) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.held, lease)
	return nil
}

// withLeases runs f with leases whose renewals are shown to renew. log is what they have logged.
func withLeases(t *testing.T, renew func(context.Context), f func(t *testing.T, l *Leases, log *bytes.Buffer)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := NewLeases(nil, slog.New(slog.NewTextHandler(&log, nil)))
		l.rows = &fakeRows{held: map[leaseRow]bool{}, renewed: renew}
		f(t, l, &log)
		time.Sleep(2 * renewEvery) // so that the renewals find nothing to do any more, and end
	})
}

type requestKey struct{}

// The first request may be over long before the leases of others are: nothing of it is kept alive.
func TestRenewalsDoNotKeepARequestAlive(t *testing.T) {
	var kept any
	renew := func(ctx context.Context) { kept = ctx.Value(requestKey{}) }
	withLeases(t, renew, func(t *testing.T, l *Leases, _ *bytes.Buffer) {
		request := context.WithValue(t.Context(), requestKey{}, "the whole request")
		lease, err := l.Acquire(request, "a video", func() {})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * renewEvery)
		lease.Release()
		synctest.Wait()
		if kept != nil {
			t.Errorf("a renewal has the context of a request: %v", kept)
		}
	})
}

func TestPanickingRenewalIsTriedAgain(t *testing.T) {
	renewals := 0
	renew := func(context.Context) {
		if renewals++; renewals == 1 {
			panic("meant by the test")
		}
	}
	withLeases(t, renew, func(t *testing.T, l *Leases, log *bytes.Buffer) {
		lease, err := l.Acquire(t.Context(), "a video", func() {})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * leaseTTL)
		synctest.Wait()
		if !lease.Valid() || renewals < 2 {
			t.Errorf("after a panic: %d renewals, valid: %t; want the lease renewed", renewals, lease.Valid())
		}
		lease.Release()
		if !strings.Contains(log.String(), "meant by the test") || !strings.Contains(log.String(), "renewal_test.go") {
			t.Errorf("the log lacks the panic or its stack: %s", log)
		}
	})
}

// A request that panics when it is asked to stop must not end the process.
func TestPanicWhileARequestIsStopped(t *testing.T) {
	withLeases(t, func(context.Context) {}, func(t *testing.T, l *Leases, log *bytes.Buffer) {
		stopped := 0
		for _, v := range []struct {
			id   video.ID
			stop func()
		}{{"bad", func() { panic("meant by the test") }}, {"good", func() { stopped++ }}} {
			lease, err := l.Acquire(t.Context(), v.id, v.stop)
			if err != nil {
				t.Fatal(err)
			}
			defer lease.Release()
		}
		l.InterruptAll()
		synctest.Wait()
		if stopped != 1 || !strings.Contains(log.String(), "meant by the test") {
			t.Errorf("%d requests stopped, log: %s; want one, and the panic of the other", stopped, log)
		}
	})
}
