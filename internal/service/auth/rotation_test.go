package auth_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/auth/sign"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

const subject = "some video"

// code returns the code of an error, or "" if there is no error.
func code(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*video.Error](err); ok {
		return e.Code
	}
	return err.Error()
}

func signingIDs(t *testing.T, keys *auth.SigningKeys) (ids []string) {
	t.Helper()
	all, err := keys.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		ids = append(ids, k.ID)
	}
	return ids
}

func TestRevokeSigningKey(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx, keys := t.Context(), b.Signing
	verify := func(token string) string { return code(keys.Verify(ctx, sign.Playback, subject, token)) }
	first := keys.Sign(sign.Playback, subject, b.Now().Add(time.Hour))
	b.Advance(time.Second)
	_, err := keys.Rotate(ctx)
	b.Must(err)
	second := keys.Sign(sign.Playback, subject, b.Now().Add(time.Hour))
	ids := signingIDs(t, keys)
	b.Advance(time.Second)

	_, err = keys.Revoke(ctx, "nobody")
	servicetest.WantCode(t, err, video.NotFound, "signing_key_not_found")

	made, err := keys.Revoke(ctx, ids[1])
	b.Must(err)
	if made != "" || verify(first) != "url_invalid" || verify(second) != "" {
		t.Errorf("old key revoked: made %q, its address %q, the other %q; want nothing made, url_invalid and no error", made, verify(first), verify(second))
	}
	made, err = keys.Revoke(ctx, ids[0])
	b.Must(err)
	if got := signingIDs(t, keys); !slices.Equal(got, []string{made}) || made == ids[0] {
		t.Errorf("newest key %s revoked: keys %v, made %q; want only a new one", ids[0], got, made)
	}
	if third := keys.Sign(sign.Playback, subject, b.Now().Add(time.Hour)); verify(second) != "url_invalid" || verify(third) != "" {
		t.Errorf("newest key revoked: its address %q, a new one %q; want url_invalid and no error", verify(second), verify(third))
	}
}

func TestRotationKeepsKeysForTheLongestLife(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, tt := range map[string]struct{ life, kept, gone time.Duration }{
		"a year by default":                      {0, 365 * day, 365*day + 2*time.Hour},
		"a setting":                              {30 * day, 30 * day, 30*day + 2*time.Hour},
		"upload addresses live for up to a week": {time.Minute, 7 * day, 7*day + 2*time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := servicetest.New(t, func(c *servicetest.Config) { c.MaxSignedLife = tt.life })
			first := signingIDs(t, b.Signing)[0]
			rotate := func(wait time.Duration) []string {
				b.Advance(wait)
				_, err := b.Signing.Rotate(t.Context())
				b.Must(err)
				return signingIDs(t, b.Signing)
			}
			rotate(time.Second)
			if got := rotate(tt.kept); !slices.Contains(got, first) {
				t.Errorf("keys %v after %s; want %s among them", got, tt.kept, first)
			}
			if got := rotate(tt.gone - tt.kept); slices.Contains(got, first) {
				t.Errorf("keys %v after %s; want that %s is gone", got, tt.gone, first)
			}
		})
	}
}
