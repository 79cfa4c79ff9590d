//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// encode are arguments of ffmpeg for the video of a job; more may follow.
func encode(j job, args ...string) []string {
	return append([]string{"-v", "error", "-nostdin", "-threads", "1", "-i", "file:" + j.source}, args...)
}

func TestFFmpegWorksInside(t *testing.T) {
	t.Parallel()
	s, ffmpeg, ffprobe := openSandbox(t), find(t, "ffmpeg"), find(t, "ffprobe")
	j := newJob(t)
	makeVideo(t, j.source, "1920x1080")
	p := j.policy()
	p.Memory, p.FileSize, p.CPU = 1<<30+1<<28, 1<<30, time.Minute

	out, stderr, err := run(s.Command(t.Context(), p, ffprobe, "-v", "error", "-show_entries", "stream=codec_name,width", "-of", "csv=p=0", "file:"+j.source))
	if err != nil || out != "h264,1920\naac\n" {
		t.Errorf("ffprobe prints %q, %v: %s", out, err, stderr)
	}
	film, picture := filepath.Join(j.out, "video.mp4"), filepath.Join(j.out, "t.jpg")
	out, stderr, err = run(s.Command(t.Context(), p, ffmpeg, encode(j,
		"-progress", "pipe:1", "-threads", "4", "-frames:v", "10", "-c:v", "libx264", "-preset", "veryfast", "-c:a", "aac", "-movflags", "+faststart", "file:"+film,
		"-frames:v", "1", "-c:v", "mjpeg", "-f", "mjpeg", "file:"+picture)...))
	if err != nil || stderr != "" || !strings.Contains(out, "progress=end") {
		t.Errorf("ffmpeg: %v: %s; progress %q", err, stderr, out)
	}
	for _, path := range []string{film, picture} {
		if info, err := os.Stat(path); err != nil || info.Size() < 1000 {
			t.Errorf("output %v, %v; want a file", info, err)
		}
	}
	out, stderr, err = run(s.Command(t.Context(), Policy{Read: []string{film}}, ffprobe, "-v", "error", "-show_entries", "stream=codec_name,nb_frames", "-of", "csv=p=0", "file:"+film))
	if err != nil || !strings.HasPrefix(out, "h264,10\naac,") {
		t.Errorf("the output is %q, %v: %s", out, err, stderr)
	}
}

// TestReservedSpaceCounts reserves space that the size of a file does not show.
func TestReservedSpaceCounts(t *testing.T) {
	t.Parallel()
	s, j := openSandbox(t), newJob(t)
	f, err := os.Create(filepath.Join(j.out, "reserved"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 2<<20); err != nil {
		t.Skipf("this file system reserves no space: %v", err)
	}
	p := Policy{WriteDir: j.out, Space: 1 << 20}
	if _, _, err := run(s.Command(t.Context(), p, find(t, "true"))); !errors.Is(err, ErrFolder) {
		t.Errorf("the program ends with %v; want %v", err, ErrFolder)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s, ffmpeg := openSandbox(t), find(t, "ffmpeg")
	j := newJob(t)
	makeVideo(t, j.source, "1280x720")
	output := "file:" + filepath.Join(j.out, "video.mkv")
	tests := []struct {
		name  string
		limit func(*Policy)
		args  []string
		check func(err error, stderr string, took time.Duration) bool
	}{
		// With many threads ffmpeg 5.1 may also die of a segmentation fault.
		{"too little memory is an ordinary error", func(p *Policy) { p.Memory = 128 << 20 },
			[]string{"-c:v", "libx264", "-threads", "1", "-y", output},
			func(err error, stderr string, _ time.Duration) bool {
				return exitCode(err) == 1 && strings.Contains(stderr, "the encoder")
			}},
		{"a file that grows too large kills", func(p *Policy) { p.FileSize = 1 << 20 },
			[]string{"-c:v", "rawvideo", "-y", output},
			func(err error, _ string, _ time.Duration) bool { return signalOf(err) == syscall.SIGXFSZ }},
		{"CPU time runs out", func(p *Policy) { p.CPU = time.Second },
			[]string{"-filter:v", "loop=-1:25:0", "-c:v", "libx264", "-f", "null", "-"},
			func(err error, _ string, took time.Duration) bool {
				return err != nil && took > 500*time.Millisecond && took <= 8*time.Second
			}},
		{"without limits all is well", func(*Policy) {},
			[]string{"-c:v", "libx264", "-preset", "ultrafast", "-threads", "8", "-frames:v", "5", "-y", output},
			func(err error, _ string, _ time.Duration) bool { return err == nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := j.policy()
			tt.limit(&p)
			cmd := s.Command(t.Context(), p, ffmpeg, encode(j, tt.args...)...)
			_, stderr, err := run(cmd)
			took := cmd.Cmd.ProcessState.UserTime() + cmd.Cmd.ProcessState.SystemTime()
			if !tt.check(err, stderr, took) {
				t.Errorf("ffmpeg ended with %v after %v of CPU time: %s", err, took, stderr)
			}
		})
	}
}

func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

// TestLimitsAndRightsOfTheProgram reads what the kernel says about a process
// inside.
func TestLimitsAndRightsOfTheProgram(t *testing.T) {
	t.Parallel()
	s := openSandbox(t)
	p := Policy{Memory: 1 << 28, FileSize: 12345, CPU: 1500 * time.Millisecond, Read: []string{"/proc/self/limits"}}
	// The file belongs to the process that opens it, so the rule that the
	// helper makes for itself is that of the program.
	out, stderr, err := run(s.Command(t.Context(), p, find(t, "cat"), "/proc/self/limits", "/proc/self/status"))
	if err != nil {
		t.Fatalf("cat: %v: %s", err, stderr)
	}
	fields := map[string]string{}
	for line := range strings.Lines(out) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = strings.TrimSpace(value)
		} else if len(line) > 66 {
			fields[strings.TrimSpace(line[:26])] = strings.Join(strings.Fields(line[26:68]), " ")
		}
	}
	for name, want := range map[string]string{ // soft and hard limit
		"Max cpu time": "2 7", "Max file size": "12345 12345", "Max data size": "268435456 268435456",
		"Max core file size": "0 0", "Max open files": "64 64", "Max stack size": "8388608 8388608", "Max address space": "8858370048 8858370048",
		"NoNewPrivs": "1", "Seccomp": "2", "CapInh": "0000000000000000", "CapAmb": "0000000000000000",
	} {
		if fields[name] != want {
			t.Errorf("%s = %q; want %q", name, fields[name], want)
		}
	}
	if got := fields["CapEff"]; got != "0000000000000006" && got != "0000000000000000" {
		t.Errorf("CapEff = %q; want none, or those about owners of files", got)
	}
}
