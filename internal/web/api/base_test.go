package api

import (
	"crypto/tls"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

func TestBase(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	const inside, outside = "10.1.2.3:4567", "192.0.2.1:1234"
	tests := []struct {
		name, setting, peer, host string
		tls                       bool
		headers                   map[string]string
		want                      string // "" means refused
	}{
		{name: "from the request", peer: outside, host: "example.com", want: "http://example.com"},
		{name: "with a port", peer: outside, host: "example.com:8080", want: "http://example.com:8080"},
		{name: "IPv6", peer: outside, host: "[::1]:8080", want: "http://[::1]:8080"},
		{name: "over TLS", peer: outside, host: "example.com", tls: true, want: "https://example.com"},
		{name: "the setting wins", setting: "https://v.example.com/x/", peer: inside, host: "evil", headers: map[string]string{"X-Forwarded-Host": "evil"}, want: "https://v.example.com/x"},
		{name: "headers of an untrusted peer are ignored", peer: outside, host: "h", headers: map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil", "Forwarded": "host=evil"}, want: "http://h"},
		{name: "headers of a trusted proxy are used", peer: inside, host: "h", headers: map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "video.example.com"}, want: "https://video.example.com"},
		{name: "a proxy with IPv6", peer: "[fd00::1]:1", host: "h", headers: map[string]string{"X-Forwarded-Proto": "https"}, want: "https://h"},
		{name: "a proxy with mapped IPv4", peer: "[::ffff:10.0.0.1]:1", host: "h", headers: map[string]string{"X-Forwarded-Proto": "https"}, want: "https://h"},
		{name: "the last element is the proxy's own", peer: inside, host: "h", headers: map[string]string{"X-Forwarded-Proto": "http, https", "X-Forwarded-Host": "evil, good.example.com"}, want: "https://good.example.com"},
		{name: "Forwarded", peer: inside, host: "h", headers: map[string]string{"Forwarded": `for=1.1.1.1;host=evil, for="[::1]:1"; Host="v.example.com:8443";proto=HTTPS`, "X-Forwarded-Host": "other"}, want: "https://v.example.com:8443"},
		{name: "invalid values of a proxy are ignored", peer: inside, host: "h", headers: map[string]string{"X-Forwarded-Proto": "gopher", "X-Forwarded-Host": "a/b"}, want: "http://h"},
		{name: "a peer without an address", peer: "@", host: "h", headers: map[string]string{"X-Forwarded-Host": "evil"}, want: "http://h"},
		{name: "no host", peer: outside, host: ""},
		{name: "a host with a path", peer: outside, host: "a/b"},
		{name: "a host with a user", peer: outside, host: "user@b"},
		{name: "a host with a quote", peer: outside, host: `a"b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr, r.Host = tt.peer, tt.host
			if tt.tls {
				r.TLS = &tls.ConnectionState{}
			}
			for k, v := range tt.headers {
				r.Header.Set(k, v)
			}
			c := Config{BaseURL: tt.setting, TrustedProxies: proxies}
			got, err := c.base(r)
			if tt.want == "" && (err == nil || video.KindOf(err) != video.Invalid) || tt.want != "" && err != nil || got != tt.want {
				t.Errorf("base = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestInvalidHostIsRejected(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	q := request("POST", "/api/video", validDraft)
	q.Host = "a b"
	wantProblem(t, r.send(q), 400, "invalid_request")
	if u, err := r.Tenants.Usage(t.Context(), r.By); err != nil || u.Videos != 0 {
		t.Errorf("there are %d videos, %v", u.Videos, err)
	}
}
