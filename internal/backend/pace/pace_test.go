package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWorkRestsAfterAStretch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const every, rest = time.Millisecond, 3 * time.Microsecond
		w := Work{Every: every, Rest: rest}
		for step, tt := range []struct{ computes, rests time.Duration }{
			{time.Hour, 0}, // before the beginning
			{every - 1, 0},
			{1, rest},
			{every - 1, 0},
			{every, rest},
			{time.Minute, rest},
		} {
			time.Sleep(tt.computes)
			began := time.Now()
			w.Pause()
			if got := time.Since(began); got != tt.rests {
				t.Errorf("step %d: after %s it rests for %s, want %s", step, tt.computes, got, tt.rests)
			}
		}
	})
}
