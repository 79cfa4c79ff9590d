// Package doctor examines a machine and the settings of a service, and says what would keep the service from working
// well, and what to do about it. It changes nothing, and may run beside the service.
package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

// Config holds the settings of the service that the doctor examines.
type Config struct {
	DataDir        string
	DatabaseURL    string // "": SQLite in DataDir
	StorageURL     string // "": the disk of DataDir
	BaseURL        string // of the service as clients see it; "": not set
	Address        string // of the service on this machine, such as http://127.0.0.1:8080
	MinFree        int64  // bytes
	MaxUploadBytes int64
	OutboundAllow  []string
	Webhooks       []string // addresses to try beside those that are registered
	Codecs         []string
	Profiles       []string // that clients may choose
	Workers        int
	RunsTasks      bool
	ServesRequests bool
	Unconfined     bool // ffmpeg runs without a sandbox

	Parts
}

// Parts open what the service opens, as it does.
type Parts struct {
	// Tools returns the paths of ffmpeg and ffprobe.
	Tools func() (ffmpeg, ffprobe string, err error)
	// TryEngine makes a trial of the encoder, and returns the formats of pictures.
	TryEngine func(context.Context) ([]video.PictureFormat, error)
	// Confine makes the sandbox, and looks whether its layers are on.
	Confine func(context.Context) (*sandbox.Sandbox, error)
	// OpenBucket opens the storage of StorageURL.
	OpenBucket func(context.Context) (blob.Store, error)
}

// The results of a check.
const (
	OK      = "ok"
	Warning = "warning" // it works, but not well
	Failure = "failure" // it does not work
)

// Finding is what a check found.
type Finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
}

// doctor examines the machine with some settings.
type doctor struct {
	Config
	http   *http.Client
	now    func() time.Time
	report func(Finding)

	check    string // the one that runs
	failures int
}

// checkTimeout bounds each check: a trial of the encoder takes the longest.
const checkTimeout = 3 * time.Minute

// Examine makes all checks, one after the other, and returns how many failures it has reported.
func Examine(ctx context.Context, c Config, now func() time.Time, report func(Finding)) (failures int) {
	d := newDoctor(c, now, report)
	for _, check := range []struct {
		name string
		run  func(context.Context)
		skip bool
	}{
		{"ffmpeg", d.checkFFmpeg, !d.RunsTasks},
		{"sandbox", d.checkSandbox, !d.RunsTasks},
		{"limits", d.checkLimits, false},
		{"disk", d.checkDisk, false},
		{"database", d.checkDatabase, false},
		{"storage", d.checkStorage, false},
		{"server", d.checkServer, !d.ServesRequests},
		{"profiles", d.checkProfiles, len(d.Profiles) == 0},
		{"base_url", d.checkBaseURL, !d.ServesRequests},
		{"webhooks", d.checkWebhooks, !d.ServesRequests},
	} {
		if check.skip {
			continue
		}
		d.check = check.name
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		check.run(ctx)
		cancel()
	}
	return d.failures
}

func newDoctor(c Config, now func() time.Time, report func(Finding)) *doctor {
	return &doctor{Config: c, http: &http.Client{Timeout: time.Minute}, now: now, report: report}
}

func (d *doctor) ok(format string, args ...any) {
	d.addFinding(OK, fmt.Sprintf(format, args...), "")
}

func (d *doctor) warn(fix, format string, args ...any) {
	d.addFinding(Warning, fmt.Sprintf(format, args...), fix)
}

func (d *doctor) fail(fix, format string, args ...any) {
	d.failures++
	d.addFinding(Failure, fmt.Sprintf(format, args...), fix)
}

func (d *doctor) addFinding(result, text, fix string) {
	d.report(Finding{Check: d.check, Result: result, Text: text, Fix: fix})
}

// checkProfiles says which profiles were read. Settings with a file that cannot be read are refused before.
func (d *doctor) checkProfiles(context.Context) {
	d.ok("clients may choose the profiles %s", strings.Join(d.Profiles, ", "))
}
