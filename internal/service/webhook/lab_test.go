package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/sqlitetest"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/api"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// waitLimit is how long a test waits for what must happen.
const waitLimit = 90 * time.Second

// lab is webhooks on a real database.
type lab struct {
	t      testing.TB
	store  *store.Store
	places int // how many requests a process has under way
	queue  queue.Queue
	*webhook.Service
	by     auth.Actor
	counts counts
}

// counts are the tries by outcome.
type counts struct {
	mu  sync.Mutex
	all map[webhook.Outcome]int
}

func (c *counts) add(o webhook.Outcome, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[webhook.Outcome]int{}
	}
	c.all[o]++
}

func (c *counts) of(o webhook.Outcome) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[o]
}

// quick has retries follow within milliseconds: the nine pauses take 0.3 s together.
var quick = webhook.Config{RetryFactor: 1e-6}

// patient has them follow soon, and go on for longer than a busy machine takes for a test.
var patient = webhook.Config{RetryFactor: 3e-4}

// onBoth runs a test on SQLite and on PostgreSQL.
func onBoth(t *testing.T, test func(t *testing.T, open func(webhook.Config) *lab)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, func(c webhook.Config) *lab { return onSQLite(t, c) })
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, func(c webhook.Config) *lab { return onDatabase(t, c, true) })
	})
}

// Databases with the schema of the store.
var (
	migratedFile = sqlitetest.Template{Prepare: func(ctx context.Context, st *store.Store) error {
		return st.Migrate(ctx, "queue", local.Migrations)
	}}
	migrated = pgtest.Template{Prepare: func(ctx context.Context, url string) error {
		st, err := store.OpenPostgres(ctx, url)
		if err != nil {
			return err
		}
		_, err = river.Open(ctx, st, river.Options{})
		return errors.Join(err, st.Close())
	}}
)

func onSQLite(t testing.TB, c webhook.Config) *lab {
	st, err := store.OpenSQLite(t.Context(), migratedFile.Fresh(t))
	return newLab(t, c, st, err)
}

func onDatabase(t testing.TB, c webhook.Config, postgres bool) *lab {
	if !postgres {
		return onSQLite(t, c)
	}
	st, err := store.OpenPostgres(t.Context(), migrated.Fresh(t))
	return newLab(t, c, st, err)
}

func newLab(t testing.TB, c webhook.Config, st *store.Store, err error) *lab {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	guard, err := outbound.NewGuard("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, store: st, places: 64, by: auth.Actor{Tenant: video.DefaultTenant, Scopes: auth.Scopes}}
	if st.Pool() == nil {
		l.queue = local.New(st.Writer(), local.Options{Read: st.Reader()})
	} else {
		l.queue, err = river.Open(t.Context(), st, river.Options{Heartbeat: 500 * time.Millisecond, LostAfter: 15 * time.Second})
		l.must(err)
	}
	webhook.Record(st, l.queue)
	c.Tried = l.counts.add
	l.Service = webhook.New(st, l.queue, guard, api.WebhookBody, time.Now, c)
	return l
}

// run starts to deliver, once, and returns what stops it.
func (l *lab) run() (stop func()) {
	l.must(l.queue.Start(l.t.Context(), map[queue.Lane]queue.Pool{queue.NetworkLane: {Places: l.places, Handle: l.Handle}}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
		l.must(l.queue.Stop(context.Background()))
	})
	l.t.Cleanup(stop)
	return stop
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// add registers a webhook and returns it with its secret.
func (l *lab) add(url string, events ...video.EventType) (webhook.Webhook, string) {
	l.t.Helper()
	w, secret, err := l.Create(l.t.Context(), l.by, webhook.Draft{URL: url, Events: events, Pull: url == ""})
	l.must(err)
	return w, secret
}

// ready makes a video ready and returns its id: one event.
func (l *lab) ready() video.ID {
	l.t.Helper()
	return l.readyOf(l.by.Tenant)
}

func (l *lab) readyOf(tenant video.Tenant) video.ID {
	l.t.Helper()
	ctx := l.t.Context()
	v := video.Video{ID: video.ID(uuid.NewString()), Tenant: tenant, Filename: "a.mp4", Status: video.Processing, CreatedAt: time.Now(), UploadExpiresAt: time.Now()}
	l.must(l.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.InsertVideo(ctx, v); err != nil {
			return err
		}
		return tx.MoveVideo(ctx, v.ID, video.Ready, nil)
	}))
	return v.ID
}

// log returns the deliveries to a webhook.
func (l *lab) log(w webhook.Webhook) []webhook.Delivery {
	l.t.Helper()
	p, err := l.Deliveries(l.t.Context(), l.by, w.ID, "", video.Cursor{}, 100)
	l.must(err)
	return p.Deliveries
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// inState waits until all deliveries to a webhook, of which there must be some, have a state.
func (l *lab) inState(w webhook.Webhook, s webhook.State) []webhook.Delivery {
	l.t.Helper()
	var all []webhook.Delivery
	eventually(l.t, "all deliveries are "+string(s), func() bool {
		all = l.log(w)
		for _, d := range all {
			if d.State != s {
				return false
			}
		}
		return len(all) > 0
	})
	return all
}

// received is a request that arrived at a receiver.
type received struct {
	header http.Header
	body   []byte
}

// receiver is a server that events are sent to.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	all    []received
	answer func(n int, w http.ResponseWriter, r *http.Request) // n counts from 1
}

func newReceiver(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.all = append(r.all, received{req.Header, body})
		n := len(r.all)
		r.mu.Unlock()
		if r.answer != nil {
			r.answer(n, w, req)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received{}, r.all...)
}

// status answers with a status.
func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// verify checks the signature of a message with the package of Standard Webhooks.
func verify(secret string, m received) error {
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	return wh.Verify(m.body, m.header)
}
