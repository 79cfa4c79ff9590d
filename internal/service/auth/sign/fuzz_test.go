package sign_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
)

// FuzzVerify checks that a token is accepted only unchanged, for its own subject
// and purpose, and before its expiry.
func FuzzVerify(f *testing.F) {
	ring := sign.NewKeyring(newKey, oldKey)
	good := ring.Sign(sign.Playback, subject, noon)
	other := sign.NewKeyring(oldKey).Sign(sign.Upload, "", noon)
	f.Add(subject, subject, good, int64(-1), uint(0), byte(0))
	f.Add(subject, "other", other, int64(0), uint(5), byte(1))
	f.Add("inner\nk2\nshort", "short", "1\nk2\ninner.k2.sig", int64(1), uint(70), byte('='))
	f.Add("", "\n", "..", int64(1<<40), uint(13), byte('.'))

	f.Fuzz(func(t *testing.T, subject, otherSubject, otherToken string, offset int64, at uint, b byte) {
		offset %= int64(100 * 365 * 24 * time.Hour / time.Second)
		now, expires := noon, noon.Add(time.Duration(offset)*time.Second)
		token := ring.Sign(sign.Playback, subject, expires)

		want := error(nil)
		if offset <= 0 {
			want = sign.ErrExpired
		}
		if err := ring.Verify(sign.Playback, subject, token, now); !errors.Is(err, want) {
			t.Fatalf("Verify %d s before the expiry = %v; want %v", offset, err, want)
		}

		refused := func(what string, p sign.Purpose, subject, token string) {
			t.Helper()
			if err := ring.Verify(p, subject, token, now); !errors.Is(err, sign.ErrInvalid) {
				t.Errorf("Verify with %s (%q, %q) = %v; want ErrInvalid", what, subject, token, err)
			}
		}
		refused("another purpose", sign.Upload, subject, token)
		if otherSubject != subject {
			refused("another subject", sign.Playback, otherSubject, token)
		}
		// good is a valid token, so the fuzzer may pair it with its subject.
		if otherToken != token && otherToken != good {
			refused("another token", sign.Playback, subject, otherToken)
			refused("another token and subject", sign.Playback, otherSubject, otherToken)
		}
		for what, changed := range changes(token, int(at%uint(len(token))), b) {
			if changed != token {
				refused(what, sign.Playback, subject, changed)
			}
		}
	})
}

// changes are small forgeries: of one byte, the expiry, or the key.
func changes(token string, at int, b byte) map[string]string {
	exp, rest, _ := strings.Cut(token, ".")
	return map[string]string{
		"a changed byte":     token[:at] + string([]byte{b}) + token[at+1:],
		"an inserted byte":   token[:at] + string([]byte{b}) + token[at:],
		"a removed byte":     token[:at] + token[at+1:],
		"a cut":              token[:at],
		"a later expiry":     exp + "0." + rest,
		"a positive sign":    "+" + token,
		"the older key's ID": strings.Replace(token, "."+newKey.ID+".", "."+oldKey.ID+".", 1),
	}
}
