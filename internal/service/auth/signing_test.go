package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/video"
)

func TestSigningKeyRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *store.Store)
	}{
		{"signing keys are listed newest first", signingKeysAreListed},
		{"a signing key is deleted", signingKeyIsForgotten},
		{"the id of a signing key can be used once", signingKeysAreUnique},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, tt.run)
		})
	}
}

func newSigningRow(n int) signingRow {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(n + i*8) // zero bytes and bytes that are no text included
	}
	return signingRow{ID: fmt.Sprintf("s%d", n), Secret: secret, CreatedAt: noon.Add(time.Duration(n) * time.Millisecond)}
}

func storeSigningKey(t *testing.T, st *store.Store, k signingRow) {
	t.Helper()
	if err := st.InTx(t.Context(), func(tx *store.Tx) error { return insertSigningKey(t.Context(), tx, k) }); err != nil {
		t.Fatal(err)
	}
}

func wantSigningKeys(t *testing.T, st *store.Store, want ...signingRow) {
	t.Helper()
	got, err := allSigningKeys(t.Context(), st.Queries)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("signing keys (-want +got):\n%s", diff)
	}
}

func signingKeysAreListed(t *testing.T, st *store.Store) {
	wantSigningKeys(t, st)
	old, middle, young := newSigningRow(0), newSigningRow(1), newSigningRow(2)
	for _, k := range []signingRow{middle, young, old} {
		storeSigningKey(t, st, k)
	}
	wantSigningKeys(t, st, young, middle, old)
}

func signingKeyIsForgotten(t *testing.T, st *store.Store) {
	old, young := newSigningRow(0), newSigningRow(1)
	storeSigningKey(t, st, old)
	storeSigningKey(t, st, young)
	for range 2 { // forgetting it again is no error
		if err := st.InTx(t.Context(), func(tx *store.Tx) error { return removeSigningKey(t.Context(), tx, young.ID) }); err != nil {
			t.Fatal(err)
		}
		wantSigningKeys(t, st, old)
	}
}

func signingKeysAreUnique(t *testing.T, st *store.Store) {
	k, same := newSigningRow(0), newSigningRow(1)
	same.ID = k.ID
	storeSigningKey(t, st, k)
	if err := st.InTx(t.Context(), func(tx *store.Tx) error { return insertSigningKey(t.Context(), tx, same) }); err == nil {
		t.Error("a second signing key with the same id was stored")
	}
	wantSigningKeys(t, st, k)
}

const subject = "some video"

// forged returns a token of a key that does not exist.
func forged() string {
	return sign.NewKeyring(sign.Key{ID: "ffff", Secret: []byte("x")}).Sign(sign.Upload, subject, time.Now().Add(time.Hour))
}

// servers returns the signing keys of two processes on one new SQLite database.
func servers(t *testing.T) (st *store.Store, one, other *SigningKeys) {
	t.Helper()
	st, err := store.OpenSQLite(t.Context(), t.TempDir()+"/spool.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	load := func() *SigningKeys {
		keys, err := LoadSigningKeys(t.Context(), st, time.Now, 0)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	return st, load(), load()
}

// wantCodes verifies a token n times at once, and wants each answer to have this code; "": it is valid.
func wantCodes(t *testing.T, keys *SigningKeys, n int, token, want string) {
	t.Helper()
	codes := make(chan string, n)
	for range n {
		go func() { codes <- codeOf(keys.Verify(t.Context(), sign.Upload, subject, token)) }()
	}
	for range n {
		if got := <-codes; got != want {
			t.Errorf("error %q; want %q", got, want)
		}
	}
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*video.Error](err); ok {
		return e.Code
	}
	return err.Error()
}

// wantLoads wants the keys to have been loaded so often since LoadSigningKeys.
func wantLoads(t *testing.T, keys *SigningKeys, want int64) {
	t.Helper()
	if got := keys.begun.Load() - 1; got != want {
		t.Errorf("the signing keys were loaded %d times; want %d", got, want)
	}
}

// While the database is away nobody knows whether an unknown key is forged or new.
func TestUnknownKeyWhileDatabaseIsAway(t *testing.T) {
	t.Parallel()
	proxy := pgtest.NewProxy(t, pgtest.Fresh(t))
	st, err := store.OpenPostgres(t.Context(), proxy.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	keys, err := LoadSigningKeys(t.Context(), st, time.Now, 0)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Cut(t)
	if err := keys.Verify(t.Context(), sign.Upload, subject, forged()); video.KindOf(err) != video.Unavailable {
		t.Errorf("%v; want that the database does not answer", err)
	}
}

// While the keys cannot be read, few queries try it, and a forged key is not called forged.
func TestUnknownKeyWhileKeysCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, keys, _ := servers(t)
		rename := func(from, to string) {
			if _, err := st.Writer().ExecContext(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("signing_key", "away")
		for i := range 5 {
			if err := keys.Verify(t.Context(), sign.Upload, subject, forged()); err == nil || video.KindOf(err) == video.Forbidden {
				t.Errorf("request %d: %v; want the error of the database", i, err)
			}
		}
		wantLoads(t, keys, 1)
		time.Sleep(loadPause)
		rename("away", "signing_key")
		wantCodes(t, keys, 1, forged(), "url_invalid")
	})
}

func TestForgedAddressesCostOneQueryPerSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, keys, _ := servers(t)
		for range 30 { // in three seconds
			wantCodes(t, keys, 1, forged(), "url_invalid")
			time.Sleep(100 * time.Millisecond)
		}
		wantLoads(t, keys, 3)
	})
}

// A key that another process has just made is accepted. Requests that come with it share one load.
func TestAKeyOfAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, keys, other := servers(t)
		time.Sleep(time.Second) // the newest key signs
		if _, err := other.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantCodes(t, keys, 20, other.Sign(sign.Upload, subject, time.Now().Add(time.Hour)), "")
		wantLoads(t, keys, 1)
	})
}

// A server learns of a revocation by another process in seconds.
func TestServerFollowsRevocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, keys, other := servers(t)
		token := keys.Sign(sign.Upload, subject, time.Now().Add(time.Hour))
		go keys.Follow(t.Context(), slog.New(slog.DiscardHandler))
		time.Sleep(FollowEvery + time.Second)
		wantCodes(t, keys, 1, token, "")
		if _, err := other.Revoke(t.Context(), sign.KeyID(token)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(FollowEvery)
		wantCodes(t, keys, 1, token, "url_invalid")
	})
}

// A revoked key does not come back if the load that misses it is overtaken by one that began earlier.
func TestAnOvertakenLoadChangesNothing(t *testing.T) {
	t.Parallel()
	st, keys, other := servers(t)
	token := keys.Sign(sign.Upload, subject, time.Now().Add(time.Hour))
	slow := keys.begun.Add(1)
	old, err := allSigningKeys(t.Context(), st.Queries)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Revoke(t.Context(), sign.KeyID(token)); err != nil {
		t.Fatal(err)
	}
	if err := keys.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys.use(slow, old)
	wantCodes(t, keys, 1, token, "url_invalid")
}
