package ffmpeg

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strconv"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

// Encode runs ffmpeg for a job, reports its progress, and kills it when it
// stalls. position is called with the time, in seconds, up to which output was
// written.
func (r *Runner) Encode(ctx context.Context, job Job, may sandbox.Policy, args []string, position func(seconds float64)) (stderr string, err error) {
	return r.encode(ctx, job, may, args, nil, position)
}

// encode is Encode; errors also gets what the child prints to stderr, unless it is nil.
func (r *Runner) encode(ctx context.Context, job Job, may sandbox.Policy, args []string, errors io.Writer, position func(seconds float64)) (stderr string, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stall := r.stall + job.Patience
	watchdog := time.AfterFunc(stall, func() { stop(ErrStalled) })
	defer watchdog.Stop()

	ended := false
	stderr, err = r.run(ctx, process{
		bin: r.ffmpeg, args: args, dir: job.OutDir, job: job, policy: may, stderr: errors,
		stdout: func(out io.Reader) (err error) {
			ended, err = readProgress(limit(out, "progress", maxProgress), func() { watchdog.Reset(stall) }, position)
			return err
		},
	})
	if err == nil && !ended {
		err = ErrNotFFmpeg
	}
	return stderr, err
}

// Probe runs ffprobe for a job. stdout reads what it prints.
func (r *Runner) Probe(ctx context.Context, job Job, may sandbox.Policy, args []string, stdout func(io.Reader) error) (stderr string, err error) {
	return r.run(ctx, process{
		bin: r.ffprobe, args: args, dir: job.OutDir, job: job, policy: may,
		stdout: func(out io.Reader) error { return stdout(limit(out, "packets", maxPackets(job.Source))) },
	})
}

// Output runs ffmpeg outside of any job, which a start of the program does, and returns what it printed.
func (r *Runner) Output(ctx context.Context, may sandbox.Policy, args []string) (stdout []byte, stderr string, err error) {
	stderr, err = r.run(ctx, process{bin: r.ffmpeg, args: args, policy: may, stdout: Answer(&stdout)})
	return stdout, stderr, err
}

// readProgress reads what ffmpeg writes for -progress: key=value lines,
// repeated. It calls moved whenever one of the values that show progress has
// changed, and reports whether ffmpeg came to its end.
func readProgress(r io.Reader, moved func(), position func(seconds float64)) (ended bool, err error) {
	last := map[string]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		key, value, _ := bytes.Cut(bytes.TrimSpace(lines.Bytes()), []byte("="))
		k, v := string(key), string(value)
		switch k {
		case "frame", "total_size", "out_time_us":
		case "progress":
			ended = v == "end"
			continue
		default:
			continue
		}
		if last[k] == v {
			continue
		}
		last[k] = v
		moved()
		if us, err := strconv.ParseInt(v, 10, 64); err == nil && k == "out_time_us" {
			position(float64(us) / 1e6)
		}
	}
	return ended, lineError(lines.Err())
}
