package encode

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var studyVMAF = flag.String("vmaf", "vmaf", "the program vmaf of libvmaf, which the study rates with")

// rater says how good encoded frames look beside those that went into the encoder.
type rater struct {
	name  string
	score func(e *bench, rendition int, path string) float64
}

// newRater takes VMAF where it can be had: from libvmaf's own program, or from an ffmpeg that has it.
func newRater(b *testing.B) rater {
	b.Helper()
	if path, err := exec.LookPath(*studyVMAF); err == nil {
		return rater{"VMAF", func(e *bench, rendition int, film string) float64 { return e.vmaf(path, rendition, film) }}
	}
	filters, err := exec.CommandContext(b.Context(), "ffmpeg", "-v", "error", "-filters").Output()
	if err != nil {
		b.Fatal(err)
	}
	if strings.Contains(string(filters), " libvmaf ") {
		return rater{"VMAF", (*bench).filterVMAF}
	}
	b.Log("There is no VMAF here, so SSIM is compared. To have it, build the program vmaf " +
		"(https://github.com/Netflix/vmaf, folder libvmaf: meson setup build --buildtype release && ninja -C build) " +
		"and put it into PATH or name it with -vmaf, or use an ffmpeg with libvmaf.")
	return rater{"SSIM in dB", func(e *bench, rendition int, film string) float64 {
		e.films = slices.Grow(e.films, rendition+1)[:max(len(e.films), rendition+1)]
		e.films[rendition] = film
		return -10 * math.Log10(1-e.ssim(rendition))
	}}
}

// everyThird frame is rated. An even distance would prefer the frames that encoders make better than the
// ones between them, because others refer to them.
const everyThird = "3"

// vmaf decodes a video into libvmaf's program.
func (e *bench) vmaf(program string, rendition int, film string) float64 {
	r := e.plan.Renditions[rendition]
	decode := exec.CommandContext(e.Context(), "ffmpeg", "-nostdin", "-v", "error", "-i", film, "-fps_mode", "passthrough",
		"-pix_fmt", "yuv420p", "-f", "rawvideo", "-")
	frames, err := decode.StdoutPipe()
	e.check(err)
	log := filepath.Join(e.job.OutDir, "vmaf.json")
	rate := exec.CommandContext(e.Context(), program, "--quiet", "--reference", e.frames(rendition), "--distorted", "/dev/stdin",
		"--width", strconv.Itoa(r.Width), "--height", strconv.Itoa(r.Height), "--pixel_format", "420", "--bitdepth", "8",
		"--subsample", everyThird, "--threads", strconv.Itoa(runtime.GOMAXPROCS(0)), "--json", "--output", log)
	rate.Stdin = frames
	e.check(decode.Start())
	if out, err := rate.CombinedOutput(); err != nil {
		e.Fatalf("%v: %v: %s", rate, err, out)
	}
	e.check(decode.Wait())
	return e.meanVMAF(log)
}

// filterVMAF is the same with ffmpeg's filter.
func (e *bench) filterVMAF(rendition int, film string) float64 {
	log := filepath.Join(e.job.OutDir, "vmaf.json")
	e.ffmpeg(slices.Concat([]string{"-i", film}, e.raw(rendition), []string{"-lavfi",
		fmt.Sprintf("[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]libvmaf=n_subsample=%s:log_fmt=json:log_path=%s", everyThird, log),
		"-f", "null", "-"})...)
	return e.meanVMAF(log)
}

func (e *bench) meanVMAF(log string) float64 {
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
