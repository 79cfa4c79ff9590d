//go:build linux

package speech_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/engine/speech"
)

// tones builds the transcriber of the tests.
func tones(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tones")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/spool-video/spool/test/tones").CombinedOutput(); err != nil {
		t.Fatalf("build tones: %v: %s", err, out)
	}
	return path
}

func open(t *testing.T, c speech.Config) *speech.Programs {
	t.Helper()
	box, err := sandbox.Open(sandbox.On, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("there is no sandbox here: %v", err)
	}
	if c.Memory == 0 {
		c.Memory = 512 << 20
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	p, err := speech.Open(c, box)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A program reads what it is given, and nothing else; what it writes is taken for hostile.
func TestPrograms(t *testing.T) {
	t.Parallel()
	program := tones(t)
	dir := t.TempDir()
	secret, model := filepath.Join(dir, "secret"), filepath.Join(dir, "models", "small.bin")
	if err := os.Mkdir(filepath.Dir(model), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{secret: "a secret", model: "a model"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const needs = " {audio} {output}"
	for _, tt := range []struct {
		name, args string
		timeout    time.Duration
		want       error  // nil: it succeeds
		says       string // in the text, or in the error
	}{
		{"it may read folders that the operator names", "snoop {output} " + model + needs, 0, nil, "a model"},
		{"it may read nothing else", "snoop {output} " + secret + needs, 0, nil, "permission denied"},
		{"it fails", "fail" + needs, 0, nil, "this is meant to fail"},
		{"it takes too long", "wait" + needs, time.Second, speech.ErrTimeout, ""},
		{"it writes too much", "flood {output}" + needs, 0, speech.ErrOutput, ""},
		{"it writes something else", "nonsense {output}" + needs, 0, speech.ErrOutput, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := open(t, speech.Config{Transcriber: program + " " + tt.args, Paths: []string{filepath.Dir(model)}, Timeout: tt.timeout})
			text, err := p.Transcribe(t.Context(), model, t.TempDir(), "")
			if err == nil && tt.want == nil && len(text.Cues) == 1 && strings.Contains(text.Cues[0].Plain(), tt.says) {
				return
			}
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the text is %+v, %v; want %v %q", text, err, tt.want, tt.says)
			}
		})
	}
}

func TestAProgramEndsWithItsTask(t *testing.T) {
	t.Parallel()
	p := open(t, speech.Config{Transcriber: tones(t) + " wait {audio} {output}"})
	stopped := errors.New("stopped")
	audio := filepath.Join(t.TempDir(), "audio.wav")
	if err := os.WriteFile(audio, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { stop(stopped) })
	if _, err := p.Transcribe(ctx, audio, t.TempDir(), ""); !errors.Is(err, stopped) {
		t.Errorf("stopped, it ends with %v", err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	good := speech.Config{Memory: 1 << 30, Timeout: time.Hour}
	for _, tt := range []struct {
		change func(*speech.Config)
		want   string // "": nothing is wrong
	}{
		{func(*speech.Config) {}, ""},
		{func(c *speech.Config) { c.Transcriber = "sh {audio} '{output}'" }, ""},
		{func(c *speech.Config) { c.Transcriber = "sh {audio}" }, "no {output} in transcriber"},
		{func(c *speech.Config) { c.Translator = "sh {input} {output}" }, "no {to} in translator"},
		{func(c *speech.Config) { c.Transcriber = "no-such-program {audio} {output}" }, `no program "no-such-program" was found`},
		{func(c *speech.Config) { c.Transcriber = "sh 'open {audio} {output}" }, "cannot be read as a command"},
		{func(c *speech.Config) { c.Paths = []string{"/no/such/folder"} }, "transcriber_paths names /no/such/folder"},
		{func(c *speech.Config) { c.Memory = 1 }, "transcriber_memory must be"},
		{func(c *speech.Config) { c.Timeout = 0 }, "transcriber_timeout must be"},
	} {
		c := good
		tt.change(&c)
		if got := strings.Join(speech.Check(c), " "); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: %q; want %q", c, got, tt.want)
		}
	}
}
