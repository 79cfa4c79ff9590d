package queue_test

import (
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		attempt int
		want    time.Duration
	}{
		{"the first failure costs half a second", 1, 500 * time.Millisecond},
		{"it doubles", 2, time.Second},
		{"and doubles again", 3, 2 * time.Second},
		{"the last one below the limit", 7, 32 * time.Second},
		{"a minute is the most", 8, time.Minute},
		{"also after a very long time", 1 << 40, time.Minute},
		{"no attempt counts as the first", 0, 500 * time.Millisecond},
		{"a negative attempt counts as the first", -3, 500 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := queue.Backoff(tt.attempt); got != tt.want {
				t.Errorf("Backoff(%d) = %v, want %v", tt.attempt, got, tt.want)
			}
		})
	}
}

func TestTaskNames(t *testing.T) {
	t.Parallel()
	task := queue.Task{Kind: queue.Encode, Video: "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e", Number: 7, Priority: 3, Attempt: 2}
	if got, want := task.String(), "encode/0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e/7"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
}
