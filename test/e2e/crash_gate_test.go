package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spool-video/spool/test/child"
)

// A run of ffmpeg or ffprobe is told from others by what it is asked to do.
const (
	inspectRun    = " -show_entries "
	encodeRun     = "/v0.mp4"
	audioRun      = " -c:a aac "
	thumbnailsRun = " -c:v mjpeg -q:v 3 "
	posterRun     = " -c:v mjpeg -q:v 4 "
	picturesRun   = " -c:v libwebp_anim "
	laterChunkRun = " -noaccurate_seek *-c:v libx264 " // any but the first chunk
)

// gate is a stand-in for ffmpeg and ffprobe. It notes the runs that fit a
// pattern and does with them what its deed says; all others pass.
type gate struct {
	t   testing.TB
	dir string
}

// What a gate does with a run that it has noted, in the language of the shell.
// None of them starts a process: a child of the shell would outlive it.
const (
	hold    = `if [ -p "$dir/closed" ]; then read -r line < "$dir/closed"; fi` // until open is called
	exitOne = `if [ -p "$dir/closed" ]; then echo "nobody knows what this means" >&2; exit 1; fi`
)

// newGate makes a gate for the runs whose arguments contain the pattern.
func newGate(t testing.TB, pattern, deed string) *gate {
	t.Helper()
	g := &gate{t: t, dir: t.TempDir()}
	if err := syscall.Mkfifo(filepath.Join(g.dir, "closed"), 0o600); err != nil {
		t.Fatalf("make gate: %v", err)
	}
	for _, tool := range []string{"ffmpeg", "ffprobe"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatalf("make gate: %v", err)
		}
		script := fmt.Sprintf("#!/bin/sh\ndir=%s\ncase \" $* \" in *%s*)\n\techo $$ >> \"$dir/runs\"\n\t%s ;;\nesac\nexec %s \"$@\"\n",
			g.dir, strings.ReplaceAll(pattern, " ", `\ `), deed, path)
		child.WriteProgram(t, g.path(tool), []byte(script))
	}
	return g
}

func (g *gate) path(name string) string { return filepath.Join(g.dir, name) }

// tools lets a server use the gate.
func (g *gate) tools() option {
	return func(s *server) {
		s.env["SPOOL_FFMPEG"], s.env["SPOOL_FFPROBE"] = g.path("ffmpeg"), g.path("ffprobe")
		s.env["SPOOL_SANDBOX"] = "off" // a shell cannot do its work in there
	}
}

// runs returns how many runs have come to the gate.
func (g *gate) runs() int {
	text, err := os.ReadFile(g.path("runs"))
	if err != nil && !os.IsNotExist(err) {
		g.t.Fatalf("look at the gate: %v", err)
	}
	return strings.Count(string(text), "\n")
}

// open lets later runs pass. Runs that wait already go on waiting.
func (g *gate) open() {
	g.t.Helper()
	if err := os.Remove(g.path("closed")); err != nil {
		g.t.Fatalf("open gate: %v", err)
	}
}

// release opens the gate for those that wait, too: they wait for somebody to
// write.
func (g *gate) release() {
	g.t.Helper()
	writer, err := os.OpenFile(g.path("closed"), os.O_RDWR, 0)
	if err != nil {
		g.t.Fatalf("open gate: %v", err)
	}
	defer writer.Close()
	g.open()
}

func parseJSON(line string, v any) bool { return json.Unmarshal([]byte(line), v) == nil }
