package encode

import (
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

func TestEveryRunIsTold(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	job := enginetest.NewJob(t, enginetest.Clip(t, "a.mp4", "testsrc2=s=320x180:r=25:d=2"))
	var runs []video.Execution
	job.Ran = func(r video.Execution) { runs = append(runs, r) }
	began := time.Now()
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools.EncodeChunk(t.Context(), job, plan, 0, nil); err != nil {
		t.Fatal(err)
	}
	if len(runs) != 2 || runs[0].Program != "ffprobe" || runs[1].Program != "ffmpeg" {
		t.Fatalf("runs = %+v; want one of ffprobe and one of ffmpeg", runs)
	}
	for _, r := range runs {
		if r.Result != video.ExecutionOK || r.CPU <= 0 || r.Wall <= 0 || r.Wall > time.Since(began) || r.StartedAt.Before(began) {
			t.Errorf("%s is told as %+v", r.Program, r)
		}
	}
	command := strings.Join(runs[1].Arguments, " ")
	for _, part := range []string{" -i file:source ", " libx264 ", " file:out/v0.mp4"} {
		if !strings.Contains(command+" ", part) {
			t.Errorf("the command is %s; want %q in it", command, part)
		}
	}
	if strings.Contains(command, "/tmp") || strings.Contains(command, t.Name()) {
		t.Errorf("the command shows a folder: %s", command)
	}
}
