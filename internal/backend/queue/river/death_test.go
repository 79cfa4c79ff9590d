package river_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// workerVariable makes this test binary a worker on the database it names.
const workerVariable = "SPOOL_TEST_RIVER_WORKER"

// beatVariable is the heartbeat interval of such a worker.
const beatVariable = "SPOOL_TEST_RIVER_BEAT"

// workTime is how long a task takes on such a worker.
const workTime = 10 * time.Second

func TestMain(m *testing.M) {
	if address := os.Getenv(workerVariable); address != "" {
		if err := workElsewhere(context.Background(), address); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		return
	}
	// Each random check of the contract makes a database, and a server process
	// for each connection. More of them on demand: -rapid.checks=500.
	if err := flag.Set("rapid.checks", "12"); err != nil {
		panic(err)
	}
	os.Exit(pgtest.Run(m))
}

// workElsewhere works on tasks until its input ends, and says what happens.
func workElsewhere(ctx context.Context, address string) error {
	st, err := store.OpenPostgres(ctx, address)
	if err != nil {
		return err
	}
	beat, _ := time.ParseDuration(os.Getenv(beatVariable)) // zero is fine
	q, err := river.Open(ctx, st, river.Options{Heartbeat: beat})
	if err != nil {
		return err
	}
	err = q.Start(ctx, queue.Encoding(1, func(ctx context.Context, t queue.Task) error {
		fmt.Println("began", t, t.Attempt)
		select {
		case <-time.After(workTime):
		case <-ctx.Done(): // which it ignores, as the end of a program may come too late
			fmt.Println("stopped", context.Cause(ctx))
		}
		counted, err := finish(context.WithoutCancel(ctx), st, t)
		fmt.Println("counted", counted, err)
		return err
	}))
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return q.Stop(ctx)
}

// finish records a result as the service does. It reports whether it counts.
func finish(ctx context.Context, st *store.Store, t queue.Task) (counted bool, err error) {
	err = st.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, t.Video); err != nil {
			return err
		}
		counted, err = tx.FinishStep(ctx, t.Video, store.Step{Kind: string(t.Kind), Number: t.Number, Frames: 1}, time.Now())
		return err
	})
	return counted, err
}

// plan stores a video with n steps to encode.
func (m *machine) plan(n int) {
	m.Helper()
	ctx := m.Context()
	m.tx(func(tx *store.Tx) error {
		v := video.Video{ID: someVideo, Tenant: video.DefaultTenant, Filename: "someVideo.mp4", ContentType: "video/mp4",
			Status: video.Processing, CreatedAt: time.Now(), UploadExpiresAt: time.Now()}
		if err := tx.InsertVideo(ctx, v); err != nil {
			return err
		}
		var steps []store.Step
		for i := range n {
			steps = append(steps, store.Step{Kind: string(queue.Encode), Number: i})
		}
		return tx.InsertSteps(ctx, someVideo, steps)
	})
}

// process is a worker in a process of its own.
type process struct {
	testing.TB
	cmd   *exec.Cmd
	lines chan string
}

func startProcess(t testing.TB, address string, beat time.Duration) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{TB: t, cmd: exec.Command(self), lines: make(chan string, 100)}
	p.cmd.Env = append(os.Environ(), workerVariable+"="+address, beatVariable+"="+beat.String())
	p.cmd.Stderr = t.Output()
	stdin, err := p.cmd.StdinPipe() // it ends with this process
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		stdin.Close()
		_ = p.cmd.Process.Kill() // most have been killed already
		<-read
		_ = p.cmd.Wait()
	})
	return p
}

func (p *process) says(want string) {
	p.Helper()
	select {
	case line := <-p.lines:
		if !strings.HasPrefix(line, want) {
			p.Fatalf("the other process says %q, want %q", line, want)
		}
	case <-time.After(testTimeout):
		p.Fatalf("the other process does not say %q", want)
	}
}

func (p *process) signal(sig syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.Fatal(err)
	}
}

// rescued waits until a task that another process has left runs here, and checks
// that it took no longer than it may.
func (m *machine) rescued(left time.Time, limit time.Duration) *act {
	m.Helper()
	select {
	case a := <-m.begun:
		took := time.Since(left)
		m.Logf("%s runs again after %.1f s, attempt %d", a, took.Seconds(), a.Attempt)
		if took > limit {
			m.Errorf("the task ran again after %v, want %v at most", took, limit)
		}
		return a
	case <-time.After(limit + testTimeout):
		m.Fatal("the task did not run again")
		return nil
	}
}

// rescueFrom returns another process that works on a task, and a machine that is
// ready to take it over.
func rescueFrom(t *testing.T, beat time.Duration) (*machine, *process) {
	t.Helper()
	address := migrated.Fresh(t)
	m := newMachine(t, address, river.Options{Heartbeat: beat})
	m.plan(1)
	p := startProcess(t, address, beat)
	m.enqueue(encode(0))
	p.says("began " + encode(0).String() + " 1")
	m.work(1)
	return m, p
}

func TestTaskOfAKilledWorkerRunsAgain(t *testing.T) {
	t.Parallel()
	m, p := rescueFrom(t, 500*time.Millisecond)
	p.signal(syscall.SIGKILL)
	a := m.rescued(time.Now(), 10*time.Second)
	if counted, err := finish(t.Context(), m.store, a.Task); !counted || err != nil {
		t.Errorf("the result counts: %t, %v", counted, err)
	}
	a.end <- nil
	m.drained()
}

// A worker that was stopped for longer than it may be silent comes back. It
// learns that its task is another's, and nothing it still does about it counts
// twice or disturbs the other.
func TestStoppedWorkerComesBack(t *testing.T) {
	t.Parallel()
	const beat = 500 * time.Millisecond
	m, p := rescueFrom(t, beat)
	p.signal(syscall.SIGSTOP)
	a := m.rescued(time.Now(), testTimeout)
	p.signal(syscall.SIGCONT)
	p.says("stopped " + queue.ErrCancelled.Error())
	// Both have worked on the same task. The one that came back is first to end.
	p.says("counted true")
	time.Sleep(time.Second) // for whatever River may write about its end
	if stats, err := m.Stats(t.Context()); err != nil || stats[queue.Encode].Running != 1 {
		t.Errorf("stats %+v, %v; want the new attempt untouched by the end of the old one", stats, err)
	}
	if counted, err := finish(t.Context(), m.store, a.Task); counted || err != nil {
		t.Errorf("the second result counts: %t, %v; want one only", counted, err)
	}
	a.end <- nil
	m.drained()
}
