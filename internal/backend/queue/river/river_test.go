package river_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/queuetest"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

const someVideo video.ID = "0198c5b6-7d5e-7c3a-9b1e-000000000001"

func TestContract(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, func(t testing.TB) queuetest.Harness { return harness(t, migrated.Fresh(t)) })
}

// migrated is a database with the schemas of the store and the queue.
var migrated = pgtest.Template{Prepare: func(ctx context.Context, url string) error {
	st, err := store.OpenPostgres(ctx, url)
	if err != nil {
		return err
	}
	_, err = river.Open(ctx, st, river.Options{})
	return errors.Join(err, st.Close())
}}

// harness opens a queue on the database at address, through a proxy that can cut
// it off. It looks often for workers that died, which for a worker that is alive
// takes as long as ever.
func harness(t testing.TB, address string) queuetest.Harness {
	t.Helper()
	proxy := pgtest.NewProxy(t, address)
	st := openStore(t, proxy.URL())
	options := river.Options{Log: testLog(t), Heartbeat: 200 * time.Millisecond, LostAfter: 15 * time.Second, About: queuetest.About()}
	return queuetest.Harness{
		Queue: open(t, st, options),
		InTx:  inTx(st),
		Restart: func(t testing.TB) queuetest.Harness {
			t.Helper()
			proxy.Cut(t)
			pgtest.Exec(t, address, `UPDATE queue_worker SET seen_at = now() - interval '1 minute'`)
			return harness(t, address)
		},
	}
}

func inTx(st *store.Store) func(context.Context, func(queue.Tx) error) error {
	return func(ctx context.Context, f func(queue.Tx) error) error {
		return st.InTx(ctx, func(tx *store.Tx) error { return f(tx) })
	}
}

func openStore(t testing.TB, address string) *store.Store {
	t.Helper()
	st, err := store.OpenPostgres(t.Context(), address)
	for tries := 0; store.MayAnswerSoon(err) && tries < 10; tries++ { // a busy machine answers late
		time.Sleep(500 * time.Millisecond)
		st, err = store.OpenPostgres(t.Context(), address)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func open(t testing.TB, st *store.Store, o river.Options) *river.Queue {
	t.Helper()
	q, err := river.Open(t.Context(), st, o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// testLog writes to the log of the test until the test ends. A queue that a test abandons, as a
// crash would, may log after that.
func testLog(t testing.TB) *slog.Logger {
	w := &testWriter{out: t.Output()}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.out = io.Discard
	})
	return slog.New(slog.NewTextHandler(w, nil))
}

type testWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *testWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
