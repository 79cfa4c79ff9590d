package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/clock"
)

func TestAClockGoesByTheOtherMachine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                string
		ahead, unsure, want time.Duration
	}{
		{"equal clocks", 0, time.Second, 0},
		{"a difference that nobody can be sure of", time.Second, time.Second, 0},
		{"minutes ahead", 7 * time.Minute, time.Second, 7 * time.Minute},
		{"minutes behind", -7 * time.Minute, time.Second, -7 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c clock.Clock
				if got := time.Until(c.Now()); got != 0 {
					t.Errorf("before anybody has said anything it is ahead by %s", got)
				}
				now := time.Now()
				c.Set(now.Add(tt.ahead), now, tt.unsure)
				time.Sleep(time.Hour)
				if got := time.Until(c.Now()); got != tt.want {
					t.Errorf("an hour later it is ahead by %s; want %s", got, tt.want)
				}
				if got := c.At(now).Sub(now); got != tt.want {
					t.Errorf("an hour ago it was ahead by %s; want %s", got, tt.want)
				}
				if c.Set(time.Now(), time.Now(), 0); !c.Now().Equal(time.Now()) {
					t.Errorf("after the clocks were compared again it is ahead by %s", time.Until(c.Now()))
				}
			})
		})
	}
}
