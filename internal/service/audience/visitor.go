package audience

import (
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// Visitor is where a report comes from, as its request tells. It is not stored.
type Visitor struct {
	Network   netip.Prefix // of the address: see limit.ClientOf
	UserAgent string
	Referrer  string // the host of the page that sends it; "": none, or this server
	Quiet     bool   // it does not want to be counted any further than as a view
}

// VisitorOf returns who sends a request from a network.
func VisitorOf(r *http.Request, network netip.Prefix) Visitor {
	return Visitor{
		Network: network, UserAgent: r.UserAgent(), Referrer: referrerOf(r),
		Quiet: r.Header.Get("Sec-GPC") == "1" || r.Header.Get("DNT") == "1",
	}
}

func referrerOf(r *http.Request) string {
	u, err := url.Parse(r.Referer())
	if err != nil || u.Host == "" || u.Host == r.Host {
		return ""
	}
	if host := strings.ToLower(u.Hostname()); IsHost(host) {
		return host
	}
	return ""
}

var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// IsHost reports whether a text can be the name of a host, in lower case.
func IsHost(name string) bool { return len(name) <= 253 && hostName.MatchString(name) }
