package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
)

func TestSpansAreJoined(t *testing.T) {
	t.Parallel()
	r := Reading{Gap: 10}
	got := r.join(100, []video.Span{{From: 50, To: 60}, {From: 95, To: 400}}, []video.Span{{From: 0, To: 5}, {From: 15, To: 20}, {From: 55, To: 58}, {From: 7, To: 7}})
	want := []video.Span{{From: 0, To: 20}, {From: 50, To: 60}, {From: 95, To: 100}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var many []video.Span
	for i := range int64(10 * maxSpans) {
		many = append(many, video.Span{From: 100 * i, To: 100*i + 1})
	}
	many = append(many, video.Span{From: 1 << 40, To: 1<<40 + 1})
	if got := r.join(1<<50, many); len(got) != 2 {
		t.Errorf("%d spans are %d when joined; want 2", len(many), len(got))
	}
}
