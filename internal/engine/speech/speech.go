//go:build unix

// Package speech runs the operator's programs that write down what is said, and translate it. They read what strangers have
// uploaded, so they run in the sandbox: without network, with a limit of memory and time, and with nothing to read but their
// input and the folders that the operator names. What they write is taken for hostile, too.
package speech

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/google/shlex"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/engine/webvtt"
)

// Config is what the operator decides.
type Config struct {
	Transcriber string // a command with {audio}, {output} and, if it wants, {language}; "": no transcriber
	Translator  string // a command with {input}, {output}, {from} and {to}; "": no translator
	Memory      int64
	Timeout     time.Duration
	Paths       []string // files and folders that both may read
	Nice        int
}

// What the programs must name in their arguments.
var (
	transcriberNeeds = []string{"{audio}", "{output}"}
	translatorNeeds  = []string{"{input}", "{output}", "{to}"}
)

const (
	outputFile = "output.vtt"
	maxStderr  = 4 << 10 // bytes of what a program prints that are logged
	maxThreads = 512
	maxFiles   = 64
	maxSpace   = 64 << 20
)

// Errors of a run for which neither the machine nor the moment is to blame.
var (
	ErrTimeout = errors.New("it took longer than transcriber_timeout")
	ErrLimit   = errors.New("it used more memory, threads or files than it may")
	ErrOutput  = errors.New("what it wrote is no WebVTT or SubRip")
)

// Programs run the commands of a configuration.
type Programs struct {
	config                  Config
	sandbox                 *sandbox.Sandbox
	transcriber, translator []string
}

// Open checks a configuration and returns its programs.
func Open(c Config, s *sandbox.Sandbox) (*Programs, error) {
	if faults := Check(c); len(faults) > 0 {
		return nil, errors.New(strings.Join(faults, " "))
	}
	p := &Programs{config: c, sandbox: s}
	p.transcriber, _ = shlex.Split(c.Transcriber) // Check has read them
	p.translator, _ = shlex.Split(c.Translator)
	for _, command := range [][]string{p.transcriber, p.translator} {
		if len(command) > 0 {
			command[0], _ = exec.LookPath(command[0])
			command[0], _ = filepath.Abs(command[0])
		}
	}
	return p, nil
}

// Check returns what is wrong with a configuration, one sentence each.
func Check(c Config) []string {
	faults := append(checkCommand("transcriber", c.Transcriber, transcriberNeeds), checkCommand("translator", c.Translator, translatorNeeds)...)
	for _, path := range c.Paths {
		if _, err := os.Stat(path); err != nil {
			faults = append(faults, fmt.Sprintf("transcriber_paths names %s, which cannot be found.", path))
		}
	}
	if c.Memory < 64<<20 {
		faults = append(faults, "transcriber_memory must be at least 64MiB.")
	}
	if c.Timeout < time.Second {
		faults = append(faults, "transcriber_timeout must be at least 1s.")
	}
	return faults
}

func checkCommand(setting, command string, needs []string) []string {
	if command == "" {
		return nil
	}
	args, err := shlex.Split(command)
	if err != nil || len(args) == 0 {
		return []string{fmt.Sprintf("%s cannot be read as a command: %v.", setting, err)}
	}
	var faults []string
	for _, need := range needs {
		if !strings.Contains(strings.Join(args[1:], " "), need) {
			faults = append(faults, fmt.Sprintf("There is no %s in %s: the program must be told.", need, setting))
		}
	}
	switch _, err := exec.LookPath(args[0]); {
	case errors.Is(err, fs.ErrPermission):
		faults = append(faults, fmt.Sprintf("%s: %s may not be executed.", setting, args[0]))
	case err != nil:
		faults = append(faults, fmt.Sprintf("%s: no program %q was found.", setting, args[0]))
	}
	return faults
}

// Transcribes and Translates report whether there is a program for it.
func (p *Programs) Transcribes() bool { return p != nil && len(p.transcriber) > 0 }

// Translates reports whether there is a translator.
func (p *Programs) Translates() bool { return p != nil && len(p.translator) > 0 }

// Text is what a program has written.
type Text struct {
	Cues     []webvtt.Cue
	Language string // that it names in the head of its WebVTT; "": none
}

// Transcribe writes down what is said in a WAV file. dir is an empty folder for the output.
func (p *Programs) Transcribe(ctx context.Context, audio, dir, language string) (Text, error) {
	if language == "" {
		language = "auto"
	}
	return p.run(ctx, p.transcriber, dir, audio, map[string]string{"{audio}": audio, "{language}": language})
}

