package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHeartbeatSlowsDown has a task come to a tenth after each second, and stand
// still after ten.
func TestHeartbeatSlowsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var latest atomic.Uint64
		go func() {
			time.Sleep(time.Second / 2)
			for part := range uint64(10) {
				latest.Store((part + 1) * 1e5)
				time.Sleep(time.Second)
			}
		}()
		var notes []float64
		reportChanges(ctx, &latest, func(part float64) { notes = append(notes, part) })
		want := []float64{0.1, 0.3, 0.7, 1} // after 1, 3, 7 and 12 s
		if diff := cmp.Diff(want, notes); diff != "" {
			t.Errorf("notes of progress (-want +got):\n%s", diff)
		}
	})
}
