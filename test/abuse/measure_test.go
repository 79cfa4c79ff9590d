package abuse

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stranger is where attackers without a key come from: limits are by address, and honest clients have another.
const stranger = "127.0.0.2"

// dialer connects from an address of this machine; "" is any.
func dialer(from string) *net.Dialer {
	d := &net.Dialer{Timeout: time.Minute}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	return d
}

// cpu returns how much time of a core the server has used.
func (s *server) cpu() time.Duration {
	s.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, fields, _ := strings.Cut(string(b), ") ")
	var ticks int64
	for _, text := range strings.Fields(fields)[11:13] { // of user and system
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// forgetPeak lets peakMemory begin with what the server holds now, which it returns.
func (s *server) forgetPeak() int64 {
	s.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0); err != nil {
		s.t.Fatal(err)
	}
	return s.peakMemory()
}

// opened returns how many files and connections the server has open.
func (s *server) opened() int {
	s.t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(all)
}

// grows records that the server takes little more memory than before.
func (s *server) grows(o *outcome, before, most int64, who string) {
	s.t.Helper()
	more := s.peakMemory() - before
	o.holds(more < most, fmt.Sprintf("%s take less than %d MiB", who, most>>20), "+%d MiB", more>>20)
}

// cheap records that a HEAD without a key takes little CPU time.
func (s *server) cheap(o *outcome, what, path string) {
	s.t.Helper()
	const count = 400
	c := newClient(s.t, s.url, "")
	head := func() {
		if r := c.send("HEAD", path, nil); r.status != 200 {
			s.t.Fatalf("HEAD of %s is answered %d", what, r.status)
		}
	}
	head()
	before := s.cpu()
	for range count {
		head()
	}
	each := (s.cpu() - before) / count
	o.holds(each <= 500*time.Microsecond, "a HEAD of "+what+" takes at most 0.5 ms of CPU", "%s", short(each))
}

// hold opens connections of HTTP/2 from an address, each with 100 requests, and takes nothing of the answers.
func hold(t *testing.T, s *server, from string, connections int, path, key string) {
	t.Helper()
	host := strings.TrimPrefix(s.url, "http://")
	block := "\x82\x86" + "\x04" + string(rune(len(path))) + path + "\x01\x01a"
	if key != "" {
		block += "\x00\x09x-api-key" + string(rune(len(key))) + key
	}
	out := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	out = frame(out, 4, 0, 0, "\x00\x04\x00\x00\x00\x00") // SETTINGS: the window is 0
	for k := range uint32(100) {
		out = frame(out, 1, 5, 2*k+1, block) // HEADERS, and that is all
	}
	for range connections {
		c, err := dialer(from).Dial("tcp", host)
		if err != nil {
			continue // the server has enough
		}
		t.Cleanup(func() { c.Close() })
		go func() {
			if _, err := c.Write(out); err == nil {
				_, _ = io.Copy(io.Discard, c) // heads of answers, and the end
			}
		}()
	}
}

// frame appends a frame of HTTP/2.
func frame(b []byte, kind, flags byte, stream uint32, payload string) []byte {
	b = append(b, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(b, payload...)
}
