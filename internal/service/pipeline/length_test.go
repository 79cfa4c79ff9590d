package pipeline_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// The plan of 40 s says how long a video is: of a part of a file, the length of the part.
func TestAVideoLongerThanItsClientAcceptsGetsNoPlan(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	for seconds, long := range map[float64]bool{39.999: true, 40: false, 0.001: true, 31536000: false} {
		v := b.Processing(video.Draft{MaxSeconds: &seconds})
		err := b.StorePlan(t.Context(), v.ID, servicetest.Plan("720p", "240p"))
		f, failed := errors.AsType[*video.Failure](err)
		if failed != long || failed && f.Code != video.TooLong {
			t.Errorf("a video of 40 s, of which at most %g s are accepted, gives %v", seconds, err)
		}
		if got := b.Video(v.ID); (got.Plan == nil) != long || got.MaxDuration != time.Duration(seconds*float64(time.Second)) {
			t.Errorf("of at most %g s, %v is stored, and a plan: %t", seconds, got.MaxDuration, got.Plan != nil)
		}
	}
}
