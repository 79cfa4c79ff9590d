package outbound

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// get requests an address and reads the response.
func get(t *testing.T, c *Client, address string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res, string(b), err
}

func trust(s *httptest.Server) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return pool
}

func hello(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello "+r.URL.Path) }

func TestAConnectionIsJudgedAfterDNS(t *testing.T) {
	t.Parallel()
	var hits int
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hits++; hello(w, r) }))
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	dns := startDNS(t, map[string][]string{"rebound.test.": {"93.184.216.34"}})
	g := newGuard(t)
	g.resolver = dns.resolver()
	c := NewClient(g, Options{Timeout: time.Minute, RootCAs: trust(s)})

	address := "https://rebound.test:" + port + "/"
	if _, err := g.Check(t.Context(), address); err != nil {
		t.Fatalf("a public name is refused: %v", err)
	}
	dns.set("rebound.test.", "127.0.0.1") // the name changes between check and connection
	for _, a := range []string{address, "https://localhost:" + port + "/", s.URL} {
		if _, _, err := get(t, c, a); CauseOf(err) != NotAllowed {
			t.Errorf("GET %s: %v; want it not allowed", a, err)
		}
	}
	if hits > 0 {
		t.Errorf("%d requests arrived", hits)
	}

	g.hosts = []string{"rebound.test"} // now the operator wants it
	_, _, err := get(t, c, address)
	if CauseOf(err) != BadCertificate { // it is of example.com
		t.Errorf("a host that the operator allows: %v; want that only its certificate is wrong", err)
	}
}

func TestAllowedNetworksByHTTPAndHTTPS(t *testing.T) {
	t.Parallel()
	secure, plain := httptest.NewTLSServer(http.HandlerFunc(hello)), httptest.NewServer(http.HandlerFunc(hello))
	defer secure.Close()
	defer plain.Close()
	c := NewClient(newGuard(t, "127.0.0.0/8"), Options{Timeout: time.Minute, RootCAs: trust(secure)})
	_, port, _ := net.SplitHostPort(plain.Listener.Addr().String())
	for _, a := range []string{secure.URL, plain.URL, "http://2130706433:" + port, "http://0x7f.1:" + port} {
		if _, text, err := get(t, c, a+"/a"); err != nil || text != "hello /a" {
			t.Errorf("GET %s = %q, %v", a, text, err)
		}
	}
}

// A proxy of the environment would connect wherever it likes.
func TestNoProxyFromTheEnvironment(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy was used") }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	c := NewClient(newGuard(t, "127.0.0.1"), Options{Timeout: time.Minute})
	for _, tr := range []*http.Transport{c.http.Transport.(byScheme).tls, c.http.Transport.(byScheme).plain} {
		if tr.Proxy != nil {
			t.Error("a transport has a proxy")
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var target string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
			return
		}
		if r.URL.Path == "/away" {
			http.Redirect(w, r, target, http.StatusFound)
			return
		}
		hello(w, r)
	}))
	defer s.Close()
	target = strings.Replace(s.URL, "127.0.0.1", "127.0.0.2", 1) // reachable, and not allowed
	g := newGuard(t, "127.0.0.1")
	none, some := NewClient(g, Options{Timeout: time.Minute}), NewClient(g, Options{Timeout: time.Minute, Redirects: 3})

	if res, _, err := get(t, none, s.URL+"/1"); err != nil || res.StatusCode != http.StatusFound {
		t.Errorf("a client that follows no redirects: %v, %v; want the redirect itself", res, err)
	}
	if _, text, err := get(t, some, s.URL+"/3"); err != nil || text != "hello /0" {
		t.Errorf("three redirects: %q, %v", text, err)
	}
	if _, _, err := get(t, some, s.URL+"/4"); CauseOf(err) != TooManyRedirects {
		t.Errorf("four redirects: %v", err)
	}
	if _, _, err := get(t, some, s.URL+"/away"); CauseOf(err) != NotAllowed {
		t.Errorf("a redirect to an address that is not allowed: %v", err)
	}
}

func TestLimitsOfAResponse(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "0123456789")
		if r.URL.Path == "/stalls" {
			w.(http.Flusher).Flush()
			<-stop
		}
	}))
	defer s.Close()
	defer close(stop)
	g := newGuard(t, "127.0.0.1")
	if _, text, err := get(t, NewClient(g, Options{MaxBody: 10}), s.URL); err != nil || text != "0123456789" {
		t.Errorf("a response of the largest size: %q, %v", text, err)
	}
	if _, text, err := get(t, NewClient(g, Options{MaxBody: 9}), s.URL); CauseOf(err) != TooLarge || text != "012345678" {
		t.Errorf("a larger one: %q, %v", text, err)
	}
	if _, _, err := get(t, NewClient(g, Options{IdleTimeout: 50 * time.Millisecond}), s.URL+"/stalls"); CauseOf(err) != TimedOut {
		t.Errorf("a response that stops arriving: %v", err)
	}
	if _, _, err := get(t, NewClient(g, Options{Timeout: 50 * time.Millisecond}), s.URL+"/stalls"); CauseOf(err) != TimedOut {
		t.Errorf("a response that takes too long: %v", err)
	}
}

func TestCauses(t *testing.T) {
	t.Parallel()
	plain, secure := httptest.NewServer(http.HandlerFunc(hello)), httptest.NewTLSServer(http.HandlerFunc(hello))
	defer plain.Close()
	defer secure.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer cut.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	g := newGuard(t, "127.0.0.1")
	g.resolver = startDNS(t, map[string][]string{}).resolver()
	c := NewClient(g, Options{Timeout: time.Minute})
	host := func(raw string) string { u, _ := url.Parse(raw); return u.Host }
	for address, want := range map[string]Cause{
		"https://" + host(plain.URL):          NoTLS,
		secure.URL:                            BadCertificate,
		cut.URL:                               BrokenOff,
		"http://" + closed.Addr().String():    Refused,
		"https://nobody.test/":                UnknownHost,
		"https://10.0.0.1/":                   NotAllowed,
		"http://nobody.test/with-plain-http/": UnknownHost,
	} {
		_, _, err := get(t, c, address)
		if CauseOf(err) != want {
			t.Errorf("GET %s: %v is %q; want %q", address, err, CauseOf(err), want)
		}
		if CauseOf(err).Sentence() == "" {
			t.Errorf("%q has no sentence", CauseOf(err))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, plain.URL, nil)
	if _, err := c.Do(r); CauseOf(err) != Canceled {
		t.Errorf("a canceled request: %v", err)
	}
	if CauseOf(nil) != "" {
		t.Error("no error has a cause")
	}
}
