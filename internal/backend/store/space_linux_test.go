package store_test

import (
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/rig"
)

// onSmallDisk returns a store on a disk of 48 MiB, with a table whose rows have a page of their own.
func onSmallDisk(t *testing.T) (st *store.Store, dir string, write func(rows int) error) {
	t.Helper()
	dir = rig.SmallDisk(t)
	st, err := store.OpenSQLite(t.Context(), filepath.Join(dir, "spool.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	exec := func(statement string, args ...any) error {
		return st.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.ExecContext(t.Context(), statement, args...)
			return err
		})
	}
	if err := exec(`CREATE TABLE page (bytes BLOB)`); err != nil {
		t.Fatal(err)
	}
	return st, dir, func(rows int) error {
		return exec(`INSERT INTO page WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT zeroblob(4000) FROM n`, rows)
	}
}

func TestWhatTheLogHoldsIsNotReusable(t *testing.T) {
	t.Parallel()
	st, _, write := onSmallDisk(t)
	if _, err := st.Writer().ExecContext(t.Context(), `PRAGMA wal_autocheckpoint = 0`); err != nil {
		t.Fatal(err)
	}
	reusable := func() int64 {
		t.Helper()
		n, err := store.DiskOf(st).Reusable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if !store.DiskOf(st).ReuseLog() {
		t.Fatal("the log cannot be used again")
	}
	before := reusable()
	if err := write(500); err != nil {
		t.Fatal(err)
	}
	if got := before - reusable(); got < 500*4096 || got > 520*4096 {
		t.Errorf("with 500 new pages in the log, %d bytes less can be used again; want 500 pages less", got)
	}
	if !store.DiskOf(st).ReuseLog() || reusable() < 0 {
		t.Errorf("with the pages in the file, %d bytes can be used again; want 0 or more", reusable())
	}
}

// While somebody reads, the log cannot be used from its beginning, and grows. Where it cannot grow either,
// it is used again when the reads have ended.
func TestTheLogIsReusedOnAFullDisk(t *testing.T) {
	t.Parallel()
	st, dir, write := onSmallDisk(t)
	if err := write(300); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Writer().ExecContext(t.Context(), `DELETE FROM page`); err != nil {
		t.Fatal(err)
	}
	if !store.DiskOf(st).ReuseLog() {
		t.Fatal("the log cannot be used again")
	}
	read, err := st.Reader().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Rollback()
	var n int
	if err := read.QueryRowContext(t.Context(), `SELECT count(*) FROM page`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	rig.Fill(t, dir)
	full := 0
	for range 100 {
		if err := write(100); video.KindOf(err) == video.InsufficientStorage {
			full++
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Writer().ExecContext(t.Context(), `DELETE FROM page`); err != nil {
			full++
			break
		}
	}
	if full == 0 {
		t.Fatal("the log grew on a full disk, or was used again under a reader")
	}
	if err := read.Rollback(); err != nil {
		t.Fatal(err)
	}
	if !store.DiskOf(st).ReuseLog() {
		t.Error("the log cannot be used again")
	}
	if err := write(100); err != nil {
		t.Errorf("a write that the log has space for: %v", err)
	}
}
