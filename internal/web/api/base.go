package api

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/video"
)

// validHost matches a host name or IP address, with or without a port. It becomes part
// of URLs in responses, so nothing else that a client can send may pass.
var validHost = regexp.MustCompile(`^([A-Za-z0-9_]([A-Za-z0-9._-]{0,253})|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$`)

// base returns the base of the URLs in the response to r.
func (c *Config) base(r *http.Request) (string, error) {
	if c.BaseURL != "" {
		return strings.TrimRight(c.BaseURL, "/"), nil
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if c.trusts(r.RemoteAddr) {
		proto, name := forwarded(r.Header)
		if proto == "http" || proto == "https" {
			scheme = proto
		}
		if validHost.MatchString(name) {
			host = name
		}
	}
	if !validHost.MatchString(host) {
		return "", video.InvalidFields(video.Fault{Field: "Host", Code: "invalid_host", Message: "must be a host name or an IP address, with or without a port"})
	}
	return scheme + "://" + host, nil
}

// Base returns the base of the URLs in the response to r.
func (a *API) Base(r *http.Request) (string, error) { return a.config.base(r) }

func (c *Config) trusts(peer string) bool {
	ap, err := netip.ParseAddrPort(peer)
	if err != nil {
		return false
	}
	return limit.Contains(c.TrustedProxies, ap.Addr())
}

// forwarded returns the scheme and the host of the request that the nearest proxy got.
// If a header has several elements, only the last was added by the trusted peer; those
// before it may come from the client.
func forwarded(h http.Header) (proto, host string) {
	if f := h.Values("Forwarded"); len(f) > 0 {
		for pair := range strings.SplitSeq(lastElement(f), ";") {
			name, value, _ := strings.Cut(pair, "=")
			value = strings.Trim(strings.TrimSpace(value), `"`)
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "proto":
				proto = strings.ToLower(value)
			case "host":
				host = value
			}
		}
		return proto, host
	}
	return strings.ToLower(lastElement(h.Values("X-Forwarded-Proto"))), lastElement(h.Values("X-Forwarded-Host"))
}

// lastElement returns the last element of a list header.
func lastElement(values []string) string {
	all := strings.Join(values, ",")
	return strings.TrimSpace(all[strings.LastIndexByte(all, ',')+1:])
}
