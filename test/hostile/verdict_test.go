package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/worker"
)

// stall is how long a run may make no progress in these tests.
const stall = 10 * time.Second

// kinds are the ends that a worker knows how to handle, besides Converted and
// the codes of failures. In each somebody stopped a run, or it crashed.
var kinds = map[string]error{
	"stalled":    ffmpeg.ErrStalled,
	"time limit": ffmpeg.ErrTimeLimit,
	"memory":     ffmpeg.ErrMemory,
	"too big":    ffmpeg.ErrTooBig,
	"threads":    ffmpeg.ErrThreads,
	"crashed":    ffmpeg.ErrCrashed,
	killed:       ffmpeg.ErrKilled,
	noSandbox:    ffmpeg.ErrSandbox,
	cannotHear:   encode.ErrNoAudio,
}

const (
	killed     = "killed"
	noSandbox  = "no sandbox"
	cannotHear = "cannot hear"
	// unexplained is the end that nobody knows how to handle.
	unexplained = "unexplained"
)

// order is what an examiner is asked to do.
type order struct {
	Source     string    // the file to examine
	Out        string    // an empty folder
	Thumbnails []float64 // thumbnails to make, if any
}

// verdict is what became of a file.
type verdict struct {
	End     string // Converted, the code of a failure, a name in kinds, or unexplained
	Step    string // that came to this end; "all" steps were done
	Message string // for the person who uploaded it
	Err     string // for the operator
	Took    time.Duration
	Sound   string   // likewise End, of the audio; "" when there is none
	Stills  string   // likewise
	Files   []string // that a person could watch

	ChildPeak int64 // the most memory that any ffmpeg of this examiner has held
	OwnPeak   int64 // the most that the examiner itself has held
}

// fault returns why a verdict is not one to give about a file, however damaged.
func (v verdict) fault() error {
	for _, end := range []string{v.End, v.Sound, v.Stills} {
		if end == unexplained || end == noSandbox || end == killed || codeOf(end) == string(video.InternalFailure) {
			return fmt.Errorf("%w: %s: %s", errUnexplained, end, v.Err)
		}
	}
	if _, stopped := kinds[v.End]; stopped || v.End == Converted {
		return nil // the worker has a sentence for those
	}
	if !slices.Contains(blames, video.FailureCode(v.End)) {
		return fmt.Errorf("%w: a failure with the code %q", errBadSentence, v.End)
	}
	m := v.Message
	if !strings.HasSuffix(m, ".") || m == strings.ToLower(m) || strings.ContainsAny(m, "/\n") || len([]rune(m)) > video.MaxFailureMessage {
		return fmt.Errorf("%w: %q; want a short sentence without a path", errBadSentence, m)
	}
	return nil
}

// blames are the codes that blame a file that is not empty.
var blames = []video.FailureCode{
	video.NotAVideo, video.NoVideoStream, video.Truncated, video.Corrupt, video.Encrypted, video.UnsupportedCodec,
	video.TooLong, video.TooManyPixels, video.LimitMemory, video.LimitTime,
}

// examineAll is the life of an examiner: a process that does with one file
// after the other what a worker would do. When it crashes, that is our crash.
func examineAll(mode sandbox.Mode, orders io.Reader, verdicts io.Writer) error {
	ctx := context.Background()
	box, err := sandbox.Open(mode, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	tools, err := worker.OpenEngine(ctx, ffmpeg.Config{FFmpeg: os.Getenv(ffmpegVariable), StallTimeout: stall, Sandbox: box}, plan.Config{}, encode.Config{Threads: 1})
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		if err := json.NewEncoder(verdicts).Encode(examine(ctx, tools, o)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// endOf sorts an error as a worker does.
func endOf(err error) string {
	if err == nil {
		return Converted
	}
	if f, ok := errors.AsType[*video.Failure](err); ok {
		return string(f.Code)
	}
	for name, kind := range kinds {
		if errors.Is(err, kind) {
			return name
		}
	}
	return unexplained
}

// peaks returns the most memory that children of this process and the process
// itself have held, in bytes.
func peaks() (children, own int64) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		panic(fmt.Sprintf("ask for the memory of children: %v", err))
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(fmt.Sprintf("ask for the memory of this process: %v", err))
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "VmHWM:" {
			own, _ = strconv.ParseInt(fields[1], 10, 64) // the kernel writes numbers
		}
	}
	return usage.Maxrss << 10, own << 10
}

// newJob makes the folders of a task, with the file in the one that is read.
func newJob(dir string, file []byte) (order, error) {
	o := order{Source: filepath.Join(dir, "in", "source"), Out: filepath.Join(dir, "out")}
	return o, errors.Join(os.MkdirAll(filepath.Dir(o.Source), 0o700), os.MkdirAll(o.Out, 0o700), os.WriteFile(o.Source, file, 0o600))
}

// codeOf returns the code of the failure that a client sees when a file has
// come to the same end three times.
func codeOf(end string) string {
	switch end {
	case "stalled", "time limit":
		return limitTime
	case "memory", killed:
		return limitMemory
	case "crashed", "too big", "threads":
		return corrupt
	case unexplained, noSandbox:
		return string(video.InternalFailure)
	}
	return end
}
