package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/store"
)

// webhookPatience is for one address. Deliveries have as much.
const webhookPatience = 15 * time.Second

// checkWebhooks tries to reach the servers of webhooks, by the rules of deliveries. It sends no event: any answer
// of HTTP shows that one would arrive.
func (d *doctor) checkWebhooks(ctx context.Context) {
	registered, err := d.registeredWebhooks(ctx)
	if err != nil {
		d.warn("see what the check of the database says", "the addresses of webhooks cannot be read: %v", err)
	}
	all := append(d.webhooks, registered...)
	if len(all) == 0 {
		if err == nil {
			d.ok("none is registered; try an address with --webhook=URL")
		}
		return
	}
	guard, err := outbound.NewGuard(d.OutboundAllow...)
	if err != nil {
		d.fail("mend the setting", "outbound_allow: %v", err)
		return
	}
	client := outbound.NewClient(guard, outbound.Options{Timeout: webhookPatience, MaxBody: 1 << 16})
	defer client.CloseIdle()
	seen := map[string]bool{}
	for _, address := range all {
		host := address
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			host = u.Scheme + "://" + u.Host // paths may have secrets in them
		}
		if !seen[host] {
			seen[host] = true
			d.tryWebhook(ctx, client, host)
		}
	}
}

// webhookFixes say what to do about a server that is not reached.
var webhookFixes = map[outbound.Cause]string{
	outbound.NotAllowed:     "use https and a public address, or name the network in outbound_allow",
	outbound.UnknownHost:    "look at the name, and at the DNS of this machine",
	outbound.TimedOut:       "let this machine reach the internet on that port (firewall, NAT); proxies of the environment are not used",
	outbound.BadCertificate: "give the server a certificate for its name, with its whole chain",
	outbound.NoTLS:          "use https on a port that speaks TLS",
	outbound.Refused:        "start the server, or look at the port",
}

func (d *doctor) tryWebhook(ctx context.Context, client *outbound.Client, host string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, host, nil)
	if err != nil {
		d.fail(webhookFixes[outbound.NotAllowed], "%s is no address: %v", host, err)
		return
	}
	res, err := client.Do(req)
	if err != nil {
		cause := outbound.CauseOf(err)
		fix := webhookFixes[cause]
		if fix == "" {
			fix = "look at the server, and at what lies between"
		}
		d.warn(fix, "%s is not reached: %s", host, cause.Sentence())
		return
	}
	res.Body.Close()
	d.ok("%s is reached", host)
}

// registeredWebhooks reads where events are sent, of the first webhooks.
func (d *doctor) registeredWebhooks(ctx context.Context) ([]string, error) {
	if d.DatabaseURL != "" {
		return store.PostgresWebhookURLs(ctx, d.DatabaseURL)
	}
	path := filepath.Join(d.DataDir, databaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return store.SQLiteWebhookURLs(ctx, path)
}
