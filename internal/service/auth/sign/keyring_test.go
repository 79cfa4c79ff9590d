package sign_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth/sign"
)

func TestRotation(t *testing.T) {
	t.Parallel()
	ring := sign.NewKeyring(oldKey)
	before := noon.Add(-time.Second)
	old := ring.Sign(sign.Playback, subject, noon)

	ring.Set([]sign.Key{newKey, oldKey})
	fresh := ring.Sign(sign.Playback, subject, noon)
	if id := sign.KeyID(fresh); id != newKey.ID {
		t.Errorf("after rotation the key %q signs; want the newest, %q", id, newKey.ID)
	}
	for name, token := range map[string]string{"old": old, "new": fresh} {
		if err := ring.Verify(sign.Playback, subject, token, before); err != nil {
			t.Errorf("Verify of the %s token after rotation = %v", name, err)
		}
	}

	ring.Set([]sign.Key{newKey})
	if err := ring.Verify(sign.Playback, subject, old, before); !errors.Is(err, sign.ErrInvalid) {
		t.Errorf("Verify with a key that was removed = %v; want ErrInvalid", err)
	}
	if err := ring.Verify(sign.Playback, subject, fresh, before); err != nil {
		t.Errorf("Verify of the new token = %v", err)
	}
	if ring.Has(oldKey.ID) || !ring.Has(newKey.ID) {
		t.Error("Has does not report which keys the ring contains")
	}
}

func TestSetKeepsACopy(t *testing.T) {
	t.Parallel()
	keys := []sign.Key{{ID: "k1", Secret: []byte("secret")}}
	ring := sign.NewKeyring()
	ring.Set(keys)
	token := ring.Sign(sign.Upload, subject, noon)
	keys[0] = newKey
	if err := ring.Verify(sign.Upload, subject, token, noon.Add(-time.Second)); err != nil {
		t.Errorf("Verify = %v after the caller reused its slice", err)
	}
}

func TestAnEmptyRingAcceptsNothing(t *testing.T) {
	t.Parallel()
	token := sign.NewKeyring(oldKey).Sign(sign.Upload, subject, noon)
	if err := sign.NewKeyring().Verify(sign.Upload, subject, token, noon.Add(-time.Second)); !errors.Is(err, sign.ErrInvalid) {
		t.Errorf("Verify = %v; want ErrInvalid", err)
	}
}

// Run with -race, this shows that keys may be rotated while tokens are verified.
func TestRotationWhileInUse(t *testing.T) {
	t.Parallel()
	ring := sign.NewKeyring(oldKey)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				token := ring.Sign(sign.Playback, subject, noon)
				if err := ring.Verify(sign.Playback, subject, token, noon.Add(-time.Second)); err != nil {
					t.Errorf("Verify = %v", err)
				}
			}
		})
	}
	for i := range 200 {
		keys := []sign.Key{oldKey, newKey}
		if i%2 == 0 {
			keys = []sign.Key{newKey, oldKey}
		}
		ring.Set(keys)
	}
	wg.Wait()
}
