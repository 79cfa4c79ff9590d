package limit

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Contains reports whether one of the networks has an address.
func Contains(networks []netip.Prefix, addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// ClientOf returns the network of the client that made r: its IPv4 address, or the /64 of its IPv6
// address, which usually is one customer. It is invalid if the address is unknown. Behind trusted
// proxies, it is the last address in X-Forwarded-For that is not a trusted proxy: the client may
// have written those before it.
func ClientOf(r *http.Request, proxies []netip.Prefix) netip.Prefix {
	addr, known := addressOf(r, proxies)
	if !known {
		return netip.Prefix{}
	}
	return NetworkOf(addr)
}

// AddressOf returns the address of the client that made r, found as ClientOf does; "": it is unknown.
func AddressOf(r *http.Request, proxies []netip.Prefix) string {
	addr, known := addressOf(r, proxies)
	if !known {
		return ""
	}
	return addr.WithZone("").String()
}

func addressOf(r *http.Request, proxies []netip.Prefix) (netip.Addr, bool) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, false
	}
	addr := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		before, ok := parseHop(strings.TrimSpace(hop))
		if !ok || !Contains(proxies, addr) {
			break
		}
		addr = before
	}
	return addr, true
}

// NetworkOf returns the network that an address stands for: itself, or the /64 of an IPv6 address.
func NetworkOf(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	network, _ := addr.Prefix(bits) // it fails for an invalid address only
	return network
}

// parseHop parses an element of X-Forwarded-For. Some proxies add the port.
func parseHop(s string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Unmap(), true
	}
	ap, err := netip.ParseAddrPort(s)
	return ap.Addr().Unmap(), err == nil
}
