package encode

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// vmafProgram finds the program vmaf of libvmaf.
func vmafProgram(b *testing.B) string {
	b.Helper()
	path, err := exec.LookPath("vmaf")
	if err != nil {
		b.Skip("The study needs the program vmaf in PATH: build it from https://github.com/Netflix/vmaf, in its folder libvmaf " +
			"(meson setup build --buildtype release && ninja -C build).")
	}
	return path
}

// everyThird frame is rated. An even distance would prefer the frames that encoders make better than the
// ones between them, because others refer to them.
const everyThird = "3"

// score is the VMAF of a file beside the frames that went into its encoder.
func (s *study) score(e *bench, rendition int, file string) float64 {
	r := e.plan.Renditions[rendition]
	decode := exec.CommandContext(e.Context(), "ffmpeg", "-nostdin", "-v", "error", "-i", file, "-fps_mode", "passthrough",
		"-pix_fmt", "yuv420p", "-f", "rawvideo", "-")
	frames, err := decode.StdoutPipe()
	e.check(err)
	log := filepath.Join(e.job.OutDir, "vmaf.json")
	rate := exec.CommandContext(e.Context(), s.vmaf, "--quiet", "--reference", e.frames(rendition), "--distorted", "/dev/stdin",
		"--width", strconv.Itoa(r.Width), "--height", strconv.Itoa(r.Height), "--pixel_format", "420", "--bitdepth", "8",
		"--subsample", everyThird, "--threads", strconv.Itoa(runtime.GOMAXPROCS(0)), "--json", "--output", log)
	rate.Stdin = frames
	e.check(decode.Start())
	if out, err := rate.CombinedOutput(); err != nil {
		e.Fatalf("%v: %v: %s", rate, err, out)
	}
	e.check(decode.Wait())
	var found struct {
		Pooled struct {
			VMAF struct{ Mean float64 }
		} `json:"pooled_metrics"`
	}
	raw, err := os.ReadFile(log)
	e.check(err)
	e.check(json.Unmarshal(raw, &found))
	if found.Pooled.VMAF.Mean <= 0 {
		e.Fatalf("vmaf wrote no mean: %s", raw)
	}
	return found.Pooled.VMAF.Mean
}
