package hostile

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// canary is what nobody may reach: a video of somebody else and an address on
// which somebody listens. It notices every open of the video, by whatever name,
// and every connection.
type canary struct {
	Bait
	events int // a file of inotify
	calls  atomic.Int32
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	c := &canary{Bait: Bait{File: filepath.Join(t.TempDir(), "other.mp4"), Neighbour: "neighbour.mp4"}}
	film, err := paintedOnce()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.File, film, 0o600); err != nil {
		t.Fatal(err)
	}
	if c.events, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(c.events) })
	if _, err := unix.InotifyAddWatch(c.events, c.File, unix.IN_OPEN|unix.IN_ACCESS); err != nil {
		t.Fatal(err)
	}
	c.listen(t)
	return c
}

// sitBeside gives the video a second name, in the folder of a job's source.
func (c *canary) sitBeside(o order) error {
	return os.Link(c.File, filepath.Join(filepath.Dir(o.Source), c.Neighbour))
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
// Nothing is missed when the one who reached it has ended: the kernel tells of an
// open before it lets go on who opens, and a caller is counted before it is told
// that it was hung up on.
func (c *canary) touched() string {
	var how []string
	var b [4096]byte
	switch n, err := unix.Read(c.events, b[:]); {
	case err == nil && n > 0:
		how = append(how, "its film was opened")
	case err != nil && !errors.Is(err, unix.EAGAIN):
		how = append(how, "it fell asleep: "+err.Error())
	}
	if n := c.calls.Swap(0); n > 0 {
		how = append(how, fmt.Sprintf("its address was called %d times", n))
	}
	return strings.Join(how, ", ")
}

// paintedOnce makes the video: magenta on the left, green on the right.
var paintedOnce = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "spool-canary-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "canary.mp4")
	_, err = tool("ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "color=0xff00ff:size=64x64:rate=10:duration=1,drawbox=x=32:w=32:h=64:color=0x00ff00:t=fill",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-movflags", "+faststart", path)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// output is a file that we made.
type output struct {
	file  string
	heard bool // it has audio
}

// view plays the frames and the audio of files to their end, all with one ffmpeg,
// which takes longer to start than to play one. A complaint of a decoder is an
// error. It returns the file in which the video of the canary is to be seen, or "".
func view(outputs ...output) (stolen string, err error) {
	args := []string{"-v", "error", "-nostdin", "-y"}
	for _, o := range outputs {
		args = append(args, "-i", o.file)
	}
	var names []string
	for i, o := range outputs {
		names = append(names, filepath.Base(o.file))
		args = append(args, "-map", fmt.Sprint(i, ":v"), "-vf", "format=rgb24,scale=2:1:flags=area",
			"-fps_mode", "passthrough", "-enc_time_base", "-1", // or frames that are close together would collide
			"-f", "rawvideo", o.file+".rgb")
		if o.heard {
			args = append(args, "-map", fmt.Sprint(i, ":a"), "-f", "null", "-")
		}
	}
	_, said, err := toolSays("ffmpeg", args...)
	if err == nil && said != "" {
		err = fmt.Errorf("%.300s", said)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(names, ", "), err)
	}
	for _, o := range outputs {
		pixels, readErr := os.ReadFile(o.file + ".rgb")
		if err == nil && (readErr != nil || len(pixels) == 0) {
			err = fmt.Errorf("%s: there is no picture in it (%v)", filepath.Base(o.file), readErr)
		}
		for picture := range slices.Chunk(pixels, 6) {
			if len(picture) == 6 && magenta(picture[:3]) && green(picture[3:]) {
				stolen = o.file
			}
		}
	}
	return stolen, err
}

func magenta(rgb []byte) bool { return rgb[0] > 180 && rgb[1] < 70 && rgb[2] > 180 }
func green(rgb []byte) bool   { return rgb[0] < 70 && rgb[1] > 180 && rgb[2] < 70 }
