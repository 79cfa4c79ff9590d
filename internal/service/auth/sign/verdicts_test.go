package sign

import (
	"errors"
	"fmt"
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
	if _, ok := ring.keys.Load().valid.get(use{Playback, "video/file", token}); !ok {
		t.Error("the token was forgotten although the keys are the same")
	}
	ring.Set([]Key{two, one})
	verify(Playback, "video/file", before, nil)
	ring.Set([]Key{two})
	verify(Playback, "video/file", before, ErrInvalid)
	ring.Set([]Key{{"k1", []byte("another secret")}})
	verify(Playback, "video/file", before, ErrInvalid)
}

func TestFewTokensAreRemembered(t *testing.T) {
	t.Parallel()
	var v verdicts
	often := use{Playback, "often", "token"}
	v.add(often, 7)
	for i := range 5 * maxVerdicts {
		v.add(use{Playback, fmt.Sprint(i), "token"}, int64(i))
		if expires, ok := v.get(often); !ok || expires != 7 {
			t.Fatalf("a token in use is forgotten after %d others", i)
		}
	}
	if _, ok := v.get(use{Playback, "0", "token"}); ok {
		t.Error("the first token is remembered for ever")
	}
	if n := len(v.young) + len(v.old); n > 2*maxVerdicts {
		t.Errorf("%d tokens are remembered; want at most %d", n, 2*maxVerdicts)
	}
}
