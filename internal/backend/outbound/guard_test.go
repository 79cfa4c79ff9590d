package outbound

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func newGuard(t *testing.T, allow ...string) *Guard {
	t.Helper()
	g, err := NewGuard(allow...)
	if err != nil {
		t.Fatal(err)
	}
	g.timeout = time.Minute // the machine may be busy
	return g
}

func TestOnlyThePublicInternetByDefault(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for _, raw := range []string{
		"https://example.com/hook", "https://8.8.8.8/", "https://[2606:4700::1111]:8443/x?y=z",
		"https://134744072/", "https://[::ffff:8.8.8.8]/", "https://0x08.8.010.8/", "https://user:pw@example.com/",
	} {
		if _, err := g.CheckURL(raw); err != nil {
			t.Errorf("CheckURL(%s) = %v", raw, err)
		}
	}
	for _, raw := range []string{
		// loopback, in the spellings that resolvers know
		"https://127.0.0.1/", "https://127.0.0.1./", "https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://0x7f.1/",
		"https://0177.0.0.1/", "https://017700000001/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/", "https://0/", "https://0x/",
		"https://[::]/", "https://0.0.0.0/",
		// private, shared, link-local and metadata
		"https://10.0.0.1/", "https://172.31.255.255/", "https://192.168.1.1/", "https://100.64.0.1/", "https://100.100.100.200/",
		"https://169.254.169.254/latest/meta-data", "https://0xa9fea9fe/", "https://168.63.129.16/", "https://[fd00:ec2::254]/",
		"https://[fe80::1%25eth0]/", "https://[fc00::1]/", "https://[fec0::1]/",
		// IPv4 in disguise
		"https://[64:ff9b::7f00:1]/", "https://[64:ff9b:1::1]/", "https://[2002:7f00:1::]/", "https://[2001:0:1::]/", "https://[::127.0.0.1]/",
		// no hosts at all
		"https://224.0.0.1/", "https://255.255.255.255/", "https://240.0.0.1/", "https://[ff02::1]/", "https://192.0.2.1/", "https://[2001:db8::1]/",
		"https://256.1.1.1/", "https://1.2.3.4.5/", "https://0x1ffffffff/", "https:///x", "https://", "https://１２７.０.０.１/", "https://exa mple/",
		"https://example.com:0/", "https://example.com:99999/",
		// other schemes
		"http://example.com/", "http://8.8.8.8/", "ftp://example.com/", "file:///etc/passwd", "gopher://x/", "//example.com/", "example.com", "",
		"https://" + strings.Repeat("a", MaxURL),
	} {
		if _, err := g.CheckURL(raw); CauseOf(err) != NotAllowed {
			t.Errorf("CheckURL(%s) = %v; want it refused", raw, err)
		}
	}
}

func TestWhatTheOperatorAllows(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "10.0.0.0/8", "127.0.0.1", "fd00::/8", "Hooks.Internal.", "::ffff:192.168.7.0/120")
	for _, raw := range []string{
		"http://10.1.2.3/", "https://10.1.2.3/", "http://127.0.0.1:3000/", "http://2130706433/", "http://[fd12::1]/",
		"http://hooks.internal/", "http://192.168.7.9/", "https://8.8.8.8/",
		"http://a-name-that-may-lead-into.example/", // judged at the connection
	} {
		if _, err := g.CheckURL(raw); err != nil {
			t.Errorf("CheckURL(%s) = %v", raw, err)
		}
	}
	for _, raw := range []string{"http://8.8.8.8/", "https://127.0.0.2/", "https://192.168.8.1/", "https://[::1]/"} {
		if _, err := g.CheckURL(raw); CauseOf(err) != NotAllowed {
			t.Errorf("CheckURL(%s) = %v; want it refused", raw, err)
		}
	}
	if _, err := newGuard(t, "hooks.internal").CheckURL("http://other.internal/"); CauseOf(err) != NotAllowed {
		t.Errorf("another host than the one allowed: %v", err)
	}
	for _, entry := range []string{"", "10.0.0.0/33", "http://x", "1.2.3.4.5", "a b"} {
		if _, err := NewGuard(entry); err == nil {
			t.Errorf("NewGuard(%q) found nothing wrong", entry)
		}
	}
}

func TestCheckAsksDNS(t *testing.T) {
	t.Parallel()
	dns := startDNS(t, map[string][]string{
		"inside.test.": {"10.0.0.1"}, "outside.test.": {"93.184.216.34"}, "both.test.": {"10.0.0.1", "93.184.216.34"},
	})
	g := newGuard(t)
	g.resolver = dns.resolver()
	for host, allowed := range map[string]bool{"outside.test": true, "both.test": true, "unknown.test": true, "inside.test": false} {
		_, err := g.Check(t.Context(), "https://"+host+"/")
		if (err == nil) != allowed {
			t.Errorf("Check(%s) = %v; allowed: %t", host, err, allowed)
		}
		if e, ok := errors.AsType[*NotAllowedError](err); !allowed && (!ok || strings.Contains(e.Reason, "10.0.0.1")) {
			t.Errorf("Check(%s) = %v; want a sentence that does not tell where it leads", host, err)
		}
	}
	withNetwork := newGuard(t, "10.0.0.0/8")
	withNetwork.resolver = dns.resolver()
	if _, err := withNetwork.Check(t.Context(), "http://inside.test/"); err != nil {
		t.Errorf("http to an allowed network: %v", err)
	}
	if _, err := withNetwork.Check(t.Context(), "http://outside.test/"); CauseOf(err) != NotAllowed {
		t.Errorf("http to the public internet: %v; want it refused", err)
	}
}

// The server of an application in development is on the same machine: the refusal says what to do.
func TestARefusalNamesTheSetting(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for _, address := range []string{"http://localhost:3000/hook", "http://127.0.0.1:3000/hook", "https://127.0.0.1/hook", "https://10.0.0.1/a.mp4"} {
		if _, err := g.CheckURL(address); err == nil || !strings.Contains(err.Error(), "outbound_allow") {
			t.Errorf("%s: %v; want a sentence that names outbound_allow", address, err)
		}
	}
}
