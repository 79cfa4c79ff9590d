package app_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	secret, key, err := b.CreateKey(ctx, app.Key{Name: "ci", Tenant: "acme", Scopes: []app.Scope{app.Read}, ExpiresAt: b.now().Add(time.Hour)})
	b.must(err)

	by, err := b.Authenticate(ctx, secret)
	if err != nil || by.Tenant != "acme" || len(by.Scopes) != 1 || by.Scopes[0] != app.Read || by.KeyID != key.ID {
		t.Fatalf("Authenticate = %+v, %v; want the read key of acme", by, err)
	}
	_, err = b.Authenticate(ctx, "")
	wantCode(t, err, video.Unauthenticated, "missing_api_key")
	_, err = b.Authenticate(ctx, secret+"x")
	wantCode(t, err, video.Unauthenticated, "invalid_api_key")

	b.pass(time.Hour)
	_, err = b.Authenticate(ctx, secret)
	wantCode(t, err, video.Unauthenticated, "invalid_api_key")
}

func TestRevokedKeyIsInvalidAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	secret, key, err := b.CreateKey(t.Context(), app.Key{})
	b.must(err)
	b.must(b.RevokeKey(t.Context(), key.ID))
	_, err = b.Authenticate(t.Context(), secret)
	wantCode(t, err, video.Unauthenticated, "invalid_api_key")
	wantCode(t, b.RevokeKey(t.Context(), "nobody"), video.NotFound, "key_not_found")
}

func TestKeysAreStoredHashed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	secret, _, err := b.CreateKey(t.Context(), app.Key{})
	b.must(err)
	rows, err := b.store.APIKeys().List(t.Context())
	b.must(err)
	for _, r := range rows {
		if strings.Contains(r.Hash, secret) || strings.Contains(secret, r.Hash) || len(r.Hash) != 64 {
			t.Errorf("key %s is stored as %q", r.ID, r.Hash)
		}
	}
}

func TestCreateKeyRefusesNonsense(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, _, err := b.CreateKey(t.Context(), app.Key{Scopes: []app.Scope{"admin"}, ExpiresAt: b.now(), Tenant: " "})
	wantCode(t, err, video.Invalid, "invalid_request")
	if e := err.(*video.Error); len(e.Faults) != 3 {
		t.Errorf("faults = %v; want one for each of scope, tenant and expiry", e.Faults)
	}
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	b := newBench(t) // has one key already
	ctx := t.Context()
	if made, err := b.Bootstrap(ctx, ""); err != nil || made != "" {
		t.Errorf("Bootstrap with keys present = %q, %v; want nothing made", made, err)
	}
	const chosen = "a key that the operator chose"
	for range 2 { // also at the next start
		if made, err := b.Bootstrap(ctx, chosen); err != nil || made != "" {
			t.Errorf("Bootstrap(chosen) = %q, %v", made, err)
		}
	}
	by, err := b.Authenticate(ctx, chosen)
	if err != nil || by.Tenant != video.DefaultTenant || len(by.Scopes) != len(app.Scopes) {
		t.Errorf("Authenticate(chosen) = %+v, %v; want everything for the default tenant", by, err)
	}
}

func TestChangingTheConfiguredKeyRevokesTheFormerOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	const first, second = "the first long random key", "the second long random key"
	for _, secret := range []string{first, second, second} {
		if _, err := b.Bootstrap(ctx, secret); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Authenticate(ctx, first)
	wantCode(t, err, video.Unauthenticated, "invalid_api_key")
	if _, err := b.Authenticate(ctx, second); err != nil {
		t.Errorf("the new key: %v", err)
	}
	if _, err := b.PublicVideo(ctx, b.by, b.create(video.Draft{IsPublic: true}).Video.ID, base); err != nil {
		t.Errorf("a key that was made by hand: %v", err)
	}
}

// A setting that is taken back, or processes of a rolling upgrade that start
// with the old and the new key in turns, must not lock everybody out.
func TestTheConfiguredKeyIsValidAgainWhenTheSettingComesBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	const first, second = "the first long random key", "the second long random key"
	for _, secret := range []string{first, second, first} {
		if _, err := b.Bootstrap(ctx, secret); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Authenticate(ctx, secret); err != nil {
			t.Errorf("the key of the setting, %q: %v", secret, err)
		}
	}
	_, err := b.Authenticate(ctx, second)
	wantCode(t, err, video.Unauthenticated, "invalid_api_key")
}

func TestManyStartersAdoptOneKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const chosen = "a key that the operator chose"
	var starters sync.WaitGroup
	for range 8 {
		starters.Go(func() {
			if _, err := b.Bootstrap(t.Context(), chosen); err != nil {
				t.Error(err)
			}
		})
	}
	starters.Wait()
	if _, err := b.Authenticate(t.Context(), chosen); err != nil {
		t.Error(err)
	}
}

func TestScopesAndTenants(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	up := b.create(video.Draft{IsPublic: true})
	id, rid := up.Video.ID, up.Video.Resolutions[0].ID

	stranger := b.actor(app.Key{Tenant: "other"})
	reader := b.actor(app.Key{Scopes: []app.Scope{app.Read}})
	writer := b.actor(app.Key{Scopes: []app.Scope{app.Write, app.Delete}})

	calls := []struct {
		name     string
		call     func(by app.Actor) error
		lacking  app.Actor
		notFound string
	}{
		{"create", func(by app.Actor) error { _, err := b.CreateVideo(ctx, by, video.Draft{}, base); return err }, reader, ""},
		{"complete", func(by app.Actor) error { _, err := b.CompleteUpload(ctx, by, id); return err }, reader, "video_not_found"},
		{"read", func(by app.Actor) error { _, err := b.PublicVideo(ctx, by, id, base); return err }, writer, "video_not_found"},
		{"delete", func(by app.Actor) error { return b.DeleteVideo(ctx, by, id) }, reader, "video_not_found"},
		{"delete resolution", func(by app.Actor) error { return b.DeleteResolution(ctx, by, rid) }, reader, "resolution_not_found"},
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			wantCode(t, c.call(c.lacking), video.Forbidden, "insufficient_scope")
			if c.notFound != "" {
				wantCode(t, c.call(stranger), video.NotFound, c.notFound)
			}
		})
	}
}
