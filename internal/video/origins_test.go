package video_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

func TestSites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ entry, stored, in, out string }{
		{"example.com", "example.com", "https://example.com http://example.com https://EXAMPLE.com:443 http://example.com:80",
			"https://www.example.com https://evilexample.com https://example.com.evil.com https://example.com:8443 http://example.com:443 https://example.co https://example.com. https://com"},
		{"*.Example.org", "*.example.org", "https://a.example.org https://a.b.c.example.org", "https://example.org https://evilexample.org https://a.example.org.evil.com https://aexample.org"},
		{"https://app.example.com:8443", "https://app.example.com:8443", "https://app.example.com:8443", "http://app.example.com:8443 https://app.example.com https://x.app.example.com:8443"},
		{"https://app.example.com:443", "https://app.example.com", "https://app.example.com", "http://app.example.com"},
		{"http://*.example.com", "http://*.example.com", "http://a.example.com", "https://a.example.com"},
		{"localhost:3000", "localhost:3000", "http://localhost:3000 https://localhost:3000", "http://localhost http://localhost:3001"},
		{"192.0.2.7", "192.0.2.7", "https://192.0.2.7", "https://1.192.0.2.7"},
		{"[2001:DB8::0:1]:8080", "[2001:db8::1]:8080", "http://[2001:db8::1]:8080 http://[2001:db8:0::1]:8080", "http://[2001:db8::1]"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example", "https://xn--bcher-kva.example", "https://bucher.example"},
		{" example.com ", "example.com", "https://example.com/a/page?x=1#y https://user:pass@example.com/", "https://example.com@evil.com/ https://evil.com/https://example.com https://evil.com#example.com ftp://example.com null about:blank //example.com example.com data:text/html,x"},
	} {
		site, err := video.ParseSite(tt.entry)
		if err != nil || site.String() != tt.stored {
			t.Errorf("%q is %q, %v; want %q", tt.entry, site, err, tt.stored)
		}
		for want, list := range map[bool]string{true: tt.in, false: tt.out} {
			for _, address := range strings.Fields(list) {
				o, ok := video.ParseOrigin(address)
				if got := ok && site.Of(o); got != want {
					t.Errorf("%s is of %s: %t", address, site, got)
				}
			}
		}
	}
}

func TestSourcesOfAPolicy(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"example.com": "http://example.com", "*.example.com:81": "http://*.example.com:81", "https://[::1]:8443": "https://[::1]:8443",
	} {
		site, err := video.ParseSite(entry)
		if got := site.Source(); err != nil || got != want {
			t.Errorf("%s becomes %q, %v; want %q", entry, got, err, want)
		}
	}
}

func TestEntriesThatAreNoSites(t *testing.T) {
	t.Parallel()
	bad := []string{"", " ", "*", "*.", "https://", "ftp://example.com", "https://example.com/", "example.com/path", "a b.com", "a..com", ".com", "com.", "-a.com", "a.*.com", "*example.com",
		"example.com:0", "example.com:65536", "example.com:x", "example.com:", "user@example.com", "2001:db8::1", "[::1", "[1.2.3.4]", "*.[::1]", "*.1.2.3.4", "bücher.example", "null", "example.com;script-src *",
		"example.com'", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 150) + "com", "example.com?x", "a\x00.com", "[fe80::1%25eth0]"}
	// "null" is a host like any other name, which no origin of a browser has.
	bad = slices.DeleteFunc(bad, func(s string) bool { return s == "null" })
	faults := video.CheckOrigins(bad)
	if len(faults) != len(bad) {
		t.Errorf("%d of %d have faults: %v", len(faults), len(bad), faults)
	}
	if faults := video.CheckOrigins(make([]string, 51)); faults[0].Field != "allowedOrigins" || len(faults) != 52 {
		t.Errorf("51 entries have %d faults, first %v", len(faults), faults[0])
	}
	if got := video.CleanOrigins([]string{"Example.com", "example.com", "https://a.b"}); !slices.Equal(got, []string{"example.com", "https://a.b"}) {
		t.Errorf("a list is kept as %q", got)
	}
	if video.CleanOrigins(nil) != nil || video.CleanOrigins([]string{}) == nil {
		t.Error("no list and an empty one are not told apart")
	}
}
