package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Options are the limits of a client.
type Options struct {
	// Timeout is for a whole request with its response. 0: none, for large files;
	// set IdleTimeout then.
	Timeout time.Duration
	// IdleTimeout ends a response when no byte of it arrives for so long. 0: none.
	IdleTimeout time.Duration
	// MaxBody is the size of the largest response that can be read. 0: no limit; the
	// caller counts.
	MaxBody int64
	// Redirects is how many redirects are followed, each of them checked. With 0, a
	// redirect is the response.
	Redirects int
	// IdleConns is how many connections are kept for the next request.
	IdleConns int
	// RootCAs replaces the certificate authorities of the system, for tests.
	RootCAs *x509.CertPool
}

const (
	connectTimeout   = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	// headerTimeout is how long a server may think before it answers.
	headerTimeout  = 60 * time.Second
	maxHeaderBytes = 64 << 10
)

// Client makes requests to the addresses that a guard allows. It is safe for
// concurrent use.
type Client struct {
	guard   *Guard
	http    http.Client
	options Options
}

// NewClient returns a client. It speaks HTTP/1.1, and asks for no compression: a small
// response must not become a large one.
func NewClient(g *Guard, o Options) *Client {
	c := &Client{guard: g, options: o}
	c.http = http.Client{Timeout: o.Timeout, Transport: byScheme{c.transport(false), c.transport(true)}, CheckRedirect: c.checkRedirect}
	return c
}

// byScheme keeps connections with and without TLS apart: they have different rules.
type byScheme struct{ tls, plain *http.Transport }

func (b byScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return b.tls.RoundTrip(r)
	}
	return b.plain.RoundTrip(r)
}

func (c *Client) transport(plain bool) *http.Transport {
	only1 := new(http.Protocols)
	only1.SetHTTP1(true)
	return &http.Transport{
		Proxy: nil, // proxies of the environment are not used
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return c.dial(ctx, network, addr, plain)
		},
		Protocols:              only1,
		TLSClientConfig:        &tls.Config{RootCAs: c.options.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    handshakeTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true,
		DisableKeepAlives:      c.options.IdleConns == 0,
		MaxIdleConns:           c.options.IdleConns,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
	}
}

// dial connects. The address that is checked is the one that is connected to, because
// the check runs between the two, once for each address that a name has.
func (c *Client) dial(ctx context.Context, network, addr string, plain bool) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	name := cleanHost(host)
	if a, is, _ := literal(host); is {
		addr = net.JoinHostPort(a.String(), port)
	}
	d := net.Dialer{Timeout: connectTimeout, Resolver: c.guard.resolver,
		Control: func(_, address string, _ syscall.RawConn) error {
			target, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return c.guard.checkAddr(plainAddr(target.Addr()), name, plain)
		}}
	return d.DialContext(ctx, network, addr)
}

var errRedirects = errors.New("too many redirects")

func (c *Client) checkRedirect(r *http.Request, via []*http.Request) error {
	switch {
	case c.options.Redirects == 0:
		return http.ErrUseLastResponse
	case len(via) > c.options.Redirects:
		return errRedirects
	}
	r.Header.Del("Referer") // an address may hold credentials, which are not for where it leads
	return c.guard.checkURL(r.URL)
}

// Do sends a request. CauseOf explains its errors and the errors of reading the body.
func (c *Client) Do(r *http.Request) (*http.Response, error) {
	if err := c.guard.checkURL(r.URL); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	res, err := c.http.Do(r.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	res.Body = newBody(ctx, cancel, res.Body, c.options)
	return res, nil
}

// CloseIdle closes the connections that are kept.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// CloseIdleConnections lets http.Client close the connections of both transports.
func (b byScheme) CloseIdleConnections() {
	b.tls.CloseIdleConnections()
	b.plain.CloseIdleConnections()
}
