package auth_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	secret, key, err := b.Keys.Create(ctx, auth.Key{Name: "ci", Tenant: "acme", Scopes: []auth.Scope{auth.Read}, ExpiresAt: b.Now().Add(time.Hour)})
	b.Must(err)

	by, err := b.Keys.Authenticate(ctx, secret)
	if err != nil || by.Tenant != "acme" || len(by.Scopes) != 1 || by.Scopes[0] != auth.Read || by.KeyID != key.ID {
		t.Fatalf("Authenticate = %+v, %v; want the read key of acme", by, err)
	}
	_, err = b.Keys.Authenticate(ctx, "")
	servicetest.WantCode(t, err, video.Unauthenticated, "missing_api_key")
	_, err = b.Keys.Authenticate(ctx, secret+"x")
	servicetest.WantCode(t, err, video.Unauthenticated, "invalid_api_key")

	b.Advance(time.Hour)
	_, err = b.Keys.Authenticate(ctx, secret)
	servicetest.WantCode(t, err, video.Unauthenticated, "invalid_api_key")
}

func TestRevokedKeyIsInvalidAtOnce(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	secret, key, err := b.Keys.Create(t.Context(), auth.Key{})
	b.Must(err)
	b.Must(b.Keys.Revoke(t.Context(), key.ID))
	_, err = b.Keys.Authenticate(t.Context(), secret)
	servicetest.WantCode(t, err, video.Unauthenticated, "invalid_api_key")
	servicetest.WantCode(t, b.Keys.Revoke(t.Context(), "nobody"), video.NotFound, "key_not_found")
}

func TestValidKeys(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	var ids []string
	for _, k := range []auth.Key{{}, {ExpiresAt: b.Now().Add(time.Hour)}, {ExpiresAt: b.Now().Add(time.Minute)}, {}} {
		_, created, err := b.Keys.Create(ctx, k)
		b.Must(err)
		ids = append(ids, created.ID)
	}
	b.Must(b.Keys.Revoke(ctx, ids[3]))
	b.Advance(time.Minute)
	valid, err := b.Keys.Valid(ctx, append(ids, "unknown"))
	b.Must(err)
	for i, want := range []bool{true, true, false, false} {
		if valid[ids[i]] != want {
			t.Errorf("key %d is valid: %t, want %t", i, valid[ids[i]], want)
		}
	}
	if valid["unknown"] {
		t.Error("an unknown key is valid")
	}
}

func TestKeysAreStoredHashed(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	secret, _, err := b.Keys.Create(t.Context(), auth.Key{})
	b.Must(err)
	rows, err := b.Store.Reader().QueryContext(t.Context(), `SELECT id, hash FROM api_key`)
	b.Must(err)
	defer rows.Close()
	for rows.Next() {
		var id, hash string
		b.Must(rows.Scan(&id, &hash))
		if strings.Contains(hash, secret) || strings.Contains(secret, hash) || len(hash) != 64 {
			t.Errorf("key %s is stored as %q", id, hash)
		}
	}
	b.Must(rows.Err())
}

func TestCreateKeyRefusesNonsense(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	_, _, err := b.Keys.Create(t.Context(), auth.Key{Scopes: []auth.Scope{"owner"}, ExpiresAt: b.Now(), Tenant: " "})
	servicetest.WantCode(t, err, video.Invalid, "invalid_request")
	if e := err.(*video.Error); len(e.Faults) != 3 {
		t.Errorf("faults = %v; want one for each of scope, tenant and expiry", e.Faults)
	}
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t) // has one key already
	ctx := t.Context()
	if made, err := b.Keys.Bootstrap(ctx, ""); err != nil || made != "" {
		t.Errorf("Bootstrap with keys present = %q, %v; want nothing made", made, err)
	}
	const chosen = "a key that the operator chose"
	for range 2 { // also at the next start
		if made, err := b.Keys.Bootstrap(ctx, chosen); err != nil || made != "" {
			t.Errorf("Bootstrap(chosen) = %q, %v", made, err)
		}
	}
	by, err := b.Keys.Authenticate(ctx, chosen)
	if err != nil || by.Tenant != video.DefaultTenant || len(by.Scopes) != len(auth.Scopes) {
		t.Errorf("Authenticate(chosen) = %+v, %v; want everything for the default tenant", by, err)
	}
}

func TestChangingTheConfiguredKeyRevokesTheFormerOne(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	const first, second = "the first long random key", "the second long random key"
	for _, secret := range []string{first, second, second} {
		if _, err := b.Keys.Bootstrap(ctx, secret); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Keys.Authenticate(ctx, first)
	servicetest.WantCode(t, err, video.Unauthenticated, "invalid_api_key")
	if _, err := b.Keys.Authenticate(ctx, second); err != nil {
		t.Errorf("the new key: %v", err)
	}
	if _, err := b.Catalog.Public(ctx, b.By, b.Create(video.Draft{IsPublic: true}).Video.ID, servicetest.Base); err != nil {
		t.Errorf("a key that was made by hand: %v", err)
	}
}

// A setting that is taken back, or processes of a rolling upgrade that start
// with the old and the new key in turns, must not lock everybody out.
func TestTheConfiguredKeyIsValidAgainWhenTheSettingComesBack(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	const first, second = "the first long random key", "the second long random key"
	for _, secret := range []string{first, second, first} {
		if _, err := b.Keys.Bootstrap(ctx, secret); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Keys.Authenticate(ctx, secret); err != nil {
			t.Errorf("the key of the setting, %q: %v", secret, err)
		}
	}
	_, err := b.Keys.Authenticate(ctx, second)
	servicetest.WantCode(t, err, video.Unauthenticated, "invalid_api_key")
}

func TestManyStartersAdoptOneKey(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	const chosen = "a key that the operator chose"
	var starters sync.WaitGroup
	for range 8 {
		starters.Go(func() {
			if _, err := b.Keys.Bootstrap(t.Context(), chosen); err != nil {
				t.Error(err)
			}
		})
	}
	starters.Wait()
	if _, err := b.Keys.Authenticate(t.Context(), chosen); err != nil {
		t.Error(err)
	}
}
