package pipeline_test

import (
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/service/pipeline"
)

func TestHoldsExpire(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		wantHeld := func(when string, want bool) {
			t.Helper()
			var held bool
			err := s.InTx(ctx, func(tx *store.Tx) (err error) { held, err = pipeline.RemovalsHeld(ctx, tx); return err })
			if err != nil || held != want {
				t.Errorf("%s removals are held: %v, %v", when, held, err)
			}
		}
		hold := func(id string, ttl time.Duration) pipeline.RemovalHold {
			t.Helper()
			h, err := pipeline.HoldRemovals(ctx, s, id, ttl)
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		wantHeld("without a backup", false)
		live, dead := hold("a", time.Hour), hold("b", -time.Second)
		wantHeld("while a backup runs", true)
		for h, want := range map[pipeline.RemovalHold]bool{live: true, dead: false, {}: false} {
			if h == (pipeline.RemovalHold{}) {
				h = hold("c", time.Hour)
				if err := h.Release(ctx); err != nil {
					t.Error(err)
				}
			}
			if renewed, err := h.Renew(ctx, time.Hour); err != nil || renewed != want {
				t.Errorf("%+v is renewed: %v, %v; want %v", h, renewed, err, want)
			}
		}
		if err := live.Release(ctx); err != nil {
			t.Error(err)
		}
		wantHeld("by a backup that is dead", false)
	})
}
