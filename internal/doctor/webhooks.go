package doctor

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/store"
)

// webhookTimeout is for one address. Deliveries have as much.
const webhookTimeout = 15 * time.Second

// checkWebhooks tries to reach the servers of webhooks, by the rules of deliveries. It sends no event: any answer
// of HTTP shows that one would arrive.
func (d *doctor) checkWebhooks(ctx context.Context) {
	registered, err := d.registeredWebhooks(ctx)
	if err != nil {
		d.warn("see what the check of the database says", "the addresses of webhooks cannot be read: %v", err)
	}
	all := append(d.Webhooks, registered...)
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
	client := outbound.NewClient(guard, outbound.Options{Timeout: webhookTimeout, MaxBody: 1 << 16})
	defer client.CloseIdle()
	d.tryWebhooks(ctx, client, distinctHosts(all))
}

// distinctHosts returns the servers of addresses, each once. Paths may have secrets in them.
func distinctHosts(addresses []string) []string {
	var all []string
	for _, host := range addresses {
		if u, err := url.Parse(host); err == nil && u.Host != "" {
			host = u.Scheme + "://" + u.Host
		}
		if !slices.Contains(all, host) {
			all = append(all, host)
		}
	}
	return all
}

// tryWebhooks tries all hosts at once: those that do not answer take long.
func (d *doctor) tryWebhooks(ctx context.Context, client *outbound.Client, hosts []string) {
	outcomes := make([]error, len(hosts))
	var tries sync.WaitGroup
	for i, host := range hosts {
		tries.Go(func() { outcomes[i] = tryHost(ctx, client, host) })
	}
	tries.Wait()
	for i, err := range outcomes {
		if err == nil {
			d.ok("%s is reached", hosts[i])
			continue
		}
		cause := outbound.CauseOf(err)
		fix := webhookFixes[cause]
		if fix == "" {
			fix = "look at the server, and at what lies between"
		}
		d.warn(fix, "%s is not reached: %s", hosts[i], cause.Sentence())
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

// tryHost returns an error unless the host answers, whatever the answer is.
func tryHost(ctx context.Context, client *outbound.Client, host string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, host, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// registeredWebhooks reads where events are sent, of so many webhooks that one sees whether the internet can be reached.
func (d *doctor) registeredWebhooks(ctx context.Context) (all []string, err error) {
	read := func(q store.Queries) (err error) {
		all, err = store.Collect(ctx, q, "read webhooks", func(row *sql.Rows) (address string, err error) {
			err = row.Scan(&address)
			return address, err
		}, `SELECT url FROM webhook WHERE enabled AND NOT pull ORDER BY id LIMIT 20`)
		return err
	}
	if d.DatabaseURL != "" {
		err := store.LookPostgres(ctx, d.DatabaseURL, "webhook", read)
		return all, err
	}
	path := filepath.Join(d.DataDir, datadir.Database)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	err = store.LookSQLite(ctx, path, "webhook", read)
	return all, err
}
