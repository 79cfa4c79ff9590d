package encode

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// ffmpeg reads pictures of old versions of x264 in another way, and only the first frame names the
// version: decoded from the middle, such a video is green. No encoder here makes one, so this clip
// only claims to be one.
func TestTheDecoderKnowsAnOldEncoderInTheMiddle(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]int{"yuv444p": 142, "yuv420p": 0} { // others are read alike
		source := enginetest.Clip(t, "a.mp4", "testsrc2=s=320x180:r=5:d=2", "-map", "0:v", "-pix_fmt", format, "-c:v", "libx264", "-preset", "medium", "-g", "5")
		content, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(source, regexp.MustCompile(`x264 - core [0-9]{3}`).ReplaceAll(content, []byte("x264 - core 142")), 0o600); err != nil {
			t.Fatal(err)
		}
		job := enginetest.NewJob(t, source)
		p, err := newEngine(t).Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
		if err != nil {
			t.Fatal(err)
		}
		if p.Input.X264 != want {
			t.Errorf("%s: the version is %d; want %d", format, p.Input.X264, want)
		}
		second := p.FirstPTS + int64(p.Input.TimeBase.Den/p.Input.TimeBase.Num)
		told := ffmpeg.CommonArgs(job, p.Input, second, 1)
		p.Input.X264 = 0
		untold := ffmpeg.CommonArgs(job, p.Input, second, 1)
		if differ := frameHash(t, told) != frameHash(t, untold); differ != (want > 0) {
			t.Errorf("%s: whether the decoder knows the version makes a difference: %t", format, differ)
		}
	}
}

// frameHash returns a hash of the first frame that ffmpeg makes of its input.
func frameHash(t *testing.T, args []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hash")
	enginetest.RunFFmpeg(t, append(slices.Clone(args), "-map", "0:v", "-frames:v", "1", "-f", "md5", path)...)
	hash, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(hash)
}
