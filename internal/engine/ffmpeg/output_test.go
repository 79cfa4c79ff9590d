package ffmpeg

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/child"
)

// TestAProgramThatPrintsWithoutEnd stands for one that a file has taken over. The
// limits are those of real runs where that takes no time.
func TestAProgramThatPrintsWithoutEnd(t *testing.T) {
	t.Parallel()
	encode := func(r *Runner) error {
		_, err := r.Encode(t.Context(), Job{}, sandbox.Policy{}, nil, func(float64) {})
		return err
	}
	tests := []struct {
		name, script string
		run          func(*Runner) error
	}{
		{"an answer", "head -c 64000000 /dev/zero", func(r *Runner) error {
			answer, _, err := r.Output(t.Context(), sandbox.Policy{}, nil)
			if len(answer) > maxAnswer {
				t.Errorf("kept %d bytes", len(answer))
			}
			return err
		}},
		{"a line of progress", "head -c 1000000 /dev/zero", encode},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.run(&Runner{ffmpeg: child.Script(t, tt.script), sandbox: new(sandbox.Sandbox), stall: 1 << 40})
			if !errors.Is(err, ErrTooBig) {
				t.Errorf("ends with %v; want ErrTooBig", err)
			}
		})
	}
}

func TestALimitedReader(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{"": nil, "12345": nil, "123456": ErrTooBig, strings.Repeat("x", 1000): ErrTooBig} {
		got, err := io.ReadAll(limit(strings.NewReader(text), "text", 5))
		if !errors.Is(err, want) || string(got) != text[:min(5, len(text))] {
			t.Errorf("of %d bytes %q was read: %v; want %v", len(text), got, err, want)
		}
	}
}

// TestComplaintsWithoutEnd wants the child to be stopped, not only its output to
// be forgotten.
func TestComplaintsWithoutEnd(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	last := &tail{keep: 4, max: 10, over: stop}
	for range 5 {
		if _, err := last.Write([]byte("no.")); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(context.Cause(ctx), ErrTooBig) || last.String() != ".no." {
		t.Errorf("after 15 bytes of 10 the run goes on: %v; %q is kept", context.Cause(ctx), last)
	}
}
