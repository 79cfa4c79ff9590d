package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// shelf keeps the clips that were made, so that each is made once.
type shelf struct {
	mu    sync.Mutex
	clips map[string]func() error
}

// Sources that ffmpeg makes up: a moving picture with a clock in it, and a tone.
const (
	miniClip   = "mini.mp4"   // 160x120, half a second, with sound: for tests that are not about pictures
	tinyClip   = "tiny.mp4"   // 640x360, 2 s, 25 fps, with sound
	middleClip = "middle.mp4" // 640x360, 8 s, 25 fps, with sound
	longClip   = "long.mp4"   // 160x120, 65 s, open GOPs and B-frames, with sound: several chunks
)

// recipes say how clips are made: the arguments of ffmpeg before the output.
var recipes = map[string]string{
	miniClip: "-f lavfi -i testsrc2=size=160x120:rate=10 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 0.5 " +
		"-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac",
	tinyClip: "-f lavfi -i testsrc2=size=640x360:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 2 " +
		"-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac",
	middleClip: "-f lavfi -i testsrc2=size=640x360:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 8 " +
		"-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac",
	longClip: "-f lavfi -i testsrc2=size=160x120:rate=25 -f lavfi -i sine=frequency=440:sample_rate=48000 -t 65 " +
		"-c:v libx264 -preset veryfast -bf 3 -g 50 -x264-params open-gop=1 -pix_fmt yuv420p -c:a aac",
}

// clip returns the path of a clip by its name in recipes.
func clip(t *testing.T, name string) string {
	t.Helper()
	recipe, ok := recipes[name]
	if !ok {
		t.Fatalf("no clip is called %q", name)
	}
	path := filepath.Join(lab.dir, name)
	if err := lab.clips.once(name, func() error { return runFFmpeg(append(strings.Fields(recipe), path)...) }); err != nil {
		t.Fatalf("make clip %s: %v", name, err)
	}
	return path
}

// once makes a clip unless it is there already; callers that come meanwhile wait.
func (s *shelf) once(name string, makeIt func() error) error {
	s.mu.Lock()
	if s.clips == nil {
		s.clips = map[string]func() error{}
	}
	if s.clips[name] == nil {
		s.clips[name] = sync.OnceValue(makeIt)
	}
	made := s.clips[name]
	s.mu.Unlock()
	return made()
}

// runFFmpeg runs ffmpeg to its end; the error carries what it said.
func runFFmpeg(args ...string) error {
	_, err := output("ffmpeg", append([]string{"-nostdin", "-hide_banner", "-v", "error", "-y"}, args...)...)
	return err
}

// output runs a program and returns what it printed.
func output(name string, args ...string) (string, error) {
	printed, _, err := run(name, args...)
	return printed, err
}

// run runs a program and returns what it printed and what it said on stderr.
func run(name string, args ...string) (printed, said string, err error) {
	cmd := exec.Command(name, args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", "", &toolError{name: name, err: err, said: stderr.String()}
	}
	return stdout.String(), stderr.String(), nil
}

// toolError is a program that failed.
type toolError struct {
	name, said string
	err        error
}

func (e *toolError) Error() string { return e.name + ": " + e.err.Error() + ": " + e.said }

func (e *toolError) Unwrap() error { return e.err }
