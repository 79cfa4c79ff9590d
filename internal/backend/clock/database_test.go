package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheDatabaseTellsTheTime(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lead  time.Duration // of the database's clock
		takes time.Duration // for the answer to come
		want  time.Duration
	}{
		{"equal clocks", 0, time.Millisecond, 0},
		{"a difference that cannot be told from the way", 40 * time.Millisecond, 100 * time.Millisecond, 0},
		{"a machine that is minutes late", 7 * time.Minute, time.Millisecond, 7 * time.Minute},
		{"a machine that is minutes early", -7 * time.Minute, time.Millisecond, -7 * time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &Database{ask: func(context.Context) (time.Time, error) {
					time.Sleep(tt.takes / 2)
					now := time.Now().Add(tt.lead)
					time.Sleep(tt.takes / 2)
					return now, nil
				}}
				if err := c.Adjust(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := time.Until(c.Now()); got != tt.want {
					t.Errorf("the clock is ahead by %s; want %s", got, tt.want)
				}
			})
		})
	}
}

func TestAClockThatCannotBeAskedGoesOn(t *testing.T) {
	t.Parallel()
	lead, gone := time.Hour, errors.New("gone")
	var fault error
	c := &Database{ask: func(context.Context) (time.Time, error) { return time.Now().Add(lead), fault }}
	if err := c.Adjust(t.Context()); err != nil {
		t.Fatal(err)
	}
	fault = gone
	if err := c.Adjust(t.Context()); !errors.Is(err, gone) {
		t.Errorf("Adjust = %v; want %v", err, gone)
	}
	if got := time.Until(c.Now()).Round(time.Second); got != lead {
		t.Errorf("the clock is ahead by %s; want %s as before", got, lead)
	}
}
