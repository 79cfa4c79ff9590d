package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// job is a run of the go command, or a check.
type job struct {
	name string
	what string   // it runs
	args []string // of the go command
	env  []string
	// flags and packages of go test, instead of args.
	flags, packages []string
	// check, if set, is run instead of the go command. It returns what is wrong.
	check func(context.Context) (output string, err error)
	// then is another lane, which begins when the job has ended.
	then lane
	// niced has the job run when nothing else wants to.
	niced bool
}

// aside returns the job as one that lets all others go first.
func (j job) aside() job {
	j.niced = true
	return j
}

// run runs the job and tells the report.
func (j job) run(ctx context.Context, r *report) {
	began := time.Now()
	var output string
	var err error
	switch {
	case j.check != nil:
		output, err = j.check(ctx)
	case j.packages != nil:
		j.runTests(ctx, r)
		return
	default:
		var out []byte
		cmd := command(ctx, j.args, j.env)
		if j.niced {
			standBack(cmd)
		}
		out, err = cmd.CombinedOutput()
		output = string(out)
		r.spent(j.name, j.what, cmd.ProcessState)
	}
	if err != nil {
		r.failed(j.name, j.what, time.Since(began), fmt.Sprintf("%s%v\n", output, err))
		return
	}
	r.passed(j.name, j.what, time.Since(began))
}

// runTests runs go test and passes on what it tells.
func (j job) runTests(ctx context.Context, r *report) {
	began, t := time.Now(), newTranscript(j)
	cmd := command(ctx, slices.Concat([]string{"test", "-json", "-vet=off", "-ldflags=-s -w"}, j.flags, j.packages), j.env)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	fail := func(err error) {
		r.failed(j.name, j.what, time.Since(began), fmt.Sprintf("%s%v\n", stderr.String(), err))
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fail(err)
		return
	}
	failures := r.read(t, stdout)
	if err := cmd.Wait(); err != nil && failures == 0 {
		fail(err)
	}
	r.spent(j.name, j.what, cmd.ProcessState)
}

// read passes on the events of a run until they end, and returns how many
// packages failed.
func (r *report) read(t *transcript, stdout io.Reader) (failures int) {
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			r.add(t, e)
			if e.Action == "fail" && e.Test == "" {
				failures++
			}
		}
		if err != nil {
			return failures
		}
	}
}

// command prepares a run of the go command. When the context ends, all that it has
// started hear of it, too: go run and go test do not pass a signal on.
func command(ctx context.Context, args, env []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("GO"), "go"), args...)
	cmd.Env = append(environment(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// environment is the caller's, without their settings for AWS: a test that asks for none must not find
// somebody's account or endpoint.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "AWS_") })
}

// standBack has a command run with the lowest priority, where that can be chosen.
func standBack(cmd *exec.Cmd) {
	if nice, err := exec.LookPath("nice"); err == nil && cmd.Err == nil {
		cmd.Args = append([]string{nice, "-n", "19", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = nice
	}
}

// formatted wants every Go file to be as gofmt writes it.
func formatted(ctx context.Context) (string, error) {
	files, err := exec.CommandContext(ctx, "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go").Output()
	if err != nil {
		return "", fmt.Errorf("git ls-files: %w", err)
	}
	var present []string
	for _, file := range strings.Fields(string(files)) {
		if _, err := os.Stat(file); err == nil {
			present = append(present, file)
		}
	}
	out, err := exec.CommandContext(ctx, "gofmt", append([]string{"-l"}, present...)...).CombinedOutput()
	if err == nil && len(out) > 0 {
		err = fmt.Errorf("not formatted: run gofmt -w")
	}
	return string(out), err
}
