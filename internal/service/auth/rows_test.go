package auth

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// noon is a time that the store can keep exactly.
var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func TestKeyRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *store.Store)
	}{
		{"a key reads back as it was stored", keyReadsBack},
		{"keys are found by their ids", testKeysByID},
		{"keys are listed oldest first", keysAreListed},
		{"an unknown hash is not found", unknownHash},
		{"a hash or an id can be used once", keysAreUnique},
		{"a key is revoked once and for all", keyIsRevoked},
		{"of keys of one name the adopted one is valid", keyIsAdopted},
		{"a tenant's keys are listed page by page", keysOfATenant},
		{"a tenant revokes its own keys", ownKeyIsRevoked},
		{"keys that keys make are few", keysAreMade},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, tt.run)
		})
	}
}

func TestKeysAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, func(tx *store.Tx) error {
		ctx, q := t.Context(), tx.Queries
		maker := keyRow{ID: "maker", Tenant: "t", Hash: "maker", CreatedAt: noon}
		_, err := tx.Exec(ctx, "insert key", insertKey, maker.columns()...)
		_, errHash := keyByHash(ctx, q, "hash")
		_, errIDs := keysByID(ctx, q, []string{"a", "b"})
		_, errMade := insertMade(ctx, tx, keyRow{ID: "made", Tenant: "t", Hash: "made", MadeBy: "maker", CreatedAt: noon}, "maker", 10, 10)
		_, errFirst := keysOfTenant(ctx, q, "t", video.Cursor{}, 10)
		_, errNext := keysOfTenant(ctx, q, "t", video.Cursor{CreatedAt: noon, ID: "x"}, 10)
		if video.KindOf(errHash) == video.NotFound {
			errHash = nil
		}
		return errors.Join(err, errHash, errIDs, errMade, errFirst, errNext, revokeKeyOf(ctx, tx, "t", "made", noon), revokeKey(ctx, tx, "maker", noon))
	})
}

// wantCode checks that err is an error of ours with this code.
func wantCode(t *testing.T, err error, kind video.Kind, code string) {
	t.Helper()
	e, ok := errors.AsType[*video.Error](err)
	if !ok || e.Kind != kind || e.Code != code {
		t.Errorf("error = %v, want %s (%s)", err, code, kind)
	}
}

func newKey(n int) keyRow {
	return keyRow{
		ID: fmt.Sprintf("key%d", n), Name: fmt.Sprintf("Key no. %d 🔑", n), Tenant: "acme",
		Scopes: []string{"read"}, Hash: fmt.Sprintf("%064x", n), CreatedAt: noon.Add(time.Duration(n) * time.Second),
	}
}

