package store_test

import (
	"testing"
)

func TestWhatTheLogHoldsIsNotReusable(t *testing.T) {
	t.Parallel()
	st := open(t, migratedFile.Fresh(t))
	exec := func(statement string) {
		t.Helper()
		if _, err := st.Writer().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	reusable := func() int64 {
		t.Helper()
		n, err := st.Reusable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	exec(`PRAGMA wal_autocheckpoint = 0`)
	exec(`CREATE TABLE page (bytes BLOB)`)
	exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	before := reusable()
	exec(`INSERT INTO page WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT zeroblob(4000) FROM n`) // a page each
	if got := before - reusable(); got < 500*4096 || got > 520*4096 {
		t.Errorf("with 500 new pages in the log, %d bytes less can be used again; want 500 pages less", got)
	}
	exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	if reusable() < 0 {
		t.Errorf("with the pages in the file, %d bytes can be used again; want 0 or more", reusable())
	}
	exec(`DELETE FROM page`)
	exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	if got := reusable(); got < 500*4096 {
		t.Errorf("after the rows were deleted, %d bytes can be used again; want 500 pages", got)
	}
}
