package video

import (
	"testing"
	"time"
)

func TestPlayableWhileProcessing(t *testing.T) {
	t.Parallel()
	noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	plan := func(e *Early) *Plan { return &Plan{Renditions: []Rendition{{Names: []Name{"720p"}}}, Early: e} }
	for name, tt := range map[string]struct {
		plan *Plan
		at   time.Time
		is   Status
		want bool
	}{
		"grows":                              {plan(new(Early)), noon, Processing, true},
		"grows, but too little is there":     {plan(new(Early)), time.Time{}, Processing, false},
		"does not grow, and was ready once":  {plan(nil), noon, Processing, false},
		"is not inspected, but was once":     {nil, noon, Processing, false},
		"is ready, and was playable never":   {plan(nil), time.Time{}, Ready, true},
		"is ready, and was playable earlier": {plan(nil), noon, Ready, true},
	} {
		v := Video{Status: Processing, Plan: tt.plan, PlayableAt: tt.at, Resolutions: []Resolution{{Name: "720p", Status: tt.is}}}
		if got := v.Playable(); got != tt.want {
			t.Errorf("a video that %s: %v, want %v", name, got, tt.want)
		}
	}
}