func insertKeys(t *testing.T, st *store.Store, keys ...keyRow) {
	t.Helper()
	for _, k := range keys {
		if err := (rows{st}).insert(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
}

func wantKeys(t *testing.T, st *store.Store, want ...keyRow) {
	t.Helper()
	got, err := allKeys(t.Context(), st.Queries)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func keyReadsBack(t *testing.T, st *store.Store) {
	bare, rich := newKey(1), newKey(2)
	bare.Scopes = nil
	rich.Scopes = []string{"read", "write", "delete"}
	rich.ExpiresAt, rich.RevokedAt, rich.MadeBy = noon.Add(time.Hour), noon.Add(time.Minute), bare.ID
	insertKeys(t, st, bare, rich)
	for _, want := range []keyRow{bare, rich} {
		got, err := keyByHash(t.Context(), st.Queries, want.Hash)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("ByHash: %v (-want +got):\n%s", err, diff)
		}
	}
}

func testKeysByID(t *testing.T, st *store.Store) {
	first, second, third := newKey(1), newKey(2), newKey(3)
	insertKeys(t, st, first, second, third)
	for _, tt := range []struct {
		ids  []string
		want []keyRow
	}{
		{nil, nil},
		{[]string{"nobody"}, nil},
		{[]string{second.ID}, []keyRow{second}},
		{[]string{third.ID, "nobody", first.ID, first.ID}, []keyRow{first, third}},
	} {
		got, err := keysByID(t.Context(), st.Queries, tt.ids)
		slices.SortFunc(got, func(a, b keyRow) int { return strings.Compare(a.ID, b.ID) })
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("ByID(%q): %v (-want +got):\n%s", tt.ids, err, diff)
		}
	}
}

func keysAreListed(t *testing.T, st *store.Store) {
	wantKeys(t, st)
	first, second, third := newKey(1), newKey(2), newKey(3)
	insertKeys(t, st, second, third, first)
	wantKeys(t, st, first, second, third)
}

func unknownHash(t *testing.T, st *store.Store) {
	insertKeys(t, st, newKey(1))
	for _, hash := range []string{"", newKey(2).Hash, "%"} {
		k, err := keyByHash(t.Context(), st.Queries, hash)
		wantCode(t, err, video.NotFound, "key_not_found")
		if diff := cmp.Diff(keyRow{}, k); diff != "" {
			t.Errorf("a key that is not there has contents: %s", diff)
		}
	}
}

func keysAreUnique(t *testing.T, st *store.Store) {
	ctx := t.Context()
	k, sameHash, sameID := newKey(1), newKey(2), newKey(3)
	sameHash.Hash, sameID.ID = k.Hash, k.ID
	insertKeys(t, st, k)
	for _, other := range []keyRow{sameHash, sameID} {
		if err := (rows{st}).insert(ctx, other); err == nil {
			t.Errorf("key %+v was stored beside %+v", other, k)
		}
	}
	wantKeys(t, st, k)
}

func keyIsRevoked(t *testing.T, st *store.Store) {
	ctx := t.Context()
	k, other := newKey(1), newKey(2)
	insertKeys(t, st, k, other)
	for i := range 2 { // the second time keeps the time of the first
		if err := (rows{st}).revoke(ctx, k.ID, noon.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	k.RevokedAt = noon
	wantKeys(t, st, k, other)

	err := (rows{st}).revoke(ctx, "nobody", noon)
	wantCode(t, err, video.NotFound, "key_not_found")
	wantKeys(t, st, k, other)
}

func keyIsAdopted(t *testing.T, st *store.Store) {
	first, second, other, revoked := newKey(1), newKey(2), newKey(3), newKey(4)
	first.Name, second.Name = "setting", "setting"
	revoked.RevokedAt = noon
	insertKeys(t, st, other, revoked)
	adopt := func(k keyRow) {
		if err := (rows{st}).adopt(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	was := func(k keyRow, at time.Time) keyRow { k.RevokedAt = at; return k }
	adopt(first)
	adopt(first)
	wantKeys(t, st, first, other, revoked)
	adopt(second)
	wantKeys(t, st, was(first, second.CreatedAt), second, other, revoked)
	adopt(first)
	wantKeys(t, st, first, was(second, first.CreatedAt), other, revoked)
	for _, k := range []keyRow{other, revoked} {
		k.Name = "setting"
		adopt(k)
	}
	wantKeys(t, st, was(first, other.CreatedAt), was(second, first.CreatedAt), other, revoked)
}

func keysOfATenant(t *testing.T, st *store.Store) {
	first, second, third, revoked, other := newKey(1), newKey(2), newKey(3), newKey(4), newKey(5)
	third.CreatedAt = second.CreatedAt // ids decide
	revoked.RevokedAt, other.Tenant = noon, "other"
	first.ExpiresAt = noon
	insertKeys(t, st, first, second, third, revoked, other)
	var got []keyRow
	var after video.Cursor
	for {
		page, err := keysOfTenant(t.Context(), st.Queries, "acme", after, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		after = video.Cursor{CreatedAt: page[0].CreatedAt, ID: video.ID(page[0].ID)}
	}
	if diff := cmp.Diff([]keyRow{third, second, first}, got); diff != "" {
		t.Errorf("keys of the tenant (-want +got):\n%s", diff)
	}
}

func ownKeyIsRevoked(t *testing.T, st *store.Store) {
	ctx := t.Context()
	k := newKey(1)
	insertKeys(t, st, k)
	wantCode(t, (rows{st}).revokeOf(ctx, "other", k.ID, noon), video.NotFound, "key_not_found")
	wantKeys(t, st, k)
	if err := (rows{st}).revokeOf(ctx, "acme", k.ID, noon); err != nil {
		t.Fatal(err)
	}
	wantCode(t, (rows{st}).revokeOf(ctx, "acme", k.ID, noon.Add(time.Hour)), video.NotFound, "key_not_found")
	k.RevokedAt = noon
	wantKeys(t, st, k)
}

func keysAreMade(t *testing.T, st *store.Store) {
	add := func(k keyRow, want bool) {
		t.Helper()
		if got, err := (rows{st}).insertMade(t.Context(), k, k.MadeBy, 2, 1); err != nil || got != want {
			t.Fatalf("%s was made: %t, %v; want %t", k.ID, got, err, want)
		}
	}
	all := []keyRow{newKey(0), newKey(1), newKey(2), newKey(3), newKey(4)}
	maker := newKey(5)
	for i := range all[1:] {
		all[i+1].MadeBy = maker.ID
	}
	all[0].RevokedAt, all[1].RevokedAt = noon, noon // the first is the operator's, and stays
	insertKeys(t, st, all[0], all[1], maker)
	all[2].ExpiresAt = all[4].CreatedAt
	add(all[2], true)
	add(all[3], true)
	refused := newKey(99)
	refused.MadeBy, refused.CreatedAt = maker.ID, all[3].CreatedAt
	add(refused, false)
	wantKeys(t, st, append(slices.Clone(all[:4]), maker)...)
	add(all[4], true) // the second has expired, and is the one that is kept
	wantKeys(t, st, all[0], all[2], all[3], all[4], maker)
	other := newKey(7)
	other.Tenant, other.MadeBy = "other", maker.ID
	add(other, true)
	if err := (rows{st}).revoke(t.Context(), maker.ID, noon); err != nil {
		t.Fatal(err)
	}
	late := newKey(8)
	late.Tenant, late.MadeBy = "other", maker.ID
	_, err := (rows{st}).insertMade(t.Context(), late, late.MadeBy, 2, 1)
	wantCode(t, err, video.NotFound, "key_not_found")
}
