package settings

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// ByteSize is a number of bytes that people write as "5GiB" or "500MB".
type ByteSize int64

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
func (b *ByteSize) UnmarshalText(text []byte) error {
	s := strings.ToLower(strings.TrimSpace(string(text)))
	for _, u := range units {
		number, found := strings.CutSuffix(s, u.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if size := n * u.bytes; err == nil && size >= 0 && size < math.MaxInt64 {
			*b = ByteSize(size)
			return nil
		}
		break
	}
	return fmt.Errorf("%q is not a size", text)
}

// Rate is a number of requests per second, or auto.
type Rate struct {
	PerSecond float64
	Auto      bool
}

// UnmarshalText reads a rate. The limit of a fresh install is for clients that run wild. One
// that reads videos as fast as it can is not: a number that is asked for counts every request.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	if string(text) == "auto" {
		*r = Rate{500, true}
		return nil
	}
	*r = Rate{}
	r.PerSecond, err = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return err
}

// Network is an IP address or a CIDR network.
type Network struct{ netip.Prefix }

// UnmarshalText reads "10.0.0.0/8" or "10.1.2.3".
func (n *Network) UnmarshalText(text []byte) error {
	if addr, err := netip.ParseAddr(string(text)); err == nil {
		addr = addr.Unmap()
		n.Prefix = netip.PrefixFrom(addr, addr.BitLen())
		return nil
	}
	p, err := netip.ParsePrefix(string(text))
	n.Prefix = p.Masked()
	return err
}

// Prefixes returns the networks as the HTTP edge wants them.
func Prefixes(networks []Network) []netip.Prefix {
	var all []netip.Prefix
	for _, n := range networks {
		all = append(all, n.Prefix)
	}
	return all
}
