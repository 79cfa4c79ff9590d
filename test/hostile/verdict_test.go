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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/media"
	"github.com/spool-video/spool/internal/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// stall is how long a run may make no progress in these tests.
const stall = 10 * time.Second

// The kinds of ends that a worker knows how to handle, besides Converted and
// the codes of failures.
var kinds = map[string]error{
	"stalled":     media.ErrStalled,
	"time limit":  media.ErrTimeLimit,
	"memory":      media.ErrMemory,
	"too big":     media.ErrTooBig,
	"crashed":     media.ErrCrashed,
	"killed":      media.ErrKilled,
	"no sandbox":  media.ErrSandbox,
	"cannot hear": media.ErrNoSound,
}

// unexplained is the end that nobody knows how to handle.
const unexplained = "unexplained"

// order is what an examiner is asked to do.
type order struct {
	Source     string    // the file to examine
	Out        string    // an empty folder
	Thumbnails []float64 // stills to make, if any
}

// verdict is what became of a file.
type verdict struct {
	End     string // Converted, the code of a failure, a name in kinds, or unexplained
	Step    string // that came to this end; "all" steps were converted
	Message string // for the person who uploaded it
	Err     string // for the operator
	Took    time.Duration
	Sound   string // likewise End, of the sound
	Files   []string

	ChildPeak int64 // the most memory that any ffmpeg of this examiner has held
	OwnPeak   int64 // the most that the examiner itself has held
}

// examineAll is the life of an examiner: a process that does with one file
// after the other what a worker would do. When it crashes, that is our crash.
func examineAll(mode sandbox.Mode, orders io.Reader, verdicts io.Writer) error {
	ctx := context.Background()
	box, err := sandbox.Open(mode, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	tools, err := media.New(ctx, media.Config{Threads: 1, StallTimeout: stall, Sandbox: box})
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

// examine inspects one file and encodes what passes.
func examine(ctx context.Context, tools *media.Tools, o order) verdict {
	began := time.Now()
	v := verdict{Step: "inspect"}
	err := v.convert(ctx, tools, o)
	v.End = endOf(err)
	if f, ok := errors.AsType[*video.Failure](err); ok {
		v.Message = f.Message
	}
	if err != nil {
		v.Err = err.Error()
	}
	v.Took = time.Since(began)
	v.ChildPeak, v.OwnPeak = peaks()
	return v
}

func (v *verdict) convert(ctx context.Context, tools *media.Tools, o order) error {
	job := media.Job{Source: o.Source, OutDir: o.Out}
	plan, err := tools.Inspect(ctx, job, media.Ask{Names: []video.Name{"144p"}, Thumbnails: o.Thumbnails})
	if err != nil {
		return err
	}
	v.Step = "encode"
	pieces, err := tools.EncodeChunk(ctx, job, plan, 0, nil)
	if err != nil {
		return err
	}
	v.keep(pieces...)
	if plan.Audio != nil {
		sound, err := tools.EncodeAudio(ctx, job, plan, nil)
		if v.Sound = endOf(err); err == nil {
			v.keep(sound)
		} else {
			v.Err = err.Error() // the film goes on without
		}
	}
	v.Step = "thumbnails"
	stills, err := tools.Thumbnails(ctx, job, plan, nil)
	if err != nil {
		return err
	}
	v.keep(stills...)
	v.Step = "all"
	return nil
}

func (v *verdict) keep(outputs ...media.Output) {
	for _, o := range outputs {
		v.Files = append(v.Files, o.Path)
	}
}

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
	case "memory", "killed":
		return limitMemory
	case "crashed", "too big":
		return corrupt
	case unexplained, "no sandbox":
		return "internal"
	}
	return end
}
