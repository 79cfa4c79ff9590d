// Package ffmpeg runs ffmpeg and ffprobe as child processes on local files. It
// owns everything that all runs share: finding the programs, the arguments that
// make it safe to open an untrusted file, the sandbox, progress and the
// watchdog, the classification of how a run ended, and the record of each
// execution. It knows paths of this machine only: no URL, no object store, no
// database.
//
// Every upload is hostile until proven otherwise. Three things limit what a file
// can do. The allow lists in args.go decide which demuxers, decoders and
// protocols exist for it. The sandbox limits files, network, memory, processor
// time and output. The watchdog kills a run that makes no progress for
// stallTimeout.
//
// The exit status of ffmpeg proves little: it exits with 0 when the disk is
// full, and with an error after it has written everything. MachineError says
// whether the machine or a limit is to blame; for the rest, callers check the
// files.
package ffmpeg

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/engine/sandbox"
)

// stallTimeout is how long a run may make no progress before it is killed.
const stallTimeout = time.Minute

// Config says which programs to run, and how.
type Config struct {
	FFmpeg       string           // name or path; default "ffmpeg"
	FFprobe      string           // name or path; default "ffprobe"
	StallTimeout time.Duration    // for tests: how long a run may make no progress; default stallTimeout
	Nice         int              // how far children stand back for other processes, from 0 to 19; see Job.Yield
	Sandbox      *sandbox.Sandbox // around every child; nil means none
}

// Runner runs ffprobe and ffmpeg. It is safe for concurrent use.
type Runner struct {
	ffmpeg, ffprobe string
	version         string
	encoders        []byte // as ffmpeg lists them
	sandbox         *sandbox.Sandbox
	stall           time.Duration
	nice            int
}

// New finds the programs and checks that ffmpeg has the encoders that are always
// needed.
func New(ctx context.Context, cfg Config) (*Runner, error) {
	r := &Runner{stall: cfg.StallTimeout, sandbox: cfg.Sandbox, nice: cfg.Nice}
	if r.sandbox == nil {
		r.sandbox = new(sandbox.Sandbox)
	}
	if r.stall <= 0 {
		r.stall = stallTimeout
	}
	var err error
	if r.ffmpeg, err = findProgram(cfg.FFmpeg, "ffmpeg"); err != nil {
		return nil, err
	}
	if r.ffprobe, err = findProgram(cfg.FFprobe, "ffprobe"); err != nil {
		return nil, err
	}
	if r.version, err = r.selfTest(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Nicer returns a runner whose children stand back by this much; see Job.Yield.
func (r *Runner) Nicer(nice int) *Runner {
	other := *r
	other.nice = nice
	return &other
}

// Version returns what ffmpeg calls its version, such as "5.1.9-0+deb12u1".
func (r *Runner) Version() string { return r.version }

// HasEncoder reports whether ffmpeg lists an encoder. One that is listed may still not work here.
func (r *Runner) HasEncoder(name string) bool {
	return bytes.Contains(r.encoders, []byte(" "+name+" "))
}

// StallTimeout returns how long a run may make no progress.
func (r *Runner) StallTimeout() time.Duration { return r.stall }

func findProgram(configured, name string) (string, error) {
	if configured == "" {
		configured = name
	}
	path, err := exec.LookPath(configured)
	if err != nil {
		return "", fmt.Errorf("%s is needed to read videos and was not found: install the ffmpeg package (version 5.1 or newer), or configure the path of %s: %w", name, name, err)
	}
	return path, nil
}

// selfTest runs ffmpeg once. It prints its version to stderr and the list of its
// encoders to stdout.
func (r *Runner) selfTest(ctx context.Context) (version string, err error) {
	const longest = 5 * time.Minute // a cold start from a slow disk
	ctx, cancel := context.WithTimeoutCause(ctx, longest, ErrTimeLimit)
	defer cancel()
	var banner string
	r.encoders, banner, err = r.Output(ctx, sandbox.Policy{Threads: MaxThreads(0)}, []string{"-encoders"})
	if err != nil {
		return "", fmt.Errorf("run %s: %w", r.ffmpeg, err)
	}
	for _, name := range []string{"libx264", "aac", "mjpeg"} {
		if !r.HasEncoder(name) {
			return "", fmt.Errorf("%s has no %s encoder: install a complete build of ffmpeg (Debian's and Ubuntu's package ffmpeg is one)", r.ffmpeg, name)
		}
	}
	words := strings.Fields(banner)
	if len(words) < 3 || words[1] != "version" {
		return "", fmt.Errorf("%s does not print its version: is it ffmpeg?", r.ffmpeg)
	}
	if tooOld(words[2]) {
		return "", fmt.Errorf("%s is version %s: Spool needs 5.1 or newer. Install a newer ffmpeg, or set the path of one with --ffmpeg and --ffprobe", r.ffmpeg, words[2])
	}
	return words[2], nil
}

// release finds the numbers in the name of a release, such as "5.1.9-0+deb12u1" or "n7.0". Versions that
// people build from the repository are called "N-110728-g5a5b8e3f4e", and are taken for new.
var release = regexp.MustCompile(`^n?(\d+)(?:\.(\d+))?`)

// tooOld reports whether a version is older than 5.1, the oldest one that is tested.
func tooOld(version string) bool {
	m := release.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1]) // digits, or nothing: 0
	minor, _ := strconv.Atoi(m[2])
	return major < 5 || major == 5 && minor < 1
}
