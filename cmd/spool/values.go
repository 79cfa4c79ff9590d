package main

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// byteSize is a number of bytes that people write as "5GiB" or "500MB".
type byteSize int64

// units holds what a suffix multiplies by, longest suffixes first.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"b", 1}, {"", 1},
}

// UnmarshalText reads a size. A bare number counts bytes.
func (b *byteSize) UnmarshalText(text []byte) error {
	s := strings.ToLower(strings.TrimSpace(string(text)))
	for _, u := range units {
		number, found := strings.CutSuffix(s, u.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if size := n * u.bytes; err == nil && size >= 0 && size < math.MaxInt64 {
			*b = byteSize(size)
			return nil
		}
		break
	}
	return fmt.Errorf("%q is not a size", text)
}

// requestRate is a number of requests per second, or auto.
type requestRate struct {
	perSecond float64
	auto      bool
}

// UnmarshalText reads a rate. The limit of a fresh install is for clients that run wild. One
// that reads videos as fast as it can is not: a number that is asked for counts every request.
func (r *requestRate) UnmarshalText(text []byte) (err error) {
	if string(text) == "auto" {
		*r = requestRate{500, true}
		return nil
	}
	*r = requestRate{}
	r.perSecond, err = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return err
}

// network is an IP address or a CIDR network.
type network struct{ netip.Prefix }

// UnmarshalText reads "10.0.0.0/8" or "10.1.2.3".
func (n *network) UnmarshalText(text []byte) error {
	if addr, err := netip.ParseAddr(string(text)); err == nil {
		addr = addr.Unmap()
		n.Prefix = netip.PrefixFrom(addr, addr.BitLen())
		return nil
	}
	p, err := netip.ParsePrefix(string(text))
	n.Prefix = p.Masked()
	return err
}

// prefixes returns the networks as the HTTP edge wants them.
func prefixes(networks []network) []netip.Prefix {
	var all []netip.Prefix
	for _, n := range networks {
		all = append(all, n.Prefix)
	}
	return all
}
