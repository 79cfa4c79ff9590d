package s3

import (
	"net/http"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/clock"
)

func TestTheServerTellsTheTime(t *testing.T) {
	t.Parallel()
	noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(moment time.Time) http.Header { return http.Header{"Date": {moment.Format(http.TimeFormat)}} }
	tests := []struct {
		name   string
		took   time.Duration
		answer http.Header
		want   time.Duration // by how much the server's clock is ahead
	}{
		{"equal clocks", time.Second, at(noon), 0},
		{"a difference that cannot be told from the way", time.Second, at(noon.Add(-2 * time.Second)), 0},
		{"a machine that is minutes late", time.Second, at(noon.Add(7 * time.Minute)), 7 * time.Minute},
		{"a machine that is minutes early", time.Second, at(noon.Add(-7 * time.Minute)), -7 * time.Minute},
		{"an answer that took a minute", time.Minute, at(noon.Add(-time.Minute)), 0},
		{"an answer out of a cache", time.Second, http.Header{"Date": at(noon.Add(-time.Hour))["Date"], "Age": {"3600"}}, 0},
		{"an answer without a date", time.Second, http.Header{}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &clock.Clock{Local: func() time.Time { return noon }}
			dated{nil, c}.read(noon.Add(-tt.took), tt.answer)
			if got := c.Now().Sub(noon); got != tt.want {
				t.Errorf("the server is ahead by %s; want %s", got, tt.want)
			}
		})
	}
}
