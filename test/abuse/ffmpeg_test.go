package abuse

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// attackFromFFmpeg replaces ffmpeg by programs that do what a file might have made it do.
func attackFromFFmpeg(t *testing.T, o *outcome) {
	t.Run("kinds", func(t *testing.T) {
		for _, kind := range hostileKinds {
			t.Run(kind.name, func(t *testing.T) {
				t.Parallel()
				o := &outcome{t: t, report: o.report, attack: o.attack + ": " + kind.what}
				runHostile(t, o, kind.name)
			})
		}
	})
}

func runHostile(t *testing.T, o *outcome, kind string) {
	s := start(t, "SPOOL_FFMPEG="+hostileProgram(t, kind), "SPOOL_WORKERS=1")
	alice := s.newKey("alice")
	u := alice.submit(`["144p"]`, `,"thumbnailTimestampsSeconds":[0]`, smallClip(t))
	seen := &children{server: s.cmd.Process.Pid}
	end := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { seen.watch(s, end) })
	began := time.Now()
	v := alice.read(u.ID)
	for v.Status == "processing" && time.Since(began) < 8*time.Minute {
		time.Sleep(200 * time.Millisecond)
		v = alice.read(u.ID)
	}
	took := time.Since(began)
	close(end)
	watching.Wait()
	code := "no code"
	if v.Failure != nil {
		code = v.Failure.Code
	}
	o.holds(v.Status == "fail" && v.Failure != nil, "it is killed, and the video fails with a code",
		"%s %s after %.0f s; ffmpeg had %d threads, %d MiB of memory and %d MiB of files", v.Status, code, took.Seconds(), seen.threads, seen.memory>>20, seen.files>>20)
	until(t, "the hostile program to be gone", time.Minute, func() bool { n, _ := seen.look(); return n == 0 })
	s.memoryHolds(o)
}

// hostileProgram returns this test binary under a name that makes it hostile.
func hostileProgram(t *testing.T, kind string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(lab.dir, hostilePrefix+kind)
	if out, err := exec.Command("cp", self, path).CombinedOutput(); err != nil {
		t.Fatalf("copy the test binary: %v: %s", err, out)
	}
	return path
}

// children are the programs that a server has started, and the most that they had.
type children struct {
	server        int
	threads       int
	memory, files int64
}

func (c *children) watch(s *server, end <-chan struct{}) {
	for {
		_, _ = c.look()
		c.files = max(c.files, s.stored())
		select {
		case <-end:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// look counts the children, and how much they have.
func (c *children) look() (count int, memory int64) {
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	threads := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil || field(b, "PPid") != int64(c.server) {
			continue
		}
		count++
		threads += int(field(b, "Threads"))
		memory += field(b, "VmRSS") << 10
	}
	c.threads, c.memory = max(c.threads, threads), max(c.memory, memory)
	return count, memory
}

// field returns a number of /proc/PID/status.
func field(status []byte, name string) int64 {
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			return n
		}
	}
	return 0
}

// argumentPaths are the files that ffmpeg was told to write.
func argumentPaths(args []string) (paths []string) {
	for i, arg := range args {
		if path, ok := strings.CutPrefix(arg, "file:"); ok && (i == 0 || args[i-1] != "-i") {
			paths = append(paths, path)
		}
	}
	return paths
}

// sayProgress tells the server that all goes well, for ever.
func sayProgress() {
	for n := 1; ; n++ {
		fmt.Printf("frame=%d\nout_time_us=%d\nprogress=continue\n", n, n*1000)
		time.Sleep(time.Second)
	}
}
