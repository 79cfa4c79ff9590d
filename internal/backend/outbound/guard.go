package outbound

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Guard knows which addresses may be reached.
type Guard struct {
	networks []netip.Prefix
	hosts    []string
	resolver *net.Resolver
	timeout  time.Duration // for asking it in Check
}

// NewGuard returns a guard that allows, beside the public internet by https, what the
// operator lists: networks ("10.0.0.0/8"), addresses and host names.
func NewGuard(allow ...string) (*Guard, error) {
	g := &Guard{resolver: net.DefaultResolver, timeout: lookupTimeout}
	for _, entry := range allow {
		entry = strings.TrimSpace(entry)
		if p, err := netip.ParsePrefix(entry); err == nil {
			g.networks = append(g.networks, plainPrefix(p))
		} else if a, is, bad := literal(entry); is {
			g.networks = append(g.networks, netip.PrefixFrom(a, a.BitLen()))
		} else if host := cleanHost(entry); !bad && validName(host) {
			g.hosts = append(g.hosts, host)
		} else {
			shown := entry[strings.LastIndex(entry, "@")+1:] // before it, a URL has a password
			return nil, fmt.Errorf("%q is neither a network nor a host name", shown)
		}
	}
	return g, nil
}

// plainPrefix is plainAddr for a network.
func plainPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked()
}

func cleanHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// validName reports whether a host name consists of what host names consist of.
func validName(host string) bool {
	return host != "" && len(host) <= 253 && !strings.ContainsFunc(host, func(r rune) bool {
		return !(r == '-' || r == '.' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z')
	})
}

// MaxURL is the length of the longest address that is accepted.
const MaxURL = 2048

// CheckURL parses an address and says what can be said without asking DNS. Its errors
// are of type *NotAllowedError, with a sentence for the client.
func (g *Guard) CheckURL(raw string) (*url.URL, error) {
	if len(raw) > MaxURL {
		return nil, notAllowed("The address has more than %d characters.", MaxURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, notAllowed("The address is not a valid URL.")
	}
	return u, g.checkURL(u)
}

func (g *Guard) checkURL(u *url.URL) error {
	host := cleanHost(u.Hostname())
	if u.Scheme != "https" && u.Scheme != "http" {
		return notAllowed("The address must begin with https://.")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return notAllowed("The port of the address must be a number from 1 to 65535.")
		}
	}
	plain := u.Scheme == "http"
	if a, is, bad := literal(host); is {
		return g.checkAddr(a, host, plain)
	} else if bad || !validName(host) {
		return notAllowed("The address needs the name of a host, in ASCII (xn--… for other letters).")
	}
	if plain && len(g.networks) == 0 && !slices.Contains(g.hosts, host) {
		return errPlain
	}
	return nil
}

// lookupTimeout is how long a client waits for DNS when its address is checked.
const lookupTimeout = 3 * time.Second

// Check is CheckURL, and refuses names that DNS resolves to nothing but addresses that
// are not allowed. A name that does not resolve now may do so later, and is accepted.
func (g *Guard) Check(ctx context.Context, raw string) (*url.URL, error) {
	u, err := g.CheckURL(raw)
	if err != nil {
		return u, err
	}
	host := cleanHost(u.Hostname())
	if _, is, _ := literal(host); is {
		return u, nil // and was judged
	}
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	addrs, err := g.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return u, nil
	}
	var refusal error
	for _, a := range addrs {
		if refusal = g.checkAddr(plainAddr(a), host, u.Scheme == "http"); refusal == nil {
			return u, nil
		}
	}
	return u, refusal
}

// checkAddr says whether a connection to an address may be made. host is the name that
// led to it.
func (g *Guard) checkAddr(a netip.Addr, host string, plain bool) error {
	switch {
	case within(a, g.networks) || slices.Contains(g.hosts, host):
		return nil
	case !public(a):
		return errNotPublic
	case plain:
		return errPlain
	}
	return nil
}

// NotAllowedError says why an address may not be reached, in a sentence that does not
// tell where its name leads.
type NotAllowedError struct{ Reason string }

func (e *NotAllowedError) Error() string { return e.Reason }

func notAllowed(format string, args ...any) *NotAllowedError {
	return &NotAllowedError{fmt.Sprintf(format, args...)}
}

var (
	errNotPublic = notAllowed("The address does not belong to the public internet. The operator of the server can allow it with the setting outbound_allow.")
	errPlain     = notAllowed("The address must begin with https://. The operator of the server can allow http to a host with the setting outbound_allow.")
)
