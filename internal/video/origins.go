package video

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxOrigins is how many sites a video may name.
const MaxOrigins = 50

// maxOrigin is how many characters the address of a site may have.
const maxOrigin = 300

// Site is an entry of a video's allowed origins: a host, such as example.com, or all hosts below one, such as
// *.example.com.
type Site struct {
	scheme string // "": http and https
	host   string // in lower case, without the star; an address of IPv6 without brackets
	below  bool   // hosts below it, and not the host itself
	port   string // "": the usual port of the scheme
}

// ParseSite parses an entry: a host, if need be with a scheme in front and a port behind it.
func ParseSite(s string) (Site, error) {
	var site Site
	rest := strings.ToLower(strings.TrimSpace(s))
	if rest == "*" {
		return Site{}, fmt.Errorf("must name hosts; null in the place of the list means all of them")
	}
	if len(rest) > maxOrigin {
		return Site{}, fmt.Errorf("must have at most %d characters", maxOrigin)
	}
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		if scheme != "http" && scheme != "https" {
			return Site{}, fmt.Errorf("must begin with http:// or https://, or name no scheme")
		}
		site.scheme, rest = scheme, after
	}
	rest, site.below = strings.CutPrefix(rest, "*.")
	host, port, err := splitPort(rest)
	if err != nil {
		return Site{}, err
	}
	if site.host, err = siteHost(host, site.below); err != nil {
		return Site{}, err
	}
	if port != "" && port != defaultPort(site.scheme) {
		site.port = port
	}
	return site, nil
}

// splitPort cuts the port off a host. An address of IPv6 is in brackets.
func splitPort(s string) (host, port string, err error) {
	host = s
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		host, port = s[:i], s[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port != strconv.FormatUint(n, 10) {
			return "", "", fmt.Errorf("has a port that is not a number from 1 to 65535; IPv6 needs brackets")
		}
	}
	return host, port, nil
}

// siteHost checks a host and returns it as origins of browsers have it.
func siteHost(host string, below bool) (string, error) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !strings.HasSuffix(inner, "]") || !a.Is6() || a.Zone() != "" || below {
			return "", fmt.Errorf("is no address of IPv6 in brackets")
		}
		return a.String(), nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if below {
			return "", fmt.Errorf("has a star before an address, below which there is nothing")
		}
		return a.String(), nil
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r > '~' }) {
		return "", fmt.Errorf("must be written as browsers send it: in Punycode, such as xn--bcher-kva.example")
	}
	if len(host) > 253 || !validLabels(host) {
		return "", fmt.Errorf("must be a host such as example.com, *.example.com or https://example.com:8443, without a path")
	}
	return host, nil
}

// validLabels reports whether a host consists of labels as names have them.
func validLabels(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_') }) {
			return false
		}
	}
	return true
}

func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	}
	return ""
}

// String returns the site as it is stored and shown.
func (s Site) String() string {
	var b strings.Builder
	if s.scheme != "" {
		b.WriteString(s.scheme + "://")
	}
	if s.below {
		b.WriteString("*.")
	}
	b.WriteString(s.hostPort())
	return b.String()
}

func (s Site) hostPort() string {
	host := s.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if s.port != "" {
		host += ":" + s.port
	}
	return host
}

// Source returns the site as a Content-Security-Policy names it, where http stands for https, too. A source without a
// scheme would mean the scheme of the page with the policy.
func (s Site) Source() string {
	if s.scheme == "" {
		s.scheme = "http"
	}
	return s.String()
}

// Origin is where a request comes from.
type Origin struct{ scheme, host, port string }

// ParseOrigin parses the Origin header of a request, or the address of a page in its Referer. Of anything that is not
// exactly the address of a page, nothing can be said.
func ParseOrigin(address string) (Origin, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return Origin{}, false
	}
	host := strings.ToLower(u.Hostname())
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.String()
	}
	port := u.Port()
	if port == "" {
		port = defaultPort(u.Scheme)
	}
	return Origin{u.Scheme, host, port}, true
}

// Of reports whether an origin is of this site.
func (s Site) Of(o Origin) bool {
	if s.scheme != "" && s.scheme != o.scheme {
		return false
	}
	want := s.port
	if want == "" {
		want = defaultPort(o.scheme)
	}
	if o.port != want {
		return false
	}
	if s.below {
		return strings.HasSuffix(o.host, "."+s.host) && net.ParseIP(o.host) == nil
	}
	return o.host == s.host
}

// CheckOrigins returns what is wrong with a list of sites.
func CheckOrigins(list []string) []Fault {
	const field = "allowedOrigins"
	var faults []Fault
	if len(list) > MaxOrigins {
		faults = append(faults, Fault{field, "out_of_range", fmt.Sprintf("must have at most %d entries, has %d", MaxOrigins, len(list))})
	}
	for i, entry := range list {
		if _, err := ParseSite(entry); err != nil {
			faults = append(faults, Fault{fmt.Sprintf("%s[%d]", field, i), "not_allowed", err.Error()})
		}
	}
	return faults
}

// CleanOrigins returns a valid list as it is stored: each site once. Nil stays nil.
func CleanOrigins(list []string) []string {
	if list == nil {
		return nil
	}
	out := []string{}
	for _, entry := range list {
		if site, err := ParseSite(entry); err == nil && !slices.Contains(out, site.String()) {
			out = append(out, site.String())
		}
	}
	return out
}

// Sites are the allowed origins of a video, parsed.
func (v *Video) Sites() []Site {
	var all []Site
	for _, entry := range v.AllowedOrigins {
		if site, err := ParseSite(entry); err == nil { // it was checked
			all = append(all, site)
		}
	}
	return all
}

// Restricted reports whether a video may be played on some sites only.
func (v *Video) Restricted() bool { return v.AllowedOrigins != nil }
