package api

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// guess sends a request with an API key from an address.
func guess(h http.Handler, key, from string, header ...string) (status int, retryAfter string) {
	r := request("GET", "/api/video", "")
	r.Header.Set("X-API-KEY", key)
	r.RemoteAddr = from
	for _, h := range header {
		r.Header.Add("X-Forwarded-For", h)
	}
	w := do(h, r)
	return w.Code, w.Header().Get("Retry-After")
}

func TestGuessesAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := newHandler(t, new(fakeService), Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		refused := 0
		for i := range 2000 {
			status, retry := guess(h, fmt.Sprint("guess-", i), "192.0.2.1:4000")
			if status == http.StatusTooManyRequests && retry == "1" {
				refused++
			} else if status != http.StatusUnauthorized {
				t.Fatalf("guess %d: status %d, Retry-After %q", i, status, retry)
			}
		}
		if refused != 2000-failureBurst {
			t.Errorf("%d of 2000 guesses are refused; want all but %d", refused, failureBurst)
		}
		if n := strings.Count(log.String(), "invalid API keys"); n != 1 || !strings.Contains(log.String(), "192.0.2.1") || strings.Contains(log.String(), "guess-") {
			t.Errorf("the log says\n%s; want one warning with the address", &log)
		}
		if status, _ := guess(h, testKey, "192.0.2.1:4001"); status != http.StatusOK {
			t.Errorf("a valid key from the same address: status %d", status)
		}
		if status, _ := guess(h, "", "192.0.2.1:4002"); status != http.StatusUnauthorized {
			t.Errorf("no key from the same address: status %d", status)
		}
		if status, _ := guess(h, "guess", "192.0.2.2:4000"); status != http.StatusUnauthorized {
			t.Errorf("a guess from another address: status %d", status)
		}
		time.Sleep(time.Second)
		first, _ := guess(h, "guess", "192.0.2.1:4000")
		second, _ := guess(h, "guess", "192.0.2.1:4000")
		if first != http.StatusUnauthorized || second != http.StatusTooManyRequests {
			t.Errorf("two guesses a second later: %d and %d; want one of them refused", first, second)
		}
	})
}

func TestClientOfARequest(t *testing.T) {
	t.Parallel()
	c := &Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
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
		r := request("GET", "/api/video", "")
		r.RemoteAddr, r.Header["X-Forwarded-For"] = tt.peer, tt.forwarded
		if got := c.client(r).String(); got != tt.want {
			t.Errorf("%s: client %s; want %s", tt.name, got, tt.want)
		}
	}
}

// Many addresses fill no memory, and make nobody forgotten who goes on.
func TestFailedClientsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	f := &failures{now: func() time.Time { return now }}
	guesser := netip.MustParsePrefix("192.0.2.1/32")
	refused := 0
	for i := range 3 * maxFailedClients {
		if err := f.count(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 && f.count(guesser) != nil {
			refused++
		}
	}
	if len(f.clients) != maxFailedClients || f.order.Len() != maxFailedClients {
		t.Errorf("%d clients in the map, %d in the list; want %d", len(f.clients), f.order.Len(), maxFailedClients)
	}
	if want := 3*maxFailedClients/100 - failureBurst; refused != want {
		t.Errorf("%d guesses refused among others; want %d", refused, want)
	}
}
