package audit

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// noon is a time that the store can keep exactly.
var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

var (
	program = auth.Actor{KeyID: "key1", Name: "site", Tenant: "acme", Scopes: auth.Scopes}
	errStop = errors.New("stop")
)

func TestLog(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *store.Store)
	}{
		{"an entry reads back as it was recorded", testReadBack},
		{"a change that is rolled back leaves no entry", testRollback},
		{"a log is read page by page, by actor and by action", testPages},
		{"old entries are removed, a few at a time", testRemoveOld},
		{"what nobody asked for was done by Spool", testSystem},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, tt.run)
		})
	}
}

func TestLogIsReadByAnIndex(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, func(tx *store.Tx) error {
		ctx, q := t.Context(), tx.Queries
		next := video.Cursor{CreatedAt: noon, ID: "x"}
		_, errAll := entriesOf(ctx, q, "acme", Filter{}, next, 10)
		_, errActor := entriesOf(ctx, q, "acme", Filter{Actor: "key1"}, next, 10)
		_, errAction := entriesOf(ctx, q, "acme", Filter{Action: video.ActionKeyCreate}, video.Cursor{}, 10)
		_, errOld := removeBefore(ctx, tx, noon, 10)
		return errors.Join(errAll, errActor, errAction, errOld)
	})
}

// do records an act of the program at a time.
func do(t *testing.T, st *store.Store, at time.Time, a video.Act) {
	t.Helper()
	st.UseClock(func() time.Time { return at })
	ctx := By(t.Context(), program, "192.0.2.1")
	if err := st.InTx(ctx, func(tx *store.Tx) error { return tx.Did(ctx, a) }); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, st *store.Store, f Filter, after video.Cursor, limit int) Page {
	t.Helper()
	p, err := New(st, time.Now).List(t.Context(), program, f, after, limit)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func testReadBack(t *testing.T, st *store.Store) {
	do(t, st, noon, video.Act{Action: video.ActionShareDelete, Video: "v1", Target: "s1"})
	do(t, st, noon.Add(time.Second), video.Act{Action: video.ActionKeyCreate, Tenant: "other"})
	want := []video.AuditEntry{{
		At: noon, Act: video.Act{Action: video.ActionShareDelete, Tenant: "acme", Video: "v1", Target: "s1"},
		Doer: video.Doer{Kind: video.DoerKey, ID: "key1", Name: "site", Address: "192.0.2.1"},
	}}
	got := read(t, st, Filter{}, video.Cursor{}, 10).Entries
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(video.AuditEntry{}, "ID"), cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func testRollback(t *testing.T, st *store.Store) {
	err := st.InTx(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.Did(t.Context(), video.Act{Action: video.ActionKeyCreate, Tenant: "acme"}), errStop)
	})
	if !errors.Is(err, errStop) || len(read(t, st, Filter{}, video.Cursor{}, 10).Entries) > 0 {
		t.Errorf("%v, and the entries are %+v", err, read(t, st, Filter{}, video.Cursor{}, 10))
	}
}

func testPages(t *testing.T, st *store.Store) {
	actions := []video.Action{video.ActionKeyCreate, video.ActionKeyRevoke, video.ActionKeyCreate}
	for i, a := range actions {
		do(t, st, noon.Add(time.Duration(i/2)*time.Second), video.Act{Action: a, Target: string(rune('a' + i))}) // two at one time
	}
	var got string
	var after video.Cursor
	for range actions {
		p := read(t, st, Filter{}, after, 1)
		got += p.Entries[0].Target
		after = p.Next
	}
	if got != "cba" || after != (video.Cursor{}) {
		t.Errorf("the pages are %q, and the next begins at %+v", got, after)
	}
	if p := read(t, st, Filter{Action: video.ActionKeyCreate, Actor: "key1"}, video.Cursor{}, 10); len(p.Entries) != 2 {
		t.Errorf("the keys that key1 created: %+v", p.Entries)
	}
	if p := read(t, st, Filter{Actor: "key2"}, video.Cursor{}, 10); len(p.Entries) != 0 {
		t.Errorf("what key2 did: %+v", p.Entries)
	}
	weak := auth.Actor{Tenant: "acme", Scopes: []auth.Scope{auth.Read, auth.Write, auth.Delete}}
	if _, err := New(st, time.Now).List(t.Context(), weak, Filter{}, video.Cursor{}, 1); video.KindOf(err) != video.Forbidden {
		t.Errorf("without admin: %v", err)
	}
}

func testRemoveOld(t *testing.T, st *store.Store) {
	st.UseClock(func() time.Time { return noon })
	for _, at := range []time.Time{noon, noon.Add(time.Millisecond)} {
		st.UseClock(func() time.Time { return at })
		err := st.InTx(t.Context(), func(tx *store.Tx) error {
			for range batch + 1 {
				if err := tx.Did(t.Context(), video.Act{Action: video.ActionKeyCreate, Tenant: "acme"}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveOld(t.Context(), st, noon.Add(Keep+time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if left := read(t, st, Filter{}, video.Cursor{}, 10_000).Entries; len(left) != batch+1 || !left[0].At.After(noon) {
		t.Errorf("%d entries are left, want the %d newer ones", len(left), batch+1)
	}
}

func testSystem(t *testing.T, st *store.Store) {
	v := storetest.NewVideo()
	err := st.InTx(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.InsertVideo(t.Context(), v), tx.Did(t.Context(), video.Act{Action: video.ActionVideoDelete, Video: v.ID, Target: "expired"}))
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := entriesOf(t.Context(), st.Queries, v.Tenant, Filter{}, video.Cursor{}, 10)
	if err != nil || len(all) != 1 || all[0].Doer.Kind != video.DoerSystem || all[0].Video != v.ID {
		t.Errorf("entries are %+v, %v", all, err)
	}
}
