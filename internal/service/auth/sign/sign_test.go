package sign_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
)

var (
	noon    = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	oldKey  = sign.Key{ID: "k1", Secret: []byte("the first secret, thirty-two byte")}
	newKey  = sign.Key{ID: "k2", Secret: []byte("the second secret, also long enough")}
	subject = "0195f0c2-7b7e-7c1e-9a52-0d3f6a1b2c3d"
)

func TestATokenIsValidUntilItsExpiry(t *testing.T) {
	t.Parallel()
	ring := sign.NewKeyring(oldKey)
	tests := []struct {
		name    string
		expires time.Time
		now     time.Time
		want    error
	}{
		{"when it is made", noon.Add(time.Hour), noon, nil},
		{"a second before", noon, noon.Add(-time.Second), nil},
		{"a nanosecond before", noon, noon.Add(-1), nil},
		{"at the expiry", noon, noon, sign.ErrExpired},
		{"a nanosecond later", noon, noon.Add(1), sign.ErrExpired},
		{"a year later", noon, noon.AddDate(1, 0, 0), sign.ErrExpired},
		{"a year ahead", noon.AddDate(1, 0, 0), noon, nil},
		{"in another time zone", noon.In(time.FixedZone("east", 9*3600)), noon.Add(-time.Second), nil},
		{"a millisecond before, within a second", noon.Add(900 * time.Millisecond), noon.Add(899 * time.Millisecond), nil},
		{"at the expiry, within a second", noon.Add(900 * time.Millisecond), noon.Add(900 * time.Millisecond), sign.ErrExpired},
		{"before 1970", time.Unix(-5, 0), time.Unix(-6, 0), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			token := ring.Sign(sign.Playback, subject, tt.expires)
			if err := ring.Verify(sign.Playback, subject, token, tt.now); !errors.Is(err, tt.want) {
				t.Errorf("Verify = %v; want %v", err, tt.want)
			}
			if got := sign.Expiry(token); !got.Equal(tt.expires) {
				t.Errorf("Expiry = %v; want %v", got, tt.expires)
			}
		})
	}
}

func TestOtherUsesAndForgeriesAreRejected(t *testing.T) {
	t.Parallel()
	ring := sign.NewKeyring(oldKey)
	token := ring.Sign(sign.Playback, subject, noon)
	later := ring.Sign(sign.Playback, subject, noon.Add(time.Hour))
	parts, laterParts := strings.Split(token, "."), strings.Split(later, ".")
	stranger := sign.NewKeyring(sign.Key{ID: oldKey.ID, Secret: newKey.Secret})

	tests := []struct {
		name, subject, token string
		purpose              sign.Purpose
	}{
		{"another subject", subject + "x", token, sign.Playback},
		{"no subject", "", token, sign.Playback},
		{"another purpose", subject, token, sign.Upload},
		{"a later expiry", subject, laterParts[0] + "." + parts[1] + "." + parts[2], sign.Playback},
		{"another signature", subject, parts[0] + "." + parts[1] + "." + laterParts[2], sign.Playback},
		{"a key that does not exist", subject, parts[0] + ".none." + parts[2], sign.Playback},
		{"a signature of a stranger's key", subject, stranger.Sign(sign.Playback, subject, noon), sign.Playback},
		{"the expiry written differently", subject, "+" + token, sign.Playback},
		{"a zero before the expiry", subject, "0" + token, sign.Playback},
		{"a signature cut short", subject, token[:len(token)-1], sign.Playback},
		{"something after the signature", subject, token + "A", sign.Playback},
		{"padding after the signature", subject, token + "=", sign.Playback},
		{"a fourth part", subject, token + ".x", sign.Playback},
		{"no signature", subject, parts[0] + "." + parts[1] + ".", sign.Playback},
		{"nothing", subject, "", sign.Playback},
		{"only dots", subject, "..", sign.Playback},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// Also when the token has expired: a forgery must not learn even that.
			for _, now := range []time.Time{noon.Add(-time.Second), noon.Add(time.Second)} {
				if err := ring.Verify(tt.purpose, tt.subject, tt.token, now); !errors.Is(err, sign.ErrInvalid) {
					t.Errorf("Verify at %v = %v; want ErrInvalid", now, err)
				}
			}
		})
	}
}

// A subject that contains newlines must not let a part of it be read as the expiry
// or the key.
func TestPartsCannotBeShifted(t *testing.T) {
	t.Parallel()
	ring := sign.NewKeyring(oldKey)
	token := ring.Sign(sign.Playback, "inner\nk1\nshort", noon)
	exp, rest, _ := strings.Cut(token, ".")
	forged := exp + "\nk1\ninner." + rest
	if err := ring.Verify(sign.Playback, "short", forged, noon.Add(-time.Second)); !errors.Is(err, sign.ErrInvalid) {
		t.Errorf("Verify of a shifted token = %v; want ErrInvalid", err)
	}
}

func TestATokenIsOnePathElement(t *testing.T) {
	t.Parallel()
	token := sign.NewKeyring(oldKey).Sign(sign.Upload, "a/b c?d#é", noon)
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	if rest := strings.Trim(token, safe); rest != "" {
		t.Errorf("token %q has characters that would have to be escaped: %q", token, rest)
	}
	if sign.KeyID(token) != oldKey.ID {
		t.Errorf("KeyID(%q) = %q; want %q", token, sign.KeyID(token), oldKey.ID)
	}
}
