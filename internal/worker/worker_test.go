package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

func TestTransientErrors(t *testing.T) {
	t.Parallel()
	exit := exec.Command("false").Run()
	_, missing := os.Open("/nonexistent/source")
	notStarted := fmt.Errorf("%w: %w", ffmpeg.ErrNotStarted, missing)
	tests := []struct {
		name      string
		err       error
		transient bool
	}{
		{"ffmpeg ended badly for no known reason", conversion(fmt.Errorf("encode: %w", exit)), false},
		{"ffmpeg stalled", conversion(ffmpeg.ErrStalled), false},
		{"the sandbox cannot be built", conversion(fmt.Errorf("encode: %w", ffmpeg.ErrSandbox)), true},
		{"ffmpeg needs too much memory", conversion(ffmpeg.ErrMemory), false},
		{"ffmpeg crashed", conversion(ffmpeg.ErrCrashed), false},
		{"probing took too long", conversion(ffmpeg.ErrTimeLimit), false},
		{"the disk is full while ffmpeg writes", conversion(fmt.Errorf("write output: %w", syscall.ENOSPC)), true},
		{"too many files are open", conversion(&fs.PathError{Op: "open", Err: syscall.EMFILE}), true},
		{"ffmpeg was uninstalled", conversion(fmt.Errorf("encode: %w", notStarted)), true},
		{"ffmpeg is something else, or the file has made it that", conversion(fmt.Errorf("encode: %w", ffmpeg.ErrNotFFmpeg)), false},
		{"the source is gone", fmt.Errorf("fetch source: %w", pipeline.ErrSourceGone), false},
		{"a chunk file is gone", fmt.Errorf("open chunk file: %w", missing), false},
		{"a chunk file was deleted while it was read", conversion(fmt.Errorf("assemble: %w", storageError{fs.ErrNotExist})), false},
		{"the storage breaks while chunk files are joined", conversion(fmt.Errorf("assemble: %w", storageError{errors.New("503 SlowDown")})), true},
		{"a chunk file was replaced while it was read", conversion(fmt.Errorf("assemble: %w", storageError{blob.ErrChanged})), true},
		{"ffmpeg was killed by somebody else", conversion(ffmpeg.ErrKilled), false},
		{"the storage is full", fmt.Errorf("store chunk file: %w", blob.ErrFull), true},
		{"the database is locked", &video.Error{Kind: video.Unavailable, Code: "database_unavailable"}, true},
		{"the chunk files do not fit together", conversion(errors.New("assemble: chunk file 2: frames at the same moment")), false},
		{"something new in our own code", errors.New("no idea"), true},
	}
	for _, tt := range tests {
		if got := transient(tt.err); got != tt.transient {
			t.Errorf("%s: transient = %t (%v)", tt.name, got, tt.err)
		}
	}
}

func TestExplanationsAreForPeople(t *testing.T) {
	t.Parallel()
	for err, code := range map[error]video.FailureCode{
		conversion(ffmpeg.ErrStalled):                                      video.LimitTime,
		conversion(ffmpeg.ErrMemory):                                       video.LimitMemory,
		conversion(ffmpeg.ErrCrashed):                                      video.Corrupt,
		conversion(ffmpeg.ErrTooBig):                                       video.Corrupt,
		conversion(ffmpeg.ErrThreads):                                      video.Corrupt,
		conversion(ffmpeg.ErrTimeLimit):                                    video.LimitTime,
		fmt.Errorf("fetch: %w", pipeline.ErrSourceGone):                    video.InternalFailure,
		conversion(ffmpeg.ErrKilled):                                       video.LimitMemory,
		conversion(errors.New("exit status 1: /srv/data/scratch/x: oops")): video.InternalFailure,
	} {
		f := explain(err)
		if f.Code != code || !strings.HasSuffix(f.Message, ".") || strings.Contains(f.Message, "/srv") {
			t.Errorf("%v is explained as %v; want a sentence of code %s without paths", err, f, code)
		}
	}
}

func TestNewClearsTheScratchFolderOfADeadProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/scratch"
	if err := os.MkdirAll(dir+"/encode-1/out", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Services{}, Engine{}, dir, nil, nil); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("scratch folder holds %v, %v; want nothing", left, err)
	}
}

// A machine without an encoder hands its tasks to others, and does not end them for all.
func TestAMachineWithoutAnEncoder(t *testing.T) {
	t.Parallel()
	task := queue.Task{Kind: queue.AV1, Priority: queue.Spare}
	err := cannotEncode(video.AV1, 1)
	if _, final := errors.AsType[*video.Failure](err); final || !transient(err) {
		t.Errorf("the first time the error is %v; want one that does not count", err)
	}
	if _, final := errors.AsType[*video.Failure](cannotEncode(video.AV1, maxRefusals)); !final {
		t.Error("such a task is never given up, though no machine can do it")
	}
	if errors.Is(unhealthy(task, err), queue.ErrWorkerUnhealthy) {
		t.Error("the machine rests after a task of spare time, and others wait")
	}
	if !errors.Is(unhealthy(queue.Task{Kind: queue.Encode}, err), queue.ErrWorkerUnhealthy) {
		t.Error("the machine does not rest after another task")
	}
}
