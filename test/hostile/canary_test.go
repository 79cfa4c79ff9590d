package hostile

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// canary is what nobody may reach: two films of somebody else and an address on
// which somebody listens. It notices every open of the files and every
// connection.
type canary struct {
	Bait
	events int // a file of inotify
	calls  atomic.Int32
}

// newCanary puts a canary next to a job: one film lies beside the file of the
// job, the other one is somewhere else.
func newCanary(t *testing.T, o order) *canary {
	t.Helper()
	c := &canary{Bait: Bait{File: filepath.Join(t.TempDir(), "other.mp4"), Neighbour: "neighbour.mp4"}}
	var err error
	if c.events, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(c.events) })
	film := canaryFilm(t)
	for _, path := range []string{c.File, filepath.Join(filepath.Dir(o.Source), c.Neighbour)} {
		if err := os.WriteFile(path, film, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.InotifyAddWatch(c.events, path, unix.IN_OPEN|unix.IN_ACCESS); err != nil {
			t.Fatal(err)
		}
	}
	c.listen(t)
	return c
}

func (c *canary) listen(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c.Address = l.Addr().String()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.calls.Add(1)
			conn.Close()
		}
	}()
}

// touched reports how the canary was reached since the last call, or "".
// The kernel tells of an open before the one who opens a file can go on, so
// nothing is missed when that process has ended.
func (c *canary) touched() string {
	var b [4096]byte
	n, err := unix.Read(c.events, b[:])
	switch {
	case err == nil && n > 0:
		return "its film was opened"
	case err != nil && !errors.Is(err, unix.EAGAIN):
		return "it fell asleep: " + err.Error()
	case c.calls.Swap(0) > 0:
		return "its address was called"
	}
	return ""
}

// canaryFilm is a film of one colour that no other film here has.
func canaryFilm(t *testing.T) []byte {
	t.Helper()
	film, err := paintedOnce()
	if err != nil {
		t.Fatal(err)
	}
	return film
}

var paintedOnce = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "spool-canary-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "canary.mp4")
	_, err = tool("ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "color=0xff00ff:size=64x64:rate=10:duration=1",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-movflags", "+faststart", path)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// showsCanary reports whether a picture of a file has the canary's colour.
func showsCanary(file string) (bool, error) {
	pixels, err := tool("ffmpeg", "-v", "error", "-nostdin", "-i", file, "-map", "0:v", "-vf", "scale=1:1,format=rgb24", "-f", "rawvideo", "-")
	for i := 0; i+3 <= len(pixels); i += 3 {
		if pixels[i] > 200 && pixels[i+1] < 50 && pixels[i+2] > 200 {
			return true, err
		}
	}
	return false, err
}
