package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client speaks to one server with one API key. Make it with [New].
type Client struct {
	base      *url.URL
	key       string
	http      *http.Client
	userAgent string
	retryFor  time.Duration
}

// Option changes what [New] makes.
type Option func(*Client)

// WithHTTPClient uses the transport, the timeout and the cookies of h. A timeout of h ends uploads
// and event streams too, so it should have none.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) { c.http = h }
}

// WithRetryFor sets for how long after its first failure a request is repeated, if the failure may
// pass. The default is 30 s; 0 means that nothing is repeated.
func WithRetryFor(d time.Duration) Option {
	return func(c *Client) { c.retryFor = d }
}

// WithUserAgent sets the User-Agent of all requests.
func WithUserAgent(name string) Option {
	return func(c *Client) { c.userAgent = name }
}

// New returns a client of the server at an address such as https://video.example.com. The key is
// sent to that server only, never to where it redirects.
func New(server, apiKey string, options ...Option) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(server, "/"))
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("the address of the server must be a URL such as https://video.example.com")
	}
	if strings.ContainsFunc(apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key must be printable ASCII without spaces")
	}
	c := &Client{base: base, key: apiKey, http: &http.Client{Transport: transport()}, userAgent: "spool-go-client", retryFor: 30 * time.Second}
	for _, o := range options {
		o(c)
	}
	own := *c.http
	own.CheckRedirect = refuseRedirect
	c.http = &own
	return c, nil
}

// transport returns the default transport with room for 16 idle connections to one host instead of two.
func transport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // somebody replaced it
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 16
	return t
}

// RedirectError says that the server sent a request elsewhere. It is not followed: the API key
// would go along, and the body of an upload cannot.
type RedirectError struct {
	To *url.URL
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("the server redirects to %s://%s: use that as its address", e.To.Scheme, e.To.Host)
}

func refuseRedirect(r *http.Request, _ []*http.Request) error { return &RedirectError{To: r.URL} }
