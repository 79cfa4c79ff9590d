package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
)

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
