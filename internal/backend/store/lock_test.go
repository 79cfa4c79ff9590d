package store_test

import (
	"context"
	"sync"
	"testing"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// A file that is being published keeps its video locked. Transactions that wait for that
// video do not block those for other videos.
func TestPostgresManyWaitForOneVideo(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), openPostgres(t, migrated.Fresh(t))
	for _, id := range []video.ID{"locked", "other"} {
		if err := insert(ctx, st, someVideo(id)); err != nil {
			t.Fatal(err)
		}
	}
	var waiting, asked sync.WaitGroup
	lock := func(ctx context.Context) error {
		first := sync.OnceFunc(asked.Done)
		return st.InTx(ctx, func(tx *store.Tx) error {
			first()
			return tx.Lock(ctx, "locked")
		})
	}
	err := st.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, "locked"); err != nil {
			return err
		}
		for range 15 { // this one has the sixteenth connection
			asked.Add(1)
			waiting.Go(func() {
				if err := lock(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		asked.Wait()
		for range 100 {
			if _, err := st.Video(ctx, "other"); err != nil {
				t.Errorf("another video cannot be read: %v", err)
				break
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	waiting.Wait() // all of them get the lock
}
