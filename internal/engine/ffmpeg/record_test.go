package ffmpeg

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/test/child"
)

func TestHowARunEnded(t *testing.T) {
	t.Parallel()
	refusal := video.Failf(video.TooLong, "No.")
	read := func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
	tests := []struct {
		name, script string
		stdout       func(io.Reader) error
		stop         error
		want         string
	}{
		{"well", "exit 0", read, nil, "ok"},
		{"with a status", "exit 3", read, nil, "exit status 3"},
		{"without memory", "echo Cannot allocate memory >&2; exit 1", read, nil, ErrMemory.Error()},
		{"by a crash", "kill -SEGV $$", read, nil, ErrCrashed.Error()},
		{"by somebody's signal", "kill -9 $$", read, nil, ErrKilled.Error()},
		{"because it stalled", "read x < /dev/zero", read, ErrStalled, ErrStalled.Error()},
		{"because nobody wants it", "read x < /dev/zero", read, errors.New("deleted"), "stopped"},
		{"because of what it said", "read x < /dev/zero", func(io.Reader) error { return refusal }, nil, "stopped"},
		{"before it said all", "exit 0", func(io.Reader) error { return io.ErrUnexpectedEOF }, nil, "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.stop != nil {
				time.AfterFunc(50*time.Millisecond, func() { cancel(tt.stop) })
			}
			var got video.Execution
			run := &Runner{sandbox: new(sandbox.Sandbox)}
			_, _ = run.run(ctx, process{
				bin: child.Script(t, tt.script), stdout: tt.stdout,
				job: Job{Source: "/srv/in/source", OutDir: "/srv/out", Ran: func(r video.Execution) { got = r }},
			})
			if got.Result != tt.want || got.Program != "tool" {
				t.Errorf("the run is told as %+v; want %q", got, tt.want)
			}
		})
	}
}

func TestRetold(t *testing.T) {
	t.Parallel()
	job := Job{Source: "/srv/data/scratch/encode-7/in/source", OutDir: "/srv/data/scratch/encode-7/out"}
	got := job.redact([]string{"-i", "file:/srv/data/scratch/encode-7/in/source", "-i", "file:/srv/data/scratch/encode-7/in/720p.mp4",
		"stats=/srv/data/scratch/encode-7/out/x.txt:y", "/srv/data/scratch/encode-7/out", "bad\xffbyte"})
	if want := "-i file:source -i file:720p.mp4 stats=out/x.txt:y out bad?byte"; strings.Join(got, " ") != want {
		t.Errorf("arguments = %q; want %q", got, want)
	}
	long := job.redact([]string{strings.Repeat("a", keptArguments-1), "b", "c", "d"})
	if len(long) != 3 || long[1] != "b" || long[2] != "…" {
		t.Errorf("a long list has %d arguments, its end is %q", len(long), long[len(long)-1])
	}
}
