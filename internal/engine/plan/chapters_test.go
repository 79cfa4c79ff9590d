package plan

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/video"
)

func TestChaptersOfAFileCountFromTheBeginningOfTheVideo(t *testing.T) {
	t.Parallel()
	found := []probe.Chapter{{Start: 0, Title: "One"}, {Start: 10.0004}, {Start: 20, Title: "Three"}, {Start: 20.0001, Title: "At once"}, {Start: 30, Title: "Four"}, {Start: math.MaxFloat64, Title: "Never"}}
	at := func(seconds float64, title string) video.Chapter {
		return video.Chapter{Start: time.Duration(seconds * float64(time.Second)), Title: title}
	}
	for _, tt := range []struct {
		from   float64
		length time.Duration
		want   []video.Chapter
	}{
		{0, time.Minute, []video.Chapter{at(0, "One"), at(10, "Chapter 2"), at(20, "At once"), at(30, "Four")}},
		{-1.5, time.Minute, []video.Chapter{at(1.5, "One"), at(11.5, "Chapter 2"), at(21.5, "At once"), at(31.5, "Four")}},
		{15, 15 * time.Second, []video.Chapter{at(0, "Chapter 2"), at(5, "At once")}}, // a part
		{100, time.Second, []video.Chapter{at(0, "Four")}},
		{0, time.Millisecond, nil},
	} {
		if got := chapters(found, tt.from, tt.length); !slices.Equal(got, tt.want) {
			t.Errorf("%s from %g s have the chapters %v, want %v", tt.length, tt.from, got, tt.want)
		}
	}
}
