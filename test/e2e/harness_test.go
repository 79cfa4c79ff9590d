// Package e2e tests Spool as its users meet it: the built program, started as a
// process of its own, spoken to over HTTP, with the real ffmpeg behind it.
package e2e

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/child"
	"github.com/spool-video/spool/test/rig"
)

const (
	// apiKey is the bootstrap key of every server.
	apiKey = "e2e-bootstrap-key-0123456789abcdef"
	// startTimeout bounds how long a server may take until it answers. It is generous, as is the next one.
	startTimeout = 2 * time.Minute
	// readyTimeout bounds how long the processing of a clip may take. A loaded machine is slow, a stuck queue is stuck forever.
	readyTimeout = 2 * time.Minute
	// pollPause is how long the tests wait between two polls of the same thing.
	pollPause = 50 * time.Millisecond
)

// lab is what the tests of one run share. TestMain sets it once.
var lab struct {
	dir    string // removed at the end
	binary string
	clips  rig.ClipCache
}

func TestMain(m *testing.M) {
	os.Exit(rig.Run(m, func(dir, binary string) func() {
		lab.dir, lab.binary = dir, binary
		overlapWaits()
		return closeShared
	}, "-tags", "crashtest"))
}

// server is a running Spool. Its methods end the test when something that the
// caller takes for granted does not happen.
type server struct {
	t       testing.TB
	dataDir string
	env     map[string]string
	binary  string // another version of the program; empty: the one that is tested
	url     string // without a slash at its end
	key     string // what call sends
	tenant  string // whose the key is; on a shared server only

	objectsDir string // holds the objects as files, whatever the storage
	bucket     bucket // on S3

	cmd    *exec.Cmd
	out    *rig.Transcript // what it printed
	log    *rig.Transcript // its log, of all its lives
	exited <-chan struct{} // closed when the process has ended
}

// option changes how a server is started.
type option func(*server)

// withEnv sets an environment variable of the server; an empty value unsets it.
func withEnv(name, value string) option {
	return func(s *server) { s.env[name] = value }
}

// measured has outputs made with the usual quality and compared with their sources, as
// a server does unless it is told otherwise.
func measured() option {
	return func(s *server) { s.env["SPOOL_MEASURE_QUALITY"], s.env["SPOOL_QUALITY"] = "", "" }
}

// pictured has storyboards and previews made, which most tests do not look at.
func pictured() option { return withEnv("SPOOL_PICTURES", "") }

// withDataDir lets the server work on a data directory of the caller's.
func withDataDir(dir string) option {
	return func(s *server) { s.dataDir = dir }
}

// start runs a server and waits until it is ready. It ends with the test.
func start(t testing.TB, options ...option) *server {
	t.Helper()
	s := prepare(t, options...)
	s.launch()
	s.waitReadyz()
	return s
}

// prepare returns a server that does not run yet: launch starts it without
// waiting for it to be ready.
func prepare(t testing.TB, options ...option) *server {
	t.Helper()
	s := &server{t: t, key: apiKey, log: new(rig.Transcript), env: map[string]string{
		"SPOOL_LISTEN":    "127.0.0.1:0",
		"SPOOL_API_KEY":   apiKey,
		"SPOOL_LOG_LEVEL": "debug",
		// Comparing every output with its source takes a third of the work, and good
		// compression much of the rest. Tests that want them say so.
		"SPOOL_MEASURE_QUALITY": "false",
		"SPOOL_PICTURES":        "false",
		"SPOOL_COPY_SOURCE":     "never",
		"SPOOL_QUALITY":         "fast",
		// All tests run side by side: an ffmpeg that stands back for the others would not get far.
		"SPOOL_FFMPEG_NICE": "0",
	}}
	for _, o := range options {
		o(s)
	}
	if s.dataDir == "" {
		s.dataDir = filepath.Join(t.TempDir(), "data")
	}
	s.objectsDir = filepath.Join(s.dataDir, "objects")
	if onFleet() {
		s.useFleet()
	}
	t.Cleanup(s.end)
	return s
}

