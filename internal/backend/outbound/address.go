package outbound

import (
	"net/netip"
	"strconv"
	"strings"
)

// special are the networks that are not the public internet, by the registries of
// IANA for special purposes. Of IPv6, only 2000::/3 is public, so that loopback,
// private, link-local, multicast and NAT64 addresses need no line of their own.
var special = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // carrier-grade NAT; also the metadata of Alibaba Cloud
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // the metadata of Azure
	"169.254.0.0/16",   // link-local; the metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // relays of 6to4
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
	"2001::/23",        // Teredo and other tunnels
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4: an IPv4 address in disguise
	"3fff::/20",        // documentation
)

var globalIPv6 = netip.MustParsePrefix("2000::/3")

func prefixes(all ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(all))
	for i, s := range all {
		parsed[i] = netip.MustParsePrefix(s)
	}
	return parsed
}

func within(a netip.Addr, networks []netip.Prefix) bool {
	for _, n := range networks {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

// public reports whether an address belongs to the public internet.
func public(a netip.Addr) bool {
	if !a.Is4() && !globalIPv6.Contains(a) {
		return false
	}
	return !within(a, special)
}

// plainAddr removes what only changes the spelling of an address: a zone, and the
// mapping of IPv4 into IPv6.
func plainAddr(a netip.Addr) netip.Addr { return a.WithZone("").Unmap() }

// literal returns the address that a host is, in any spelling that a resolver may
// take for one: "127.1", "0x7f000001", "0177.0.0.1", "2130706433", "[::ffff:7f00:1]".
// It reports bad for a host that looks like a number and is no address.
func literal(host string) (a netip.Addr, is, bad bool) {
	host = strings.TrimSuffix(host, ".")
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return plainAddr(a), true, false
	}
	parts := strings.Split(host, ".")
	if _, ok := number(parts[len(parts)-1]); !ok {
		return a, false, false
	}
	a, ok := looseIPv4(parts)
	return a, ok, !ok
}

// looseIPv4 reads an address as inet_aton does: up to four numbers, and the last one
// fills the bytes that are left.
func looseIPv4(parts []string) (netip.Addr, bool) {
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, p := range parts {
		n, ok := number(p)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if !ok || n >= 1<<bits {
			return netip.Addr{}, false
		}
		value = value<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// number reads a decimal, octal (017) or hexadecimal (0x1f) number.
func number(s string) (uint64, bool) {
	base := 10
	lower := strings.ToLower(s)
	if rest, hex := strings.CutPrefix(lower, "0x"); hex {
		s, base = rest, 16
		if s == "" {
			return 0, true // as resolvers and browsers read it
		}
	} else if len(s) > 1 && s[0] == '0' {
		s, base = s[1:], 8
	}
	if strings.ContainsAny(s, "_+-") {
		return 0, false
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}
