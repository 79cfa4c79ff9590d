package outbound

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// dnsServer answers questions for IPv4 addresses. It knows no others.
type dnsServer struct {
	conn    net.PacketConn
	mu      sync.Mutex
	records map[string][]string
}

func startDNS(t *testing.T, records map[string][]string) *dnsServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dnsServer{conn: conn, records: records}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve()
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return s
}

func (s *dnsServer) set(name string, addrs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[name] = addrs
}

func (s *dnsServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

func (s *dnsServer) serve() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if n > 12 {
			_, _ = s.conn.WriteTo(s.answer(buf[:n]), from)
		}
	}
}

// answer returns the response to one question.
func (s *dnsServer) answer(q []byte) []byte {
	name, end := "", 12
	for q[end] != 0 {
		name += string(q[end+1:end+1+int(q[end])]) + "."
		end += 1 + int(q[end])
	}
	end += 5
	kind := binary.BigEndian.Uint16(q[end-4:])
	s.mu.Lock()
	addrs, known := s.records[strings.ToLower(name)]
	s.mu.Unlock()
	if kind != 1 {
		addrs = nil
	}
	res := append([]byte{}, q[:2]...)
	flags := []byte{0x81, 0x80}
	if !known {
		flags[1] |= 3
	}
	res = append(append(res, flags...), 0, 1, 0, byte(len(addrs)), 0, 0, 0, 0)
	res = append(res, q[12:end]...)
	for _, a := range addrs {
		res = append(res, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		res = append(res, netip.MustParseAddr(a).AsSlice()...)
	}
	return res
}
