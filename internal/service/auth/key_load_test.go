package auth_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

// keyRows is a database with signing keys that may be slow or away.
type keyRows struct {
	mu    sync.Mutex
	keys  []store.SigningKey
	err   error
	delay time.Duration
	loads int
}

func (r *keyRows) InTx(context.Context, func(*store.Tx) error) error { return nil }

func (r *keyRows) SigningKeys(ctx context.Context) ([]store.SigningKey, error) {
	r.mu.Lock()
	r.loads++
	keys, err, delay := r.keys, r.err, r.delay
	r.mu.Unlock()
	select {
	case <-time.After(delay):
		return keys, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *keyRows) set(err error, delay time.Duration, keys ...store.SigningKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.delay, r.keys, r.loads = err, delay, append(keys, r.keys...), 0
}

// replace changes all keys.
func (r *keyRows) replace(keys ...store.SigningKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = keys
}

func (r *keyRows) wantLoads(t *testing.T, want int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loads != want {
		t.Errorf("the signing keys were loaded %d times; want %d", r.loads, want)
	}
}

const subject = "some video"

// forged returns a token of a key that does not exist.
func forged() string {
	return sign.NewKeyring(sign.Key{ID: "ffff", Secret: []byte("x")}).Sign(sign.Upload, subject, time.Now().Add(time.Hour))
}

func loadKeys(t *testing.T) (*keyRows, *auth.SigningKeys) {
	rows := &keyRows{keys: []store.SigningKey{{ID: "0001", Secret: []byte("first")}}}
	keys, err := auth.LoadSigningKeys(t.Context(), rows, time.Now, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows.set(nil, 0)
	return rows, keys
}

// wantAll verifies a token n times at once.
func wantAll(t *testing.T, keys *auth.SigningKeys, n int, token, want string) {
	t.Helper()
	codes := make(chan string, n)
	for range n {
		go func() { codes <- code(keys.Verify(t.Context(), sign.Upload, subject, token)) }()
	}
	for range n {
		if got := <-codes; got != want {
			t.Errorf("error %q; want %q", got, want)
		}
	}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*video.Error](err); ok {
		return e.Code
	}
	return err.Error()
}

var away = &video.Error{Kind: video.Unavailable, Code: "database_unavailable", Msg: "Try again."}

// While the database is away nobody knows whether an unknown key is forged or new.
func TestUnknownKeyWhileDatabaseIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, keys := loadKeys(t)
		rows.set(away, 0)
		for i := range 5 {
			if err := keys.Verify(t.Context(), sign.Upload, subject, forged()); video.KindOf(err) != video.Unavailable {
				t.Errorf("request %d: %v; want that the database does not answer", i, err)
			}
		}
		rows.wantLoads(t, 1)
		time.Sleep(time.Second)
		rows.set(nil, 0)
		if err := keys.Verify(t.Context(), sign.Upload, subject, forged()); video.KindOf(err) != video.Forbidden {
			t.Errorf("the database is back: %v; want url_invalid", err)
		}
	})
}

func TestForgedAddressesCostOneQueryPerSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, keys := loadKeys(t)
		for range 30 { // in three seconds
			if err := keys.Verify(t.Context(), sign.Upload, subject, forged()); video.KindOf(err) != video.Forbidden {
				t.Errorf("%v; want url_invalid", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		rows.wantLoads(t, 3)
	})
}

// Requests with an unknown key share one load and all get its result.
func TestRequestsShareALoad(t *testing.T) {
	t.Parallel()
	fresh := store.SigningKey{ID: "0002", Secret: []byte("second")}
	token := sign.NewKeyring(sign.Key{ID: fresh.ID, Secret: fresh.Secret}).Sign(sign.Upload, subject, time.Now().Add(100*365*24*time.Hour))
	for name, err := range map[string]error{"a rotated key": nil, "the database is away": away} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rows, keys := loadKeys(t)
				rows.set(err, 3*time.Second, fresh) // slower than the pause between two loads
				wantAll(t, keys, 20, token, code(err))
				rows.wantLoads(t, 1)
			})
		})
	}
}

// A client that leaves ends its own request, not the load that others wait for.
func TestLoadOutlivesTheRequestThatBeganIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows, keys := loadKeys(t)
		rows.set(nil, 3*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { first <- keys.Verify(ctx, sign.Upload, subject, forged()) }()
		synctest.Wait()
		cancel()
		wantAll(t, keys, 3, forged(), "url_invalid")
		<-first
		rows.wantLoads(t, 1)
	})
}
