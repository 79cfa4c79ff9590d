package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func keyTests() []test {
	return []test{
		{"a key reads back as it was stored", keyReadsBack},
		{"keys are found by their ids", keysByID},
		{"keys are listed oldest first", keysAreListed},
		{"an unknown hash is not found", unknownHash},
		{"a hash or an id can be used once", keysAreUnique},
		{"a key is revoked once and for all", keyIsRevoked},
		{"of keys of one name the adopted one is valid", keyIsAdopted},
		{"a tenant's keys are listed page by page", keysOfATenant},
		{"a tenant revokes its own keys", ownKeyIsRevoked},
		{"keys that keys make are few", keysAreMade},
	}
}

func newKey(n int) store.Key {
	return store.Key{
		ID: fmt.Sprintf("key%d", n), Name: fmt.Sprintf("Key no. %d 🔑", n), Tenant: "acme",
		Scopes: []string{"read"}, Hash: fmt.Sprintf("%064x", n), CreatedAt: noon.Add(time.Duration(n) * time.Second),
	}
}

func insertKeys(t *testing.T, st *store.Store, keys ...store.Key) {
	t.Helper()
	for _, k := range keys {
		if err := st.APIKeys().Insert(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
}

func wantKeys(t *testing.T, st *store.Store, want ...store.Key) {
	t.Helper()
	got, err := st.APIKeys().List(t.Context())
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
	for _, want := range []store.Key{bare, rich} {
		got, err := st.APIKeys().ByHash(t.Context(), want.Hash)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("ByHash: %v (-want +got):\n%s", err, diff)
		}
	}
}

func keysByID(t *testing.T, st *store.Store) {
	first, second, third := newKey(1), newKey(2), newKey(3)
	insertKeys(t, st, first, second, third)
	for _, tt := range []struct {
		ids  []string
		want []store.Key
	}{
		{nil, nil},
		{[]string{"nobody"}, nil},
		{[]string{second.ID}, []store.Key{second}},
		{[]string{third.ID, "nobody", first.ID, first.ID}, []store.Key{first, third}},
	} {
		got, err := st.APIKeys().ByID(t.Context(), tt.ids)
		slices.SortFunc(got, func(a, b store.Key) int { return strings.Compare(a.ID, b.ID) })
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
		k, err := st.APIKeys().ByHash(t.Context(), hash)
		wantCode(t, err, video.NotFound, "key_not_found")
		if diff := cmp.Diff(store.Key{}, k); diff != "" {
			t.Errorf("a key that is not there has contents: %s", diff)
		}
	}
}

func keysAreUnique(t *testing.T, st *store.Store) {
	ctx := t.Context()
	k, sameHash, sameID := newKey(1), newKey(2), newKey(3)
	sameHash.Hash, sameID.ID = k.Hash, k.ID
	insertKeys(t, st, k)
	for _, other := range []store.Key{sameHash, sameID} {
		if err := st.APIKeys().Insert(ctx, other); err == nil {
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
		if err := st.APIKeys().Revoke(ctx, k.ID, noon.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	k.RevokedAt = noon
	wantKeys(t, st, k, other)

	err := st.APIKeys().Revoke(ctx, "nobody", noon)
	wantCode(t, err, video.NotFound, "key_not_found")
	wantKeys(t, st, k, other)
}

func signingKeyTests() []test {
	return []test{
		{"signing keys are listed newest first", signingKeysAreListed},
		{"a signing key is deleted", signingKeyIsForgotten},
		{"the id of a signing key can be used once", signingKeysAreUnique},
	}
}

func newSigningKey(n int) store.SigningKey {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(n + i*8) // zero bytes and bytes that are no text included
	}
	return store.SigningKey{ID: fmt.Sprintf("s%d", n), Secret: secret, CreatedAt: noon.Add(time.Duration(n) * time.Millisecond)}
}

func insertSigningKey(t *testing.T, st *store.Store, k store.SigningKey) {
	t.Helper()
	change(t, st, func(tx *store.Tx) error { return tx.InsertSigningKey(t.Context(), k) })
}

func wantSigningKeys(t *testing.T, st *store.Store, want ...store.SigningKey) {
	t.Helper()
	got, err := st.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("signing keys (-want +got):\n%s", diff)
	}
}

func signingKeysAreListed(t *testing.T, st *store.Store) {
	wantSigningKeys(t, st)
	old, middle, young := newSigningKey(0), newSigningKey(1), newSigningKey(2)
	for _, k := range []store.SigningKey{middle, young, old} {
		insertSigningKey(t, st, k)
	}
	wantSigningKeys(t, st, young, middle, old)
}

func signingKeyIsForgotten(t *testing.T, st *store.Store) {
	old, young := newSigningKey(0), newSigningKey(1)
	insertSigningKey(t, st, old)
	insertSigningKey(t, st, young)
	for range 2 { // forgetting it again is no error
		change(t, st, func(tx *store.Tx) error { return tx.RemoveSigningKey(t.Context(), young.ID) })
		wantSigningKeys(t, st, old)
	}
}

func signingKeysAreUnique(t *testing.T, st *store.Store) {
	k, same := newSigningKey(0), newSigningKey(1)
	same.ID = k.ID
	insertSigningKey(t, st, k)
	if err := st.InTx(t.Context(), func(tx *store.Tx) error { return tx.InsertSigningKey(t.Context(), same) }); err == nil {
		t.Error("a second signing key with the same id was stored")
	}
	wantSigningKeys(t, st, k)
}

func keyIsAdopted(t *testing.T, st *store.Store) {
	first, second, other, revoked := newKey(1), newKey(2), newKey(3), newKey(4)
	first.Name, second.Name = "setting", "setting"
	revoked.RevokedAt = noon
	insertKeys(t, st, other, revoked)
	adopt := func(k store.Key) {
		if err := st.APIKeys().Adopt(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	was := func(k store.Key, at time.Time) store.Key { k.RevokedAt = at; return k }
	adopt(first)
	adopt(first)
	wantKeys(t, st, first, other, revoked)
	adopt(second)
	wantKeys(t, st, was(first, second.CreatedAt), second, other, revoked)
	adopt(first)
	wantKeys(t, st, first, was(second, first.CreatedAt), other, revoked)
	for _, k := range []store.Key{other, revoked} {
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
	var got []store.Key
	var after video.Cursor
	for {
		page, err := st.APIKeys().Of(t.Context(), "acme", after, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		after = video.Cursor{CreatedAt: page[0].CreatedAt, ID: video.ID(page[0].ID)}
	}
	if diff := cmp.Diff([]store.Key{third, second, first}, got); diff != "" {
		t.Errorf("keys of the tenant (-want +got):\n%s", diff)
	}
}

func ownKeyIsRevoked(t *testing.T, st *store.Store) {
	ctx := t.Context()
	k := newKey(1)
	insertKeys(t, st, k)
	wantCode(t, st.APIKeys().RevokeOf(ctx, "other", k.ID, noon), video.NotFound, "key_not_found")
	wantKeys(t, st, k)
	if err := st.APIKeys().RevokeOf(ctx, "acme", k.ID, noon); err != nil {
		t.Fatal(err)
	}
	wantCode(t, st.APIKeys().RevokeOf(ctx, "acme", k.ID, noon.Add(time.Hour)), video.NotFound, "key_not_found")
	k.RevokedAt = noon
	wantKeys(t, st, k)
}

func keysAreMade(t *testing.T, st *store.Store) {
	add := func(k store.Key, want bool) {
		t.Helper()
		if got, err := st.APIKeys().InsertMade(t.Context(), k, 2, 1); err != nil || got != want {
			t.Fatalf("%s was made: %t, %v; want %t", k.ID, got, err, want)
		}
	}
	all := []store.Key{newKey(0), newKey(1), newKey(2), newKey(3), newKey(4)}
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
	if err := st.APIKeys().Revoke(t.Context(), maker.ID, noon); err != nil {
		t.Fatal(err)
	}
	late := newKey(8)
	late.Tenant, late.MadeBy = "other", maker.ID
	_, err := st.APIKeys().InsertMade(t.Context(), late, 2, 1)
	wantCode(t, err, video.NotFound, "key_not_found")
}
