package encode

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/footage"
	"github.com/spool-video/spool/test/need"
)

// TestNineNamesOfA4KVideoStayWithin4GiB asks for all sizes of a phone's largest
// video at once, and for sizes beyond it: Spool's processes stay within 4 GiB.
func TestNineNamesOfA4KVideoStayWithin4GiB(t *testing.T) {
	dir := footage.Path(t, "variety")
	tools := newEngine(t)
	if os.Getenv("SPOOL_TEST_ALL_FOOTAGE") == "" {
		need.TimeFor(t, "nine sizes of a 4K recording take a minute")
	}
	all := []video.Name{"144p", "240p", "360p", "480p", "720p", "1080p", "1440p", "4k", "8k"}
	for name, ask := range map[string]plan.Request{
		"all names":                {Names: all},
		"all names, all as asked":  {Names: all, Upscale: true},
		"8k alone, blown up to it": {Names: []video.Name{"8k"}, Upscale: true},
	} {
		t.Run(name, func(t *testing.T) {
			job := enginetest.NewJob(t, filepath.Join(dir, "phone_4k60_portrait_short.mp4"))
			var most int64
			job.Ran = func(r video.Execution) { most = max(most, r.Memory) }
			plan, err := tools.Inspect(t.Context(), job, ask)
			if err != nil {
				t.Fatal(err)
			}
			outputs, err := tools.EncodeChunk(t.Context(), job, plan, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d outputs, the largest %d × %d: %d MiB", len(outputs), plan.Renditions[0].Width, plan.Renditions[0].Height, most>>20)
			if most == 0 || most > 4<<30 {
				t.Errorf("the largest process took %d MiB; want at most 4096, and to know", most>>20)
			}
		})
	}
}
