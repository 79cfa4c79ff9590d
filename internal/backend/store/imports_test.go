package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// A deletion changes the video first and its import then. Whoever changed them in the other order could
// wait for it while it waits for them.
func TestPostgresImportsLockTheirVideoFirst(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		failed bool // before
		change func(ctx context.Context, st *store.Store, claimed store.Import) error
	}{
		"renew": {false, func(ctx context.Context, st *store.Store, claimed store.Import) error {
			_, err := store.ImportsOf(st).Renew(ctx, claimed, noon.Add(time.Minute), 0.5)
			return err
		}},
		"fail": {false, failImport},
		"restart": {true, func(ctx context.Context, st *store.Store, claimed store.Import) error {
			return st.InTx(ctx, func(tx *store.Tx) error {
				_, err := store.ImportsIn(tx).Restart(ctx, claimed.Video, noon)
				return err
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := openPostgres(t, migrated.Fresh(t))
			claimed := claimedImport(t, st)
			if tt.failed {
				must(t, failImport(t.Context(), st, claimed))
			}
			done := make(chan error, 1)
			must(t, st.InTx(t.Context(), func(tx *store.Tx) error {
				if _, err := tx.ExecContext(t.Context(), `SELECT 1 FROM video_import FOR UPDATE`); err != nil {
					return err
				}
				go func() { done <- tt.change(t.Context(), st, claimed) }()
				waitForLock(t, st)
				return nil
			}))
			if err := <-done; err != nil {
				t.Logf("after it waited for long: %v", err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func claimedImport(t *testing.T, st *store.Store) store.Import {
	t.Helper()
	v := someVideo("a")
	v.Status, v.Imported, v.UploadExpiresAt = video.PendingUpload, true, store.ImportForever
	must(t, st.InTx(t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertVideo(t.Context(), v); err != nil {
			return err
		}
		return store.ImportsIn(tx).Insert(t.Context(), v, "https://example.com", noon)
	}))
	claimed, ok, err := store.ImportsOf(st).Claim(t.Context(), v.ID, "mine", noon, noon.Add(time.Minute))
	if err != nil || !ok {
		t.Fatalf("claim: %t, %v", ok, err)
	}
	return claimed
}

func failImport(ctx context.Context, st *store.Store, claimed store.Import) error {
	return st.InTx(ctx, func(tx *store.Tx) error {
		_, err := store.ImportsIn(tx).Fail(ctx, claimed, video.Failf(video.ImportRefused, "No."), noon)
		return err
	})
}

// waitForLock waits until somebody has locked the video and waits for the import.
func waitForLock(t *testing.T, st *store.Store) {
	t.Helper()
	waitUntilBlocked(t, st)
	const free = `SELECT count(*) FROM (SELECT 1 FROM video FOR NO KEY UPDATE SKIP LOCKED) AS v`
	waitForCount(t, st, free, func(n int) bool { return n == 0 })
}

// waitUntilBlocked waits until somebody waits for a lock of another transaction.
func waitUntilBlocked(t *testing.T, st *store.Store) {
	t.Helper()
	const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	waitForCount(t, st, waiting, func(n int) bool { return n > 0 })
}

func waitForCount(t *testing.T, st *store.Store, query string, enough func(int) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var n int
		must(t, st.InTx(t.Context(), func(tx *store.Tx) error { return tx.QueryRowContext(t.Context(), query).Scan(&n) }))
		if enough(n) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after a minute, %s is %d", query, n)
		}
	}
}
