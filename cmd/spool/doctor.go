package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/clientcmd"
)

type doctorCommand struct {
	Config
	JSON    bool     `name:"json" help:"Print JSON, one finding on each line."`
	Webhook []string `name:"webhook" placeholder:"URL" help:"Also try to reach these addresses as a webhook would."`
}

func (doctorCommand) Help() string {
	return `Looks at this machine with the settings of spool serve, and says what would keep the
service from working well, and what to do about it: ffmpeg, the sandbox, limits of the
system, the disk and its speed, the database and its rights, the storage (a probe is
written, read and deleted), clocks, whether base_url leads to the service and lets large
files and events through, and whether the addresses of webhooks can be reached (with a
HEAD request; no event is sent). It changes nothing, and may run beside the service.

    spool doctor
    spool doctor --data-dir=/var/lib/spool --base-url=https://video.example.com
    spool doctor --config=/etc/spool.toml --json
    spool doctor --webhook=https://example.com/hooks/spool

Exit codes: 0 the service will work (there may be warnings), 1 something is in its way,
2 a setting is wrong.
`
}

// The results of a check.
const (
	healthy = "ok"
	warning = "warning" // it works, but not well
	broken  = "failure" // it does not work
)

// finding is what a check found.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
}

// doctor examines the machine with some settings.
type doctor struct {
	*Config
	http   *http.Client
	log    *slog.Logger
	now    func() time.Time
	report func(finding)

	webhooks []string // addresses that were named

	check    string // the one that runs
	failures int
}

// checkTimeout bounds each check: the attacks on the sandbox take the longest.
const checkTimeout = 3 * time.Minute

// Run examines the machine.
func (c *doctorCommand) Run(ctx context.Context, p *process) error {
	d := &doctor{
		Config: &c.Config, http: &http.Client{Timeout: time.Minute}, log: slog.New(slog.DiscardHandler), now: p.now,
		report: func(f finding) { printFinding(p.stdout, f, c.JSON) }, webhooks: c.Webhook,
	}
	d.examine(ctx)
	if d.failures > 0 {
		return &clientcmd.Ended{Code: exitError} // the findings say why
	}
	return nil
}

// examine makes all checks, one after the other.
func (d *doctor) examine(ctx context.Context) {
	for _, check := range []struct {
		name string
		run  func(context.Context)
		skip bool
	}{
		{"ffmpeg", d.checkFFmpeg, !d.runsTasks()},
		{"sandbox", d.checkSandbox, !d.runsTasks()},
		{"limits", d.checkLimits, false},
		{"disk", d.checkDisk, false},
		{"database", d.checkDatabase, false},
		{"storage", d.checkStorage, false},
		{"server", d.checkServer, !d.servesRequests()},
		{"base_url", d.checkBaseURL, !d.servesRequests()},
		{"webhooks", d.checkWebhooks, !d.servesRequests()},
	} {
		if check.skip {
			continue
		}
		d.check = check.name
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		check.run(ctx)
		cancel()
	}
}

func (d *doctor) ok(format string, args ...any) {
	d.addFinding(healthy, fmt.Sprintf(format, args...), "")
}

func (d *doctor) warn(fix, format string, args ...any) {
	d.addFinding(warning, fmt.Sprintf(format, args...), fix)
}

func (d *doctor) fail(fix, format string, args ...any) {
	d.failures++
	d.addFinding(broken, fmt.Sprintf(format, args...), fix)
}

func (d *doctor) addFinding(result, text, fix string) {
	d.report(finding{Check: d.check, Result: result, Text: text, Fix: fix})
}

// printFinding prints one finding; nobody hears of a closed pipe.
func printFinding(w io.Writer, f finding, asJSON bool) {
	if asJSON {
		_ = json.NewEncoder(w).Encode(f)
		return
	}
	fmt.Fprintf(w, "%-8s %-9s %s\n", f.Result, f.Check, strings.ReplaceAll(f.Text, "\n", " "))
	if f.Fix != "" {
		fmt.Fprintf(w, "%18s fix: %s\n", "", f.Fix)
	}
}