// in returns the server for use in a subtest: what is taken for granted there
// then ends the subtest.
func (s *server) in(t testing.TB) *server {
	other := *s
	other.t = t
	return &other
}

// launch starts the process. Everything that it starts dies with it, and it
// dies with the test.
func (s *server) launch() {
	s.t.Helper()
	s.out = new(rig.Transcript)
	s.cmd = s.command("serve")
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.log
	var err error
	if s.exited, err = child.Start(s.cmd, syscall.SIGKILL); err != nil {
		s.t.Fatalf("start spool: %v", err)
	}
}

// command returns a run of the program on the server's data directory.
func (s *server) command(args ...string) *exec.Cmd {
	cmd := exec.Command(cmp.Or(s.binary, lab.binary), args...)
	cmd.Dir = s.t.TempDir() // so that no spool.toml is found by chance
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SPOOL_DATA_DIR=" + s.dataDir}
	for name, value := range s.env {
		if value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also where launch does not start it
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

var announcement = regexp.MustCompile(`Spool listens on (http://\S+)`)

// waitReadyz waits until the server has said where it listens and answers there.
func (s *server) waitReadyz() {
	s.t.Helper()
	s.until("the server to be ready", startTimeout, func() bool {
		s.mustRun()
		m := announcement.FindStringSubmatch(s.out.String())
		if m == nil {
			return false
		}
		s.url = m[1]
		res, err := http.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// mustRun ends the test when the server has died.
func (s *server) mustRun() {
	s.t.Helper()
	select {
	case <-s.exited:
		s.t.Fatalf("the server has died: %v", s.cmd.ProcessState)
	default:
	}
}

// mustBeOwn ends a test that would stop the server of others.
func (s *server) mustBeOwn() {
	s.t.Helper()
	if s.tenant != "" {
		s.t.Fatal("this server is shared: a test that stops its server starts its own")
	}
}

// kill ends the server as a power cut would, and waits until it is gone.
func (s *server) kill() {
	s.t.Helper()
	s.mustBeOwn()
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatalf("kill spool: %v", err)
	}
	<-s.exited
}

// stop asks the server to end, wants it to do so without a fault, and returns
// how long that took.
func (s *server) stop() time.Duration {
	s.t.Helper()
	s.mustBeOwn()
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatalf("stop spool: %v", err)
	}
	s.waitExit(30 * time.Second)
	took := time.Since(began)
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Fatalf("SIGTERM ended the server with %v; want exit code 0", s.cmd.ProcessState)
	}
	return took
}

// waitExit waits until the server has ended by itself, however it did.
func (s *server) waitExit(limit time.Duration) *os.ProcessState {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(limit):
		s.t.Fatalf("the server still runs after %s", limit)
	}
	return s.cmd.ProcessState
}

// restart starts the server again on the same data directory, with changed
// options if there are any, and waits until it is ready. A server that still
// runs is killed first.
func (s *server) restart(options ...option) {
	s.t.Helper()
	s.kill()
	for _, o := range options {
		o(s)
	}
	s.launch()
	s.waitReadyz()
}

// end is the last thing that happens to a server. It shows the log of a test
// that failed.
func (s *server) end() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may be gone already
	<-s.exited
	if s.t.Failed() {
		s.t.Logf("the end of the server's log:\n%s", s.log.Tail(60))
	}
}

// cli runs another command of the program beside the server, such as "keys
// list", wants it to succeed and returns what it printed.
func (s *server) cli(args ...string) string {
	s.t.Helper()
	out, err := s.command(args...).Output()
	if err != nil {
		detail := ""
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			detail = string(exit.Stderr)
		}
		s.t.Fatalf("spool %s: %v\n%s", strings.Join(args, " "), err, detail)
	}
	return string(out)
}

// until waits for a condition that nothing signals.
func (s *server) until(what string, limit time.Duration, reached func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	// What did not happen soon takes a while: asking 20 times a second would be much
	// of the work of a busy machine.
	for pause := pollPause / 2; !reached(); pause = min(pause*5/4, 4*pollPause) {
		select {
		case <-ctx.Done():
			s.t.Fatalf("waited %s in vain for %s", limit, what)
		case <-time.After(pause):
		}
	}
}
