package worker

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/child"
)

// TestThePosterOfAClip looks at the runs that a clip takes, with an ffmpeg that refuses some of them.
func TestThePosterOfAClip(t *testing.T) {
	t.Parallel()
	const begin, end = "inspect 1: ok, ", ", measure 1: ok"
	tests := []struct{ name, refused, want string }{
		{"is made in the run of its audio", "nothing", "encode 1: ok, audio 1: ok"},
		{"is made by a run of its own if that fails", `*-c:v\ mjpeg*-c:a*`, "encode 1: ok, audio 1: exit status 1, audio 1: ok, poster 1: ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, refusing(t, tt.refused))
			r := b.processClip("-f", "lavfi", "-i", "sine=d=1")
			var told []string
			for _, run := range r.Executions {
				told = append(told, fmt.Sprintf("%s %d: %s", run.Task, run.Attempt, run.Result))
			}
			if got := strings.Join(told, ", "); got != begin+tt.want+end {
				t.Errorf("runs are %s; want %s", got, begin+tt.want+end)
			}
			film := filepath.Join(b.dir, "objects", "public", string(r.Video.ID), "144p.mp4")
			out, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", film).Output()
			_, poster := r.Video.File(video.PosterFile)
			if r.Video.Status != video.Ready || err != nil || string(out) != "h264\naac\n" || !poster {
				t.Errorf("the video is %s with the streams %q, %v; it has a poster: %t", r.Video.Status, out, err, poster)
			}
		})
	}
}

// refusing returns an ffmpeg that fails if its arguments fit a pattern.
func refusing(t *testing.T, pattern string) string {
	t.Helper()
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "ffmpeg")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n%s) exit 1 ;;\nesac\nexec %s \"$@\"\n", pattern, path)
	child.WriteProgram(t, program, []byte(script))
	return program
}
