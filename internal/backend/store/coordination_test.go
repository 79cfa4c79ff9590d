package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestOneOfManyAcquiresTheRunOnceLock(t *testing.T) {
	t.Parallel()
	st := openPostgres(t, migrated.Fresh(t))
	now := time.UnixMilli(1_900_000_000_000)
	for _, round := range []struct {
		name string
		at   time.Time
		want int64
	}{
		{"the first time ever", now, 1},
		{"a minute later", now.Add(time.Minute), 0},
		{"when it is due again", now.Add(time.Hour), 1},
		{"when another clock is a little behind", now.Add(time.Hour - time.Minute), 0},
		{"when the clock was turned back by a year", now.AddDate(-1, 0, 0), 1},
		{"a minute after that", now.AddDate(-1, 0, 0).Add(time.Minute), 0},
	} {
		var mine atomic.Int64
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() {
				ok, err := st.AcquireRunOnce(t.Context(), "sweep", time.Hour, round.at)
				if err != nil {
					t.Error(err)
				}
				if ok {
					mine.Add(1)
				}
			})
		}
		asking.Wait()
		if mine.Load() != round.want {
			t.Errorf("%s: %d of 8 acquire the lock; want %d", round.name, mine.Load(), round.want)
		}
	}
	if ok, err := st.AcquireRunOnce(t.Context(), "another job", time.Hour, now); err != nil || !ok {
		t.Errorf("another job: %v, %v; want a lock of its own", ok, err)
	}
}

func TestPostgresTellsTheTime(t *testing.T) {
	t.Parallel()
	st := openPostgres(t, migrated.Fresh(t))
	now, err := st.Now(t.Context())
	if d := time.Since(now).Abs(); err != nil || d > 10*time.Second {
		t.Errorf("Now = %v, %v; want the time of this machine, on which the server runs", now, err)
	}
}
