package limit

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// One address has one picture made at a time. Others of it wait, but not too many, and not for ever.
func TestAFloodOfPicturesIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(100)
		turn := func(address string) (context.Context, *Turn) {
			return l.Begin(t.Context(), Principal{Client: netip.MustParsePrefix(address)})
		}
		ctx, first := turn("192.0.2.1/32")
		release, err := first.Picture(ctx)
		if err != nil {
			t.Fatal(err)
		}
		outcomes := make(chan error, maxWaitingPictures)
		for range maxWaitingPictures {
			go func() {
				ctx, other := turn("192.0.2.1/32")
				_, err := other.Picture(ctx)
				outcomes <- err
			}()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := first.Picture(ctx); video.KindOf(err) != video.RateLimited || time.Since(began) != 0 {
			t.Errorf("one too many is answered %v after %v", err, time.Since(began))
		}
		for range maxWaitingPictures {
			if err := <-outcomes; video.KindOf(err) != video.RateLimited {
				t.Errorf("one that waited is answered %v", err)
			}
		}
		if waited := time.Since(began); waited != picturePatience {
			t.Errorf("they waited for %v", waited)
		}
		release()
		if release, err = first.Picture(ctx); err != nil {
			t.Errorf("after the picture was made: %v", err)
		}
		release()
	})
}
