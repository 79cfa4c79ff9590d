package river

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

// A machine whose disk was full once must not pause for longest when it is full again next month.
func TestAnUnhealthyMachineRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{}
		pause := func(err error) time.Duration {
			began := time.Now()
			q.backOff(t.Context(), err)
			return time.Since(began)
		}
		for n := 1; n <= 3; n++ {
			if got := pause(queue.ErrWorkerUnhealthy); got != queue.Backoff(n) {
				t.Errorf("failure %d in a row pauses for %v, want %v", n, got, queue.Backoff(n))
			}
		}
		for _, other := range []error{nil, errors.New("the file is damaged")} {
			if got := pause(other); got != 0 {
				t.Errorf("%v pauses for %v", other, got)
			}
			if got := pause(queue.ErrWorkerUnhealthy); got != queue.Backoff(1) {
				t.Errorf("the first failure after %v pauses for %v, want %v", other, got, queue.Backoff(1))
			}
		}
	})
}
