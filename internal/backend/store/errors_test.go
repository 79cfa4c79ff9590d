package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// wantError checks that err is a transient error of this kind.
func wantError(t *testing.T, err error, kind video.Kind, code string) {
	t.Helper()
	e, ok := errors.AsType[*video.Error](err)
	if !ok || e.Kind != kind || e.Code != code {
		t.Fatalf("error = %v, want %s (%s)", err, code, kind)
	}
	if e.RetryAfter <= 0 || e.Err == nil {
		t.Errorf("%#v does not say when to try again, or what happened", e)
	}
	if strings.Contains(strings.ToLower(e.Msg), "sql") {
		t.Errorf("the sentence for clients tells about the database: %q", e.Msg)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), open(t, fresh(t))
	if err := insert(ctx, st, someVideo("before")); err != nil {
		t.Fatal(err)
	}
	run(t, st, `PRAGMA max_page_count = 1`) // SQLite takes the present size for it
	large := someVideo("large")
	large.Metadata = json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)

	for range 2 { // the first failure must leave a connection that can fail again
		err := st.InTx(ctx, func(tx *store.Tx) error {
			tx.OnCommit(func() { t.Error("a function ran though nothing was committed") })
			if err := tx.MoveVideo(ctx, "before", video.Ready, nil); err != nil {
				return err
			}
			return tx.InsertVideo(ctx, large)
		})
		wantError(t, err, video.InsufficientStorage, "insufficient_storage")
		if v, err := st.Video(ctx, "before"); err != nil || v.Status != video.Processing {
			t.Errorf("what was changed before the disk was full: %s, %v; want it undone", v.Status, err)
		}
	}
	run(t, st, `PRAGMA max_page_count = 1000000`)
	if err := insert(ctx, st, large); err != nil {
		t.Errorf("with disk space again: %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), open(t, fresh(t))
	run(t, st, `PRAGMA query_only = 1`)
	wantError(t, insert(ctx, st, someVideo("a")), video.Unavailable, "database_unavailable")
	run(t, st, `PRAGMA query_only = 0`)
	if err := insert(ctx, st, someVideo("a")); err != nil {
		t.Errorf("when it can be written again: %v", err)
	}
}

func TestAnotherProcessWritesForLong(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), fresh(t)
	st, other := open(t, path), open(t, path)
	run(t, st, `PRAGMA busy_timeout = 1`)
	err := other.InTx(ctx, func(tx *store.Tx) error {
		wantError(t, insert(ctx, st, someVideo("a")), video.Unavailable, "database_unavailable")
		return tx.InsertVideo(ctx, someVideo("b"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := insert(ctx, st, someVideo("a")); err != nil {
		t.Errorf("when the other has ended: %v", err)
	}
}

// A mistake of ours is not worth another try, and says what was being done.
func TestMistakesAreInternal(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), open(t, fresh(t))
	if err := insert(ctx, st, someVideo("a")); err != nil {
		t.Fatal(err)
	}
	err := insert(ctx, st, someVideo("a"))
	if err == nil || video.KindOf(err) != video.Internal || !strings.HasPrefix(err.Error(), "insert video: ") {
		t.Errorf("error = %v (%s)", err, video.KindOf(err))
	}
}

func TestCancelledRequestIsNoDatabaseError(t *testing.T) {
	t.Parallel()
	st := open(t, fresh(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]func() error{
		"Video":         func() error { _, err := st.Video(ctx, "a"); return err },
		"VideoOf":       func() error { _, err := st.VideoOf(ctx, "a"); return err },
		"Steps":         func() error { _, err := st.Steps(ctx, "a"); return err },
		"MarkedDeleted": func() error { _, err := st.MarkedDeleted(ctx); return err },
		"Ping":          func() error { return st.Ping(ctx) },
		"InTx":          func() error { return st.InTx(ctx, func(*store.Tx) error { return nil }) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, context.Canceled) || video.KindOf(err) != video.Internal {
			t.Errorf("%s = %v, want %v", name, err, context.Canceled)
		}
	}
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	st, err := store.OpenSQLite(t.Context(), fresh(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if err := st.Ping(t.Context()); err == nil {
		t.Error("a closed store answers")
	}
	if err := insert(t.Context(), st, someVideo("a")); err == nil {
		t.Error("a closed store can be written to")
	}
}
