package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/sandbox"
)

const (
	minOpenFiles  = 4096
	minTaskMemory = 512 << 20 // of a usual video
	fewBytes      = 5 << 30   // a disk with less is soon full
	probeBytes    = 32 << 20
	slowDisk      = 20 << 20 // bytes a second
	slowSync      = 50 * time.Millisecond
	syncs         = 10
)

func (d *doctor) checkFFmpeg(ctx context.Context) {
	program, prober, err := d.Tools()
	if err != nil {
		d.fail("install ffmpeg 5.1 or newer (on Debian and Ubuntu: apt-get install ffmpeg), or set --ffmpeg and --ffprobe", "%v", err)
		return
	}
	r, err := ffmpeg.New(ctx, ffmpeg.Config{FFmpeg: program, FFprobe: prober})
	if err != nil {
		d.fail("install a complete build of ffmpeg 5.1 or newer (Debian's and Ubuntu's package ffmpeg is one)", "%v", err)
		return
	}
	pictures, err := d.TryEngine(ctx)
	if err != nil {
		d.fail("set codecs and encoder to what this ffmpeg has, or install one that has it", "%s %s cannot encode: %v", program, r.Version(), err)
		return
	}
	d.ok("%s %s encodes %s", program, r.Version(), strings.Join(slices.Compact(d.Codecs), ", "))
	formats := []string{"JPEG"}
	for _, f := range pictures {
		formats = append(formats, strings.ToUpper(string(f)))
	}
	d.ok("posters and thumbnails are made as %s", strings.Join(formats, ", "))
}

func (d *doctor) checkSandbox(ctx context.Context) {
	if d.failures > 0 {
		return // there is nothing to put into it
	}
	box, err := d.Confine(ctx)
	if err != nil {
		d.fail(sandboxFix(err), "%v", err)
		return
	}
	if d.Unconfined {
		d.warn("remove sandbox = off", "ffmpeg reads files of strangers without a sandbox")
		return
	}
	d.ok("ffmpeg is confined, and each layer is on: %s", box.Report())
	for _, advice := range box.Report().Advice() {
		d.warn(advice, "the kernel could confine it more closely")
	}
}

// sandboxFix says what to do about a sandbox that could not be made.
func sandboxFix(err error) string {
	if _, unfit := errors.AsType[*sandbox.UnfitError](err); unfit {
		return "set --ffmpeg and --ffprobe to the programs themselves, not to scripts that start them"
	}
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return "set LimitNOFILE=65536 in the unit, or ulimit -n 65536"
	}
	return "use a kernel with Landlock and seccomp (Linux 6.2 or newer), and a container that allows them"
}

func (d *doctor) checkLimits(context.Context) {
	if os.Geteuid() == 0 {
		d.warn("run Spool as a user of its own", "this is root, which Spool does not need")
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < minOpenFiles {
		d.warn("set LimitNOFILE=65536 in the unit, or ulimit -n 65536", "this process may have %d files and connections open", files.Cur)
	}
	memory, err := availableMemory()
	switch need := int64(d.Workers) * minTaskMemory; {
	case err != nil:
		d.ok("%d cores, %d tasks at a time; the memory is not known: %v", runtime.NumCPU(), d.Workers, err)
	case d.RunsTasks && memory < need:
		d.warn(fmt.Sprintf("set workers = %d, or give it more memory", max(1, memory/minTaskMemory)), "%d MiB of memory are available for %d tasks at a time", memory>>20, d.Workers)
	default:
		d.ok("%d cores, %d MiB of memory available, %d tasks at a time", runtime.NumCPU(), memory>>20, d.Workers)
	}
}

// availableMemory returns what the system, and the control group, have left.
func availableMemory() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	kib, err := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
	if err != nil || kib == 0 {
		return 0, errors.New("the system does not say how much memory is available")
	}
	memory := kib << 10
	if limit, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(limit)), 10, 64); err == nil {
			memory = min(memory, n)
		}
	}
	return memory, nil
}

func (d *doctor) checkDisk(context.Context) {
	dir := datadir.Existing(d.DataDir)
	free, err := diskspace.Free(dir)
	switch {
	case err != nil:
		d.fail("set data_dir to a folder on a disk of this machine", "%v", err)
		return
	case free < uint64(d.MinFree):
		d.fail("remove something from the disk, or make it larger", "%d MiB are free on the disk of %s, less than min_free", free>>20, dir)
	case free < fewBytes:
		d.warn("remove something from the disk, or make it larger", "%d MiB are free on the disk of %s", free>>20, dir)
	default:
		d.ok("%d GiB are free on the disk of %s", free>>30, dir)
	}
	if free < 2*probeBytes+uint64(d.MinFree) {
		return
	}
	rate, sync, err := measureDisk(dir)
	switch {
	case err != nil:
		d.fail(folderFix(err), "%v", datadir.Forbidden(filepath.Join(dir, datadir.Database), err))
	case rate < slowDisk || sync > slowSync:
		d.warn("put data_dir on a faster disk; a network disk is slow for a database", "%s writes %d MiB/s and takes %s to sync", dir, rate>>20, sync.Round(time.Millisecond/10))
	default:
		d.ok("%s writes %d MiB/s and takes %s to sync", dir, rate>>20, sync.Round(time.Millisecond/10))
	}
}

// measureDisk returns how many bytes a second a folder takes, and how long a small write takes to be safe.
func measureDisk(dir string) (rate int64, sync time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block, began := make([]byte, 1<<20), time.Now()
	for range probeBytes / len(block) {
		if _, err := f.Write(block); err != nil {
			return 0, 0, err
		}
	}
	if err := f.Sync(); err != nil {
		return 0, 0, err
	}
	rate = int64(probeBytes / max(time.Since(began), time.Microsecond).Seconds())
	began = time.Now()
	for range syncs {
		if _, err := f.Write(block[:4096]); err != nil {
			return 0, 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, 0, err
		}
	}
	return rate, time.Since(began) / syncs, nil
}
