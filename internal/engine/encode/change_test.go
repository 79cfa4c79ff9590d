package encode

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// TestAVideoThatChangesItsSizeMidway joins two videos of different sizes. All
// frames are there, at their own times, whether the container has times or not.
func TestAVideoThatChangesItsSizeMidway(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	for _, format := range []string{"h264", "ts"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var film []byte
			for i, size := range []string{"320x180", "256x192"} {
				part := enginetest.Clip(t, "part."+format, "testsrc2=size="+size+":rate=25:duration=2", "-c:v", "libx264", "-g", "25", "-bf", "2",
					"-output_ts_offset", []string{"1", "3"}[i])
				b, err := os.ReadFile(part)
				if err != nil {
					t.Fatal(err)
				}
				film = append(film, b...)
			}
			path := filepath.Join(t.TempDir(), "video."+format)
			if err := os.WriteFile(path, film, 0o600); err != nil {
				t.Fatal(err)
			}
			job := enginetest.NewJob(t, path)
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
			if err != nil {
				t.Fatal(err)
			}
			times := encodeAll(t, tools, job, plan).times
			want := make([]float64, 100)
			for i := range want {
				want[i] = float64(i) / 25
			}
			sameTimes(t, since(times), want)
		})
	}
}
