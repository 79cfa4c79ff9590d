package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/clientcmd"
	"github.com/spool-video/spool/internal/doctor"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/internal/video"
)

type doctorCommand struct {
	Config
	JSON    bool     `name:"json" help:"Print JSON, one finding on each line."`
	Webhook []string `name:"webhook" placeholder:"URL" help:"Also try to reach these addresses as a webhook would."`
}

func (doctorCommand) Help() string {
	return `Checks this machine with the settings of spool serve, and says what to fix:

    ffmpeg, the sandbox, and the limits of the system
    the disk and its speed
    the database and its rights
    the storage: it writes, reads and deletes a small object
    clocks
    base_url: it must lead to the service, and let large files and events through
    addresses of webhooks: they get a HEAD request, and no event

It changes nothing, and may run beside the service.

    spool doctor
    spool doctor --data-dir=/var/lib/spool --base-url=https://video.example.com
    spool doctor --config=/etc/spool.toml --json
    spool doctor --webhook=https://example.com/hooks/spool

Exit codes: 0 the service will work (there may be warnings), 1 something is in its way,
2 a setting is wrong.
`
}

// Run examines the machine.
func (c *doctorCommand) Run(ctx context.Context, p *process) error {
	report := func(f doctor.Finding) { printFinding(p.stdout, f, c.JSON) }
	if failures := doctor.Examine(ctx, c.doctorConfig(), p.now, report); failures > 0 {
		return &clientcmd.Ended{Code: exitError} // the findings say why
	}
	return nil
}

// doctorConfig is what the doctor examines.
func (c *doctorCommand) doctorConfig() doctor.Config {
	log := slog.New(slog.DiscardHandler)
	var profiles []string
	if all, faults := c.profiles(); len(faults) == 0 { // settings with faults are refused before
		for _, p := range all {
			profiles = append(profiles, p.Name)
		}
	}
	return doctor.Config{
		Profiles: profiles,
		DataDir:  c.DataDir, DatabaseURL: c.DatabaseURL, StorageURL: c.StorageURL, BaseURL: c.BaseURL,
		Address: publicAddress("", listenAddress(c.Listen)), MinFree: int64(c.MinFree), MaxUploadBytes: int64(c.MaxUploadBytes),
		OutboundAllow: c.OutboundAllow, Webhooks: c.Webhook, Codecs: append([]string{string(video.H264)}, c.Codecs...), Workers: c.workers(),
		RunsTasks: c.runsTasks(), ServesRequests: c.servesRequests(), Unconfined: sandbox.Mode(c.Sandbox) == sandbox.Off,
		Parts: doctor.Parts{
			Tools: c.tools,
			TryEngine: func(ctx context.Context) ([]video.PictureFormat, error) {
				engine, err := c.openEngine(ctx, nil, log)
				if err != nil {
					return nil, err
				}
				return engine.PictureFormats(), nil
			},
			Confine: func(ctx context.Context) (*sandbox.Sandbox, error) { return c.confine(ctx, log) },
			OpenBucket: func(ctx context.Context) (blob.Store, error) {
				return openBucket(ctx, c.StorageURL, storageTimeout, log)
			},
		},
	}
}

// printFinding prints one finding. An error means that nothing reads the output.
func printFinding(w io.Writer, f doctor.Finding, asJSON bool) {
	if asJSON {
		_ = json.NewEncoder(w).Encode(f)
		return
	}
	fmt.Fprintf(w, "%-8s %-9s %s\n", f.Result, f.Check, strings.ReplaceAll(f.Text, "\n", " "))
	if f.Fix != "" {
		fmt.Fprintf(w, "%18s fix: %s\n", "", f.Fix)
	}
}

// listenAddress is the address of the setting listen, if it has one.
func listenAddress(listen string) net.Addr {
	if ap, err := netip.ParseAddrPort(listen); err == nil {
		return net.TCPAddrFromAddrPort(ap)
	}
	host, port, _ := net.SplitHostPort(listen)
	return hostPort(net.JoinHostPort(host, port))
}

// hostPort is an address with a name, or without a host.
type hostPort string

func (h hostPort) Network() string { return "tcp" }

func (h hostPort) String() string {
	if strings.HasPrefix(string(h), ":") {
		return "127.0.0.1" + string(h)
	}
	return string(h)
}
