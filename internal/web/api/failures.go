package api

import (
	"container/list"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/spool-video/spool/internal/video"
)

const (
	failureBurst     = 100    // failures of a client that may come at once
	failureRate      = 1      // failures per second after that
	maxFailedClients = 10_000 // clients that are tracked; each takes about 200 bytes
)

// failures limits how often a client may fail to authenticate. Clients are told apart by their
// network. The client that failed longest ago is forgotten first.
type failures struct {
	now func() time.Time

	mu      sync.Mutex
	clients map[netip.Prefix]*list.Element
	order   list.List // of *failedClient, the latest failure first
}

type failedClient struct {
	network netip.Prefix
	limit   *rate.Limiter
}

// count records a failed request of a client. It returns an error if there were too many.
func (f *failures) count(client netip.Prefix) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client(client).limit.AllowN(f.now(), 1) {
		return nil
	}
	return &video.Error{Kind: video.RateLimited, Code: "rate_limited",
		Msg: "Too many requests with an invalid API key came from this address.", RetryAfter: time.Second / failureRate}
}

func (f *failures) client(network netip.Prefix) *failedClient {
	if e, ok := f.clients[network]; ok {
		f.order.MoveToFront(e)
		return e.Value.(*failedClient)
	}
	if f.clients == nil {
		f.clients = map[netip.Prefix]*list.Element{}
	}
	if len(f.clients) >= maxFailedClients {
		oldest := f.order.Remove(f.order.Back()).(*failedClient)
		delete(f.clients, oldest.network)
	}
	c := &failedClient{network: network, limit: rate.NewLimiter(failureRate, failureBurst)}
	f.clients[network] = f.order.PushFront(c)
	return c
}

// client returns the network of the client that made r: its IPv4 address, or the /64 of its IPv6
// address, which usually is one customer. It is invalid if the address is unknown. Behind trusted
// proxies, it is the last address in X-Forwarded-For that is not a trusted proxy: the client may
// have written those before it.
func (c *Config) client(r *http.Request) netip.Prefix {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	addr := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		before, ok := parseHop(strings.TrimSpace(hop))
		if !ok || !c.trustsAddr(addr) {
			break
		}
		addr = before
	}
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	network, _ := addr.WithZone("").Prefix(bits) // it fails for an invalid address only
	return network
}

// Client returns the network of the client that made r.
func (a *API) Client(r *http.Request) netip.Prefix { return a.config.client(r) }

// parseHop parses an element of X-Forwarded-For. Some proxies add the port.
func parseHop(s string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Unmap(), true
	}
	ap, err := netip.ParseAddrPort(s)
	return ap.Addr().Unmap(), err == nil
}
