package abuse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/child"
	"github.com/spool-video/spool/test/rig"
)

const (
	apiKey       = "abuse-bootstrap-key-0123456789abcdef"
	startTimeout = time.Minute
	memoryLimit  = 300 << 20
)

// server is a running Spool.
type server struct {
	t       *testing.T
	dataDir string
	env     []string
	files   int // that it may have open; 0: as many as this process
	url     string

	cmd      *exec.Cmd
	out, log *rig.Transcript
	exited   <-chan struct{}
}

// start runs a server with more settings, such as "SPOOL_RATE_LIMIT=50", and waits until it is ready.
func start(t *testing.T, env ...string) *server {
	t.Helper()
	return startIn(t, filepath.Join(t.TempDir(), "data"), env...)
}

func startIn(t *testing.T, dataDir string, env ...string) *server {
	t.Helper()
	return startLimited(t, dataDir, 0, env...)
}

// startLimited is startIn for a server that may have so many files open.
func startLimited(t *testing.T, dataDir string, files int, env ...string) *server {
	t.Helper()
	s := &server{t: t, files: files, dataDir: dataDir, log: new(rig.Transcript), env: append([]string{
		"SPOOL_LISTEN=127.0.0.1:0", "SPOOL_API_KEY=" + apiKey, "SPOOL_MEASURE_QUALITY=false", "SPOOL_PICTURES=false", "SPOOL_FFMPEG_NICE=0",
	}, env...)}
	s.launch()
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the end of the server's log:\n%s", s.log.Tail(8))
		}
	})
	return s
}

// command returns a run of the program on the server's data directory.
func (s *server) command(args ...string) *exec.Cmd {
	cmd := exec.Command(lab.binary, args...)
	cmd.Dir = s.t.TempDir() // so that no spool.toml is found by chance
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SPOOL_DATA_DIR=" + s.dataDir}, s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

var announcement = regexp.MustCompile(`Spool listens on (http://\S+)`)

// launch starts the process and waits until it is ready.
func (s *server) launch() {
	s.t.Helper()
	s.out, s.cmd = new(rig.Transcript), s.command("serve")
	if s.files > 0 { // prlimit becomes the server
		prlimit := exec.Command("prlimit", fmt.Sprintf("--nofile=%d:%[1]d", s.files), lab.binary)
		s.cmd.Path, s.cmd.Args, s.cmd.Err = prlimit.Path, append(prlimit.Args, s.cmd.Args[1:]...), prlimit.Err
	}
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.log
	var err error
	if s.exited, err = child.Start(s.cmd, syscall.SIGKILL); err != nil {
		s.t.Fatalf("start spool: %v", err)
	}
	until(s.t, "the server to be ready", startTimeout, func() bool {
		select {
		case <-s.exited:
			s.t.Fatalf("the server has died: %v\n%s", s.cmd.ProcessState, s.log.Tail(20))
		default:
		}
		m := announcement.FindStringSubmatch(s.out.String())
		if m == nil {
			return false
		}
		s.url = m[1]
		return statusOf(s.url+"/readyz") == http.StatusOK
	})
}

// kill ends the server as a power cut would.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may be gone already
	<-s.exited
}

// newKey makes an API key and returns a client that has it.
func (s *server) newKey(tenant string, scopes ...string) *client {
	s.t.Helper()
	args := []string{"keys", "create", "--json", "--name=abuse", "--tenant=" + tenant}
	if len(scopes) > 0 {
		args = append(args, "--scopes="+strings.Join(scopes, ","))
	}
	var k struct{ Key string }
	if err := json.Unmarshal([]byte(s.cli(args...)), &k); err != nil {
		s.t.Fatal(err)
	}
	return newClient(s.t, s.url, k.Key)
}

// cli runs another command of the program beside the server.
func (s *server) cli(args ...string) string {
	s.t.Helper()
	cmd := s.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("spool %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// peakMemory returns the most memory that the server has held so far, in bytes.
func (s *server) peakMemory() int64 {
	s.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			if err != nil {
				s.t.Fatalf("read %q: %v", line, err)
			}
			return kib << 10
		}
	}
	s.t.Fatal("the kernel does not tell a process's peak of memory")
	return 0
}

// memoryHolds records that the server stayed within its memory.
func (s *server) memoryHolds(o *outcome) {
	s.t.Helper()
	peak := s.peakMemory()
	o.holds(peak < memoryLimit, fmt.Sprintf("server memory below %d MiB", memoryLimit>>20), "%d MiB", peak>>20)
}

// stored returns how many bytes of objects and scratch files there are.
func (s *server) stored() (bytes int64) {
	for _, dir := range []string{"objects", "scratch", "incoming"} {
		_ = filepath.Walk(filepath.Join(s.dataDir, dir), func(_ string, fi os.FileInfo, err error) error {
			if err == nil && fi.Mode().IsRegular() {
				bytes += fi.Size()
			}
			return nil // files come and go
		})
	}
	return bytes
}

// until waits for a condition that nothing signals.
func until(t *testing.T, what string, limit time.Duration, reached func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !reached() {
		if time.Since(began) > limit {
			t.Fatalf("waited %s in vain for %s", limit, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return time.Since(began)
}

// statusOf returns the status of a GET, or 0.
func statusOf(url string) int {
	res, err := http.Get(url)
	if err != nil {
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}
