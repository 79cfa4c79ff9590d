package main

import (
	"log/slog"
	"net/url"
	"strings"

	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/service/cdn"
)

// cdnFaults finds what is wrong with the settings of a CDN.
func (c *Config) cdnFaults() []string {
	var faults []string
	if c.CDNURL != "" && !isBase(c.CDNURL) {
		faults = append(faults, `cdn_url must be a URL such as "https://cdn.example.com", without a query or a password.`)
	}
	if c.CDNPurgeURL != "" {
		if u, err := url.Parse(c.CDNPurgeURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			faults = append(faults, `cdn_purge_url must be a URL such as "https://cdn.example.com/purge"; a password belongs in cdn_purge_token.`)
		}
		if c.CDNURL == "" {
			faults = append(faults, "cdn_purge_url is set, but cdn_url is not: what should be purged there?")
		}
	}
	if c.servesRequests() { // a worker sends no purges, and may not be able to read the file
		faults = append(faults, readSecret("cdn_purge_token", &c.CDNPurgeToken, &c.CDNPurgeTokenFile)...)
	}
	switch {
	case c.CDNPurgeToken != "" && c.CDNPurgeURL == "":
		faults = append(faults, "cdn_purge_token is set, but cdn_purge_url is not.")
	case strings.ContainsFunc(c.CDNPurgeToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		faults = append(faults, "cdn_purge_token must be printable ASCII without spaces: it travels in an HTTP header.")
	}
	return faults
}

// isBase reports whether other URLs can start with a URL.
func isBase(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

// redirects reports whether players are sent to the bucket. Behind a CDN they are not: it is there to
// serve the files.
func (c *Config) redirects() bool { return c.Playback == "redirect" && c.CDNURL == "" }

// buildPurges builds what tells a CDN of deletions. A worker deletes nothing that a CDN has.
func (p *parts) buildPurges(c *Config, log *slog.Logger, m *metrics.Metrics) error {
	if c.CDNPurgeURL == "" || !c.servesRequests() {
		return nil
	}
	p.purges = cdn.NewRecorder(p.queue, p.clock.Now)
	p.purger = cdn.NewSender(cdn.Config{BaseURL: c.CDNURL, PurgeURL: c.CDNPurgeURL, Token: c.CDNPurgeToken}, p.store, p.blobs, p.purges, log, m.CDNPurged)
	return nil
}
