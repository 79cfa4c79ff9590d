package hostile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// ffmpegVariable names the program that an examiner runs as ffmpeg.
const ffmpegVariable = "HOSTILE_TEST_FFMPEG"

// serverMemory is what a server may take, whatever its ffmpeg does.
const serverMemory = 300 << 20

// takeovers are what an ffmpeg might do that a file has taken over. This program
// takes its place under their names. Its folder is the current one. Those that
// return stay, and report progress.
var takeovers = map[string]func(){
	"threads": func() {
		for range 2000 {
			go func() {
				runtime.LockOSThread()
				select {}
			}()
		}
	},
	"memory": func() {
		shared, err := syscall.Mmap(-1, 0, 64<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
		if err == nil {
			clear(shared)
			return
		}
		fmt.Fprintln(os.Stderr, "Cannot allocate memory")
		os.Exit(1)
	},
	"one line": func() { _, _ = os.Stdout.Write(bytes.Repeat([]byte("x"), 100<<20)) },
	"thumbnails": func() {
		picture := make([]byte, 100<<20)
		copy(picture, "\xff\xd8")
		copy(picture[len(picture)-2:], "\xff\xd9")
		_ = os.WriteFile("s0_0.jpg", picture, 0o600)
		fmt.Println("progress=end")
		os.Exit(0)
	},
	"files": func() {
		for n := range 5000 {
			_ = os.WriteFile(fmt.Sprint("x", n), nil, 0o600)
		}
	},
}

func init() {
	if take, ok := takeovers[strings.TrimPrefix(filepath.Base(os.Args[0]), "takeover-")]; ok {
		beFFmpeg(take)
		os.Exit(0)
	}
}

// beFFmpeg passes for ffmpeg until a file is opened.
func beFFmpeg(take func()) {
	args := strings.Join(os.Args[1:], " ")
	switch {
	case args == "-encoders":
		fmt.Fprintln(os.Stderr, "ffmpeg version 7.1")
		fmt.Println(" libx264 aac mjpeg ")
		return
	case strings.Contains(args, "framecrc"): // a second, with keyframes where they are asked for
		for n := range 25 {
			fmt.Println("0, 1, 1, 1, 1, 0x1" + map[bool]string{false: ", F=0x0"}[n == 0 || n == 10])
		}
		return
	}
	take()
	for n := 0; ; n++ {
		fmt.Printf("frame=%d\nout_time_us=%d\n", n, n)
		time.Sleep(50 * time.Millisecond)
	}
}

// TestAnFFmpegThatWasTakenOver wants each to be ended, with a reason that a
// client can be told, and the server to stay small.
func TestAnFFmpegThatWasTakenOver(t *testing.T) {
	needTools(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	still := PNG(64, 64)
	film := movie(bytes.Repeat(still, 25), track{width: 64, height: 64, count: 25, size: uint32(len(still)), timescale: 25, durations: []run{{25, 1}}})
	for name, want := range map[string][]string{
		// With the threads of the C library, the memory of their stacks runs out first.
		"threads": {corrupt, string(video.InternalFailure)},
		"memory":  {limitMemory}, "one line": {corrupt}, "thumbnails": {corrupt}, "files": {corrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "takeover-"+name)
			if err := copyProgram(path, self); err != nil {
				t.Fatal(err)
			}
			e, err := newExaminer(t.Context(), sandbox.On, ffmpegVariable+"="+path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(e.close)
			o, err := newJob(t.TempDir(), film)
			if err != nil {
				t.Fatal(err)
			}
			o.Thumbnails = []float64{0}
			v := e.mustExamine(t, o)
			if got := codeOf(v.End); !slices.Contains(want, got) || v.OwnPeak > serverMemory {
				t.Errorf("ends with %s (%s at %s: %.300s), and the server took %d MiB; want one of %q, and at most %d MiB",
					got, v.End, v.Step, v.Err, v.OwnPeak>>20, want, serverMemory>>20)
			}
		})
	}
}

// copyProgram makes a program available under another name.
func copyProgram(to, from string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	b, err := os.ReadFile(from) // on another disk
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o700)
}
