package auth_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestAKeyMakesKeys(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	admin := b.Actor(auth.Key{Tenant: "acme", Scopes: []auth.Scope{auth.Read, auth.Admin}})
	secret, key, err := b.Keys.CreateOwn(ctx, admin, auth.KeyDraft{Name: "site", Scopes: []auth.Scope{auth.Read, auth.Read}, Life: time.Hour})
	b.Must(err)
	if key.MadeBy != admin.KeyID || key.Tenant != "acme" || !key.ExpiresAt.Equal(b.Now().Add(time.Hour).Truncate(time.Millisecond)) {
		t.Errorf("made %+v", key)
	}
	by, err := b.Keys.Authenticate(ctx, secret)
	if err != nil || by.Tenant != "acme" || !slices.Equal(by.Scopes, []auth.Scope{auth.Read}) || by.KeyID != key.ID {
		t.Errorf("the new key is %+v, %v", by, err)
	}
	_, same, err := b.Keys.CreateOwn(ctx, admin, auth.KeyDraft{Name: "same"})
	if err != nil || !slices.Equal(same.Scopes, admin.Scopes) || !same.ExpiresAt.IsZero() {
		t.Errorf("without scopes: %+v, %v; want those of the key that makes it", same, err)
	}

	_, _, err = b.Keys.CreateOwn(ctx, admin, auth.KeyDraft{Name: "more", Scopes: []auth.Scope{auth.Read, auth.Delete}})
	servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
	_, _, err = b.Keys.CreateOwn(ctx, by, auth.KeyDraft{Name: "x"})
	servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
	_, err = b.Keys.ListOwn(ctx, by, video.Cursor{}, 10)
	servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
	servicetest.WantCode(t, b.Keys.RevokeOwn(ctx, by, same.ID), video.Forbidden, "insufficient_scope")

	b.Advance(time.Hour)
	_, err = b.Keys.Authenticate(ctx, secret)
	servicetest.WantCode(t, err, video.Unauthenticated, "invalid_api_key")
}

func TestAKeyThatEndsMakesNoneThatOutlivesIt(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	end := b.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	lent := b.Actor(auth.Key{Tenant: "acme", ExpiresAt: end})
	for life, want := range map[time.Duration]time.Time{0: end, time.Minute: end.Add(-59 * time.Minute), 2 * time.Hour: end} {
		if _, made, err := b.Keys.CreateOwn(t.Context(), lent, auth.KeyDraft{Name: "kept", Life: life}); err != nil || !made.ExpiresAt.Equal(want) {
			t.Errorf("a life of %v ends at %v, %v; want %v", life, made.ExpiresAt, err, want)
		}
	}
}

func TestKeysOfOtherTenantsAreNotFound(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	ours, theirs := b.Actor(auth.Key{Tenant: "acme"}), b.Actor(auth.Key{Tenant: "other"})
	secret, made, err := b.Keys.CreateOwn(ctx, ours, auth.KeyDraft{Name: "site"})
	b.Must(err)
	servicetest.WantCode(t, b.Keys.RevokeOwn(ctx, theirs, made.ID), video.NotFound, "key_not_found")
	if _, err := b.Keys.Authenticate(ctx, secret); err != nil {
		t.Errorf("another tenant has revoked the key: %v", err)
	}

	names := func(by auth.Actor, limit int) (ids []string) {
		t.Helper()
		var after video.Cursor
		for {
			page, err := b.Keys.ListOwn(ctx, by, after, limit)
			b.Must(err)
			for _, k := range page.Keys {
				ids = append(ids, k.ID)
			}
			if after = page.Next; after == (video.Cursor{}) {
				return ids
			}
		}
	}
	for _, limit := range []int{1, 2, 50} {
		if got := names(ours, limit); len(got) != 2 || !slices.Contains(got, made.ID) || !slices.Contains(got, ours.KeyID) {
			t.Errorf("in pages of %d, the tenant has %v", limit, got)
		}
		if got := names(theirs, limit); !slices.Equal(got, []string{theirs.KeyID}) {
			t.Errorf("in pages of %d, the other tenant has %v", limit, got)
		}
	}

	b.Must(b.Keys.RevokeOwn(ctx, ours, made.ID))
	_, err = b.Keys.Authenticate(ctx, secret)
	servicetest.WantCode(t, err, video.Unauthenticated, "invalid_api_key")
	servicetest.WantCode(t, b.Keys.RevokeOwn(ctx, ours, made.ID), video.NotFound, "key_not_found")
	if got := names(ours, 10); len(got) != 1 {
		t.Errorf("a revoked key is listed: %v", got)
	}
	b.Must(b.Keys.RevokeOwn(ctx, ours, ours.KeyID)) // its own
	_, _, err = b.Keys.CreateOwn(ctx, ours, auth.KeyDraft{Name: "late"})
	servicetest.WantCode(t, err, video.Unauthenticated, "invalid_api_key")
}

func TestKeysThatCannotBeMade(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	for field, d := range map[string]auth.KeyDraft{
		"name":      {Name: " "},
		"name ":     {Name: strings.Repeat("ä", auth.MaxKeyName+1)},
		"name  ":    {Name: "a\x1b[2J"},
		"name   ":   {Name: "a\u202eb"},
		"name    ":  {Name: "a\xff"},
		"name     ": {Name: "api_key setting"},
		"scopes":    {Name: "x", Scopes: []auth.Scope{}},
		"scopes[1]": {Name: "x", Scopes: []auth.Scope{auth.Read, "owner"}},
		"expiresIn": {Name: "x", Life: auth.MaxKeyLife + time.Second},
	} {
		_, _, err := b.Keys.CreateOwn(t.Context(), b.By, d)
		servicetest.WantCode(t, err, video.Invalid, "invalid_request")
		if e, _ := errors.AsType[*video.Error](err); len(e.Faults) != 1 || e.Faults[0].Field != strings.TrimSpace(field) {
			t.Errorf("%+v: %+v", d, e.Faults)
		}
	}
}

func TestTooManyKeys(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	var made auth.Key
	var err error
	for range auth.MaxMadeKeys {
		_, made, err = b.Keys.CreateOwn(t.Context(), b.By, auth.KeyDraft{Name: strings.Repeat("ä", auth.MaxKeyName)})
		b.Must(err)
	}
	_, _, err = b.Keys.CreateOwn(t.Context(), b.By, auth.KeyDraft{Name: "one more"})
	servicetest.WantCode(t, err, video.Conflict, "too_many_keys")
	b.Must(b.Keys.RevokeOwn(t.Context(), b.By, made.ID))
	_, _, err = b.Keys.CreateOwn(t.Context(), b.By, auth.KeyDraft{Name: "one more"})
	b.Must(err)
}

func TestWhoMakesAndRevokesKeysIsLogged(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	var log bytes.Buffer
	keys := auth.NewKeys(b.Store, b.Now, slog.New(slog.NewJSONHandler(&log, nil)))
	secret, made, err := keys.CreateOwn(t.Context(), b.By, auth.KeyDraft{Name: "site"})
	b.Must(err)
	b.Must(keys.RevokeOwn(t.Context(), b.By, made.ID))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("the log is %s", log.String())
	}
	for i, word := range []string{"made", "revoked"} {
		if !strings.Contains(lines[i], word) || !strings.Contains(lines[i], `"key":"`+made.ID+`"`) || !strings.Contains(lines[i], `"by":"`+b.By.KeyID+`"`) {
			t.Errorf("the log says %s", lines[i])
		}
	}
	if strings.Contains(log.String(), secret) {
		t.Error("the secret is in the log")
	}
}
