package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/test/child"
	"github.com/spool-video/spool/test/rig"
)

// node is one process of a fleet, over all its lives.
type node struct {
	t      testing.TB
	name   string
	dir    string // its data directory
	env    map[string]string
	binary string
	door   *door          // to the storage
	line   *pgtest.Proxy  // to the database; nil: straight
	log    rig.Transcript // of all its lives

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited <-chan struct{} // closed when the process has ended
	since  int             // where in the log the present life begins
	at     string          // where it listens, once it has said so
	out    string          // why the load balancer does not send requests here
}

// launch starts the process. It dies with the test.
func (n *node) launch() {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cmd = exec.Command(n.binary, "serve")
	n.cmd.Dir = filepath.Dir(n.dir) // so that no spool.toml is found by chance
	n.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SPOOL_DATA_DIR=" + n.dir}
	for name, value := range n.env {
		n.cmd.Env = append(n.cmd.Env, name+"="+value)
	}
	n.cmd.WaitDelay = 5 * time.Second
	n.cmd.Stderr = &n.log
	n.since, n.at, n.out = len(n.log.String()), "", "it is starting"
	var err error
	if n.exited, err = child.Start(n.cmd, syscall.SIGKILL); err != nil {
		n.t.Fatalf("start %s: %v", n.name, err)
	}
}

// start starts the process and waits until it is ready. One that gives up, as it
// does when the database is away, is started again, as a supervisor would.
func (n *node) start() {
	n.t.Helper()
	n.launch()
	until(n.t, n.name+" to be ready", waitLimit, func() bool {
		if n.dead() {
			time.Sleep(pause)
			n.launch()
		}
		return n.ready()
	})
}

// ready asks the process whether it is.
func (n *node) ready() bool { return n.readiness() == "" }

// readiness asks the process whether it is ready, and returns why it is not.
func (n *node) readiness() string {
	address := n.address()
	if address == "" {
		return "it does not listen"
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	r, err := send(ctx, http.MethodGet, address+"/readyz", nil, nil)
	switch {
	case err != nil:
		return err.Error()
	case r.status != http.StatusOK:
		return string(r.body)
	}
	return ""
}

// address is where the present life listens; "" when it has not said so yet.
func (n *node) address() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at != "" {
		return n.at // every request asks, and the log grows long
	}
	for line := range strings.Lines(n.log.String()[n.since:]) {
		var entry struct{ Msg, Listen string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "started" {
			n.at = "http://" + entry.Listen
			break
		}
	}
	return n.at
}

// dead reports whether the process has ended.
func (n *node) dead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.exited:
		return true
	default:
		return false
	}
}

// signal sends a signal to the process.
func (n *node) signal(sig syscall.Signal) {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		n.t.Fatalf("signal %s: %v", n.name, err)
	}
}

// kill ends the process as a power cut would, and waits until it is gone.
func (n *node) kill() {
	n.t.Helper()
	n.signal(syscall.SIGKILL)
	<-n.exited
}

// stop asks the process to end and wants it to do so without a fault.
func (n *node) stop() {
	n.t.Helper()
	n.signal(syscall.SIGTERM)
	select {
	case <-n.exited:
	case <-time.After(40 * time.Second):
		n.t.Fatalf("%s still runs 40 s after SIGTERM", n.name)
	}
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		n.t.Errorf("SIGTERM ended %s with %v; want exit code 0", n.name, n.cmd.ProcessState)
	}
}

// end is the last thing that happens to a node. It shows the log of a test that
// failed.
func (n *node) end() {
	if n.cmd == nil || n.cmd.Process == nil {
		return
	}
	_ = n.cmd.Process.Kill() // it may be gone already
	<-n.exited
	if n.t.Failed() {
		n.t.Logf("%s, which the load balancer leaves out because of %q, logged at its end:\n%s", n.name, n.out, n.log.Tail(40))
	}
}

// scratch lists what the process keeps in its scratch folder.
func (n *node) scratch() []string {
	entries, _ := os.ReadDir(filepath.Join(n.dir, "scratch")) // an API process has none
	var names []string
	for _, e := range entries {
		names = append(names, n.name+":"+e.Name())
	}
	return names
}

// family returns the process and all that it started.
func (n *node) family() []int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return descendants(n.cmd.Process.Pid)
}

func descendants(pid int) []int {
	all := []int{pid}
	children, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, file := range children {
		text, _ := os.ReadFile(file) // the thread may be gone
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, descendants(child)...)
			}
		}
	}
	return all
}
