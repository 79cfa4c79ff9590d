package encode

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// TestEveryTrackKeepsItsPlaceAndLastsAsLongAsTheVideo has three tracks with a beep: one as long as the pictures, one that
// begins late and ends early, and one that goes on behind them.
func TestEveryTrackKeepsItsPlaceAndLastsAsLongAsTheVideo(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	const beep = "aevalsrc='if(between(t,1,1.5),sin(2000*t),0)':s=48000:d="
	source := filepath.Join(t.TempDir(), "a.mkv")
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=4", "-f", "lavfi", "-i", beep+"4", "-itsoffset", "0.7", "-f", "lavfi", "-i", beep+"1.6",
		"-f", "lavfi", "-i", beep+"6", "-map", "0", "-map", "1", "-map", "2", "-map", "3", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "flac", source)
	job := enginetest.NewJob(t, source)
	p, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range []float64{1, 1.7, 1} {
		job := enginetest.NewJob(t, source)
		out, err := tools.EncodeAudio(t.Context(), job, p.Sound(i), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		path, err := WriteSound(job, p.Sound(i), out.Whole)
		if err != nil {
			t.Fatal(err)
		}
		sameBeeps(t, beeps(t, path)[0], []float64{at}, 0.02)
		index := indexOf(t, path)
		if length := index.Audio.Length().Seconds(); length < 3.99 || length > 4.05 {
			t.Errorf("track %d lasts %.3f s; want 4 s", i, length)
		}
	}
}

func indexOf(t *testing.T, path string) *mp4.Index {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	x, err := mp4.ReadIndex(mp4.Input{ReaderAt: f, Size: info.Size()})
	if err != nil {
		t.Fatal(err)
	}
	return x
}
