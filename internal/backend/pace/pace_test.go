package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWorkPausesAfterAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w Work
		for step, tt := range []struct{ computes, pauses time.Duration }{
			{0, 0}, // the beginning
			{stretch, 0},
			{1, rest},
			{stretch, 0},
			{stretch, rest},
			{time.Minute, rest},
		} {
			time.Sleep(tt.computes)
			began := time.Now()
			w.Pause()
			if got := time.Since(began); got != tt.pauses {
				t.Errorf("step %d: after %s it pauses for %s, want %s", step, tt.computes, got, tt.pauses)
			}
		}
	})
}
