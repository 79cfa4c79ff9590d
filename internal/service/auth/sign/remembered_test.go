package sign

import (
	"errors"
	"testing"
	"time"
)

// A token that was found valid once is refused as soon as it expires, and as soon as its key is gone.
func TestRememberedTokensExpireAndAreRevoked(t *testing.T) {
	t.Parallel()
	noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	one, two := Key{"k1", []byte("the first secret")}, Key{"k2", []byte("the second secret")}
	ring := NewKeyring(one)
	token := ring.Sign(Playback, "video/file", noon)
	verify := func(p Purpose, subject string, at time.Time, want error) {
		t.Helper()
		if err := ring.Verify(p, subject, token, at); !errors.Is(err, want) {
			t.Errorf("Verify for %s of %s = %v; want %v", p, subject, err, want)
		}
	}
	before := noon.Add(-time.Second)
	for range 2 {
		verify(Playback, "video/file", before, nil)
		verify(Playback, "video/other", before, ErrInvalid)
		verify(Stream, "video/file", before, ErrInvalid)
		verify(Playback, "video/file", noon, ErrExpired)
	}
	ring.Set([]Key{one}) // as when the keys are read again
	if _, ok := ring.keys.Load().valid.Get(use{Playback, "video/file", token}); !ok {
		t.Error("the token was forgotten although the keys are the same")
	}
	ring.Set([]Key{two, one})
	verify(Playback, "video/file", before, nil)
	ring.Set([]Key{two})
	verify(Playback, "video/file", before, ErrInvalid)
	ring.Set([]Key{{"k1", []byte("another secret")}})
	verify(Playback, "video/file", before, ErrInvalid)
}
