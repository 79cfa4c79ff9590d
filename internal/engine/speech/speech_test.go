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
	"github.com/spool-video/spool/test/need"
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

// An interpreter may ask for more than ffmpeg does. Python has each file that it opens closed on exec, by a call of its own.
func TestAScriptInPython(t *testing.T) {
	t.Parallel()
	const python = "/usr/bin/python3" // elsewhere it may be a script that starts the right one
	if _, err := os.Stat(python); err != nil {
		t.Skip("there is no Python here")
	}
	script := filepath.Join(t.TempDir(), "write.py")
	text := "import sys\nopen(sys.argv[2], 'w').write('WEBVTT\\nLanguage: de\\n\\n00:01.000 --> 00:02.000\\n' + open(sys.argv[1]).read())\n"
	audio := filepath.Join(t.TempDir(), "audio.wav")
	for path, text := range map[string]string{script: text, audio: "the sound"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, speech.Config{Transcriber: python + " " + script + " {audio} {output}", Paths: []string{filepath.Dir(script)}})
	got, err := p.Transcribe(t.Context(), audio, t.TempDir(), "")
	if err != nil || got.Language != "de" || len(got.Cues) != 1 || got.Cues[0].Plain() != "the sound" {
		t.Errorf("the text is %+v, %v", got, err)
	}
}

// TestASpeechEngine hears what a voice says, with the script of docs/transcription.md.
func TestASpeechEngine(t *testing.T) {
	need.TimeFor(t, "a speech engine and its model; TestPrograms has one that hears tones")
	need.Programs(t, "flite", "ffmpeg", "python3")
	dir := t.TempDir()
	page, err := os.ReadFile("../../../docs/transcription.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "**PocketSphinx**")
	_, rest, _ = strings.Cut(rest, "```python\n")
	script, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no script for PocketSphinx")
	}
	if err := os.WriteFile(filepath.Join(dir, "sphinx.py"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	said, audio := filepath.Join(dir, "said.wav"), filepath.Join(dir, "audio.wav")
	const words = "Hello everybody. Welcome to the annual report. This year the company has sold more houses than ever before."
	for _, command := range [][]string{
		{"flite", "-voice", "kal16", "-t", words, "-o", said},
		{"ffmpeg", "-v", "error", "-i", said, "-af", "apad=pad_dur=2", "-ar", "16000", "-ac", "1", audio},
	} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command[0], err, out)
		}
	}
	p := open(t, speech.Config{
		Transcriber: "/usr/bin/python3 " + filepath.Join(dir, "sphinx.py") + " {audio} {output}",
		Paths:       []string{dir, "/usr/share/pocketsphinx"}, Memory: 4 << 30, Timeout: 10 * time.Minute,
	})
	text, err := p.Transcribe(t.Context(), audio, t.TempDir(), "en")
	if err != nil {
		t.Fatal(err)
	}
	var heard strings.Builder
	for _, c := range text.Cues {
		heard.WriteString(c.Plain() + " ")
	}
	t.Logf("it hears %q", heard.String())
	for _, want := range []string{"hello everybody", "annual report", "company"} {
		if !strings.Contains(heard.String(), want) {
			t.Errorf("it did not hear %q", want)
		}
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
