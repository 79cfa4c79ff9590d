package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
)

// load is a stream of requests: each client makes a video, and reads it and one
// that was made before, over and over.
type load struct {
	send func(ctx context.Context, method, path string, body any, more ...header) (reply, error)
	may  func(reply) bool // answers beside success that are no fault

	mu      sync.Mutex
	made    []string // videos whose creation was confirmed
	refused int
	waits   []time.Duration
	faults  []error
}

// run lets so many clients send requests until ctx ends.
func (l *load) run(ctx context.Context, clients int) {
	var busy sync.WaitGroup
	for range clients {
		busy.Go(func() {
			for ctx.Err() == nil {
				l.visit(ctx)
				time.Sleep(byLength(4*pause, pause/2))
			}
		})
	}
	busy.Wait()
}

// visit makes a video and reads two.
func (l *load) visit(ctx context.Context) {
	var made struct{ ID string }
	if r, ok := l.request(ctx, http.MethodPost, "/api/video", clip); ok {
		if err := r.decode(http.StatusCreated, &made); err != nil {
			l.fault(err)
			return
		}
		l.mu.Lock()
		l.made = append(l.made, made.ID)
		first := l.made[0]
		l.mu.Unlock()
		for _, id := range []string{made.ID, first} {
			if r, ok := l.request(ctx, http.MethodGet, "/api/video/"+id+"/public", nil); ok && r.status != http.StatusOK {
				l.fault(fmt.Errorf("read %s: %d %.200s", id, r.status, r.body))
			}
		}
	}
}

// request sends one request, notes how it went, and reports whether it was
// answered with more than "not now". A request that was begun is ended, also
// when the time of the load is over.
func (l *load) request(ctx context.Context, method, path string, body any) (reply, bool) {
	began := time.Now()
	r, err := l.send(context.WithoutCancel(ctx), method, path, body)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = append(l.waits, time.Since(began))
	switch {
	case err != nil:
		l.faults = append(l.faults, fmt.Errorf("%s %s: %w", method, path, err))
		return r, false
	case l.may(r):
		l.refused++
		return r, false
	}
	return r, true
}

func (l *load) fault(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, err)
}

// report tells how it went, and wants no fault.
func (l *load) report(t testing.TB) (longest time.Duration) {
	t.Helper()
	slices.Sort(l.waits)
	longest = l.waits[len(l.waits)-1]
	t.Logf("%d requests, %d videos made, %d answered 503; half within %s, 99 of 100 within %s, all within %s", len(l.waits), len(l.made),
		l.refused, ms(l.waits[len(l.waits)/2]), ms(l.waits[len(l.waits)*99/100]), ms(longest))
	for _, err := range l.faults[:min(len(l.faults), 10)] {
		t.Error(err)
	}
	if n := len(l.faults); n > 0 {
		t.Errorf("%d of %d requests failed", n, len(l.waits))
	}
	return longest
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// TestRequestsWhilePostgresRestarts sends requests to one process while its
// database goes and comes. Each is answered soon, and what was confirmed stays.
func TestRequestsWhilePostgresRestarts(t *testing.T) {
	need.TimeFor(t, "it sends requests for half a minute, and TestPostgresGoesAway kills it, too")
	t.Parallel()
	f := newFleetWithPostgres(t)
	api := f.api()
	span := 30 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	l := &load{send: api.call, may: func(r reply) bool { return r.status == http.StatusServiceUnavailable && r.passing() }}
	var busy sync.WaitGroup
	busy.Go(func() { l.run(ctx, 8) })
	for i, away := range []func(){f.postgres.Stop, f.killPostgres, f.postgres.Crash} {
		time.Sleep(span / 6)
		away()
		time.Sleep(time.Duration(i) * span / 12) // the first time it is back at once
		f.postgres.Start(t)
	}
	busy.Wait()
	if longest := l.report(t); longest > 5*time.Second+busyness {
		t.Errorf("a request took %s; want 5 s at most", longest)
	}
	if l.refused == 0 || len(l.made) == 0 {
		t.Errorf("%d videos made and %d requests refused: the database was never away, or always", len(l.made), l.refused)
	}
	if n := f.count(`SELECT count(*) FROM video WHERE id = ANY($1)`, l.made); n != len(l.made) {
		t.Errorf("%d of %d videos whose creation was confirmed are there", n, len(l.made))
	}
}

// TestRollingRestart stops one process after the other, and starts it again,
// while requests come and videos are in work. No request fails, and no task is
// lost. The load balancer asks /readyz, and sends a request elsewhere only when
// the connection is refused.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	drain := withEnv("SPOOL_DRAIN", "2s") // in which a load balancer on a busy machine asks at least once
	f.api(drain)
	f.api(drain)
	f.worker()
	f.worker()
	f.note()
	f.wantKnown(f.apis...)
	films := f.begin(f.withTimeout(waitLimit), append(oneUsually(short, feature), short)...)
	until(t, "the work to begin", waitLimit, func() bool { return f.steps("encode") > 0 })

	ctx, cancel := context.WithCancel(t.Context())
	l := &load{send: f.call, may: func(reply) bool { return false }}
	var busy sync.WaitGroup
	busy.Go(func() { l.run(ctx, 4) })
	for _, n := range slices.Concat(f.workers, f.apis) { // the workers first, while there is work
		began := time.Now()
		n.stop()
		t.Logf("%s took %s to stop", n.name, ms(time.Since(began)))
		n.start()
		if slices.Contains(f.apis, n) {
			f.wantKnown(n)
		}
	}
	cancel()
	busy.Wait()
	l.report(t)
	f.finish(films)
	f.wantHandedBack()
}

// wantKnown waits until the load balancer sends requests to the processes.
func (f *fleet) wantKnown(apis ...*node) {
	f.t.Helper()
	for _, n := range apis {
		until(f.t, "the load balancer to know "+n.name, waitLimit, func() bool { return !n.isOut() })
	}
}

// wantHandedBack wants tasks that were stopped to run again at once: nobody had
// to miss their worker first, and say so.
func (f *fleet) wantHandedBack() {
	f.t.Helper()
	for _, n := range f.nodes() {
		if strings.Contains(n.log.String(), "tasks of a silent worker were put back") {
			f.t.Errorf("%s had to give back the tasks of a worker that had stopped", n.name)
		}
	}
	if f.count(`SELECT count(*) FROM (SELECT state, lag(state) OVER (PARTITION BY task ORDER BY at) AS was FROM test_event) AS e
	             WHERE was = 'running' AND state = 'available'`) == 0 {
		f.t.Error("no task was handed back: no worker had one when it was stopped")
	}
}

// TestRefusedConnections makes sure that the load balancer of these tests does
// what it is thought to.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	nobody := &node{name: "nobody"}
	_, err := nobody.call(t.Context(), http.MethodGet, "/", nil)
	_, real := send(t.Context(), http.MethodGet, "http://127.0.0.1:1/", nil, nil)
	if !errors.Is(err, syscall.ECONNREFUSED) || !errors.Is(real, syscall.ECONNREFUSED) {
		t.Errorf("no process is %v, a port without one %v; want both to be refused", err, real)
	}
}
