package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

// waitLimit is how long a file may occupy an examiner. It is longer than any
// limit that a run of a short video can reach.
const waitLimit = 10 * time.Minute

// Ways in which an examiner ends that are our fault, whatever the file.
var (
	errOurCrash = errors.New("our own program crashed")
	errHang     = errors.New("the file held a worker up for longer than any limit allows")
)

// examiner is a running process of that role.
type examiner struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	said   *bytes.Buffer
	answer chan verdict // closed when the process has ended
}

// newExaminer starts an examiner, which ends with ctx. env is added to its
// environment.
func newExaminer(ctx context.Context, mode sandbox.Mode, env ...string) (*examiner, error) {
	e := &examiner{cmd: exec.CommandContext(ctx, "/proc/self/exe"), said: new(bytes.Buffer), answer: make(chan verdict)}
	e.cmd.Env = append(append(os.Environ(), roleVariable+"="+string(mode)), env...)
	e.cmd.Stderr = e.said
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	e.cmd.WaitDelay = time.Second
	var err error
	if e.orders, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	answers, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start an examiner: %w", err)
	}
	go e.listen(ctx, answers)
	return e, nil
}

func (e *examiner) listen(ctx context.Context, answers io.Reader) {
	defer close(e.answer)
	d := json.NewDecoder(answers)
	for {
		var v verdict
		if d.Decode(&v) != nil {
			return
		}
		select {
		case e.answer <- v:
		case <-ctx.Done():
			return
		}
	}
}

// examine has one file examined. After an error the examiner is gone.
func (e *examiner) examine(o order) (verdict, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return verdict{}, err
	}
	// An examiner that has died does not answer either, which is seen below.
	_, _ = e.orders.Write(append(b, '\n'))
	select {
	case v, alive := <-e.answer:
		if alive {
			return v, nil
		}
		err := e.cmd.Wait()
		return verdict{}, fmt.Errorf("%w: %v\n%.4000s", errOurCrash, err, e.said)
	case <-time.After(waitLimit):
		e.close()
		return verdict{}, errHang
	}
}

// close ends the examiner with all that it has started.
func (e *examiner) close() {
	_ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL) // it may be gone already
	_ = e.cmd.Wait()
}

// startExaminer starts an examiner, which ends with the test.
func startExaminer(t *testing.T, mode sandbox.Mode) *examiner {
	t.Helper()
	e, err := newExaminer(context.WithoutCancel(t.Context()), mode)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.close)
	return e
}

// mustExamine is examine for a test that cannot go on without a verdict.
func (e *examiner) mustExamine(t *testing.T, o order) verdict {
	t.Helper()
	v, err := e.examine(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