// Translate translates a WebVTT file. dir is an empty folder for the output.
func (p *Programs) Translate(ctx context.Context, input, dir, from, to string) (Text, error) {
	return p.run(ctx, p.translator, dir, input, map[string]string{"{input}": input, "{from}": from, "{to}": to})
}

// run runs a command, whose arguments name things in braces, and reads what it has written.
func (p *Programs) run(ctx context.Context, command []string, dir, input string, names map[string]string) (Text, error) {
	output := filepath.Join(dir, outputFile)
	pairs := []string{"{output}", output}
	for name, value := range names {
		pairs = append(pairs, name, value)
	}
	args := make([]string, len(command)-1)
	for i, arg := range command[1:] {
		args[i] = strings.NewReplacer(pairs...).Replace(arg)
	}
	limited, cancel := context.WithTimeoutCause(ctx, p.config.Timeout, ErrTimeout)
	defer cancel()
	policy := sandbox.Policy{
		Read: []string{input}, Folders: p.config.Paths, WriteDir: dir, Memory: p.config.Memory, FileSize: maxSpace, Space: maxSpace,
		Files: maxFiles, Threads: maxThreads, Nice: p.config.Nice,
	}
	if err := p.execute(limited, policy, dir, command[0], args); err != nil {
		return Text{}, err
	}
	return read(output)
}

// execute runs a program to its end. The kernel kills it when the thread that started it ends, so this goroutine keeps its
// thread.
func (p *Programs) execute(ctx context.Context, policy sandbox.Policy, dir, program string, args []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	child := p.sandbox.Command(ctx, policy, program, args...)
	said := &lastWords{}
	child.Cmd.Dir, child.Cmd.Stdout, child.Cmd.Stderr = dir, said, said
	err := child.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, sandbox.ErrMemory), errors.Is(err, sandbox.ErrThreads), errors.Is(err, sandbox.ErrFolder):
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	return fmt.Errorf("run %s: %w: %s", filepath.Base(program), err, said)
}

// lastWords keeps the end of what a program prints.
type lastWords struct{ kept []byte }

// Write implements io.Writer.
func (l *lastWords) Write(b []byte) (int, error) {
	l.kept = append(l.kept, b...)
	if over := len(l.kept) - maxStderr; over > 0 {
		l.kept = bytes.Clone(l.kept[over:])
	}
	return len(b), nil
}

func (l *lastWords) String() string {
	return strings.ToValidUTF8(strings.TrimSpace(string(l.kept)), "?")
}

// languageLine is how a head of WebVTT names the language.
var languageLine = regexp.MustCompile(`(?i)^Language:\s*([A-Za-z0-9_-]{2,35})\s*$`)

// read reads what a program has written, which may be anything: also a link to somewhere else, or without an end.
func read(path string) (Text, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Text{}, fmt.Errorf("%w: it wrote nothing to {output}", ErrOutput)
	}
	if err != nil {
		return Text{}, fmt.Errorf("read the output: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > webvtt.MaxSize {
		return Text{}, fmt.Errorf("%w: it is no file, or larger than %d MiB", ErrOutput, webvtt.MaxSize>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return Text{}, fmt.Errorf("read the output: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, webvtt.MaxSize))
	if err != nil {
		return Text{}, fmt.Errorf("read the output: %w", err)
	}
	cues, err := webvtt.ParseForgiving(text)
	if err != nil {
		return Text{}, fmt.Errorf("%w: %w", ErrOutput, err)
	}
	if words := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff"))); len(cues) == 0 && len(words) > 0 && !bytes.HasPrefix(words, []byte("WEBVTT")) {
		return Text{}, fmt.Errorf("%w: it begins with %.40q", ErrOutput, words)
	}
	return Text{Cues: cues, Language: languageIn(text)}, nil
}

// languageIn returns the language that the head of a WebVTT file names.
func languageIn(text []byte) string {
	head, _, _ := strings.Cut(strings.ReplaceAll(string(text[:min(len(text), 1<<10)]), "\r\n", "\n"), "\n\n")
	if !strings.HasPrefix(strings.TrimPrefix(head, "\ufeff"), "WEBVTT") {
		return ""
	}
	for line := range strings.Lines(head) {
		if m := languageLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			return m[1]
		}
	}
	return ""
}
