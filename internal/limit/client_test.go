package limit_test

import (
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/spool-video/spool/internal/limit"
)

func TestClientOfARequest(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	tests := []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"no proxy", "192.0.2.1:5", nil, "192.0.2.1/32"},
		{"a network of IPv6", "[2001:db8:1:2:3::4]:5", nil, "2001:db8:1:2::/64"},
		{"IPv4 written as IPv6", "[::ffff:192.0.2.1]:5", nil, "192.0.2.1/32"},
		{"somebody who pretends to be a proxy", "192.0.2.1:5", []string{"198.51.100.1"}, "192.0.2.1/32"},
		{"a trusted proxy", "10.0.0.1:5", []string{"198.51.100.1"}, "198.51.100.1/32"},
		{"two trusted proxies", "[fd00::1]:5", []string{"198.51.100.1, 10.0.0.2"}, "198.51.100.1/32"},
		{"a client that writes the header, too", "10.0.0.1:5", []string{"203.0.113.1", "203.0.113.2, 198.51.100.1"}, "198.51.100.1/32"},
		{"a proxy that adds the port", "10.0.0.1:5", []string{"[2001:db8::1]:77"}, "2001:db8::/64"},
		{"a proxy that does not say", "10.0.0.1:5", nil, "10.0.0.1/32"},
		{"a proxy that writes nonsense", "10.0.0.1:5", []string{"198.51.100.1, unknown"}, "10.0.0.1/32"},
		{"a zone", "[fe80::1%eth0]:5", nil, "fe80::/64"},
		{"no address", "@", nil, "invalid Prefix"},
	}
	for _, tt := range tests {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = tt.peer, tt.forwarded
		if got := limit.ClientOf(r, proxies).String(); got != tt.want {
			t.Errorf("%s: client %s; want %s", tt.name, got, tt.want)
		}
	}
}
