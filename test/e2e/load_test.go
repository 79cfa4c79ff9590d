package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// target is something to ask many times: a server, and what is sent to it.
type target struct {
	name  string
	pid   int      // of the server, whose children count too
	addr  string   // host and port
	heads []string // each connection goes through them in turn, beginning with its own; with a body, it keeps to that
	body  []byte   // sent after each head
	size  int64    // of each answer; 0 means that it may vary
	code  int
}

// score is what a load got out of a server.
type score struct {
	rate  float64 // answers a second
	bytes float64 // a second
	cpu   float64 // microseconds of the server's CPU an answer
}

// asker sends requests over one connection, the c-th, until end.
type asker func(x target, c int, end time.Time) (answers, received int64, err error)

// put sends a load over some connections, which stay open, for some time.
func (x target) put(t testing.TB, ask asker, connections int, length time.Duration) score {
	t.Helper()
	var answers, received atomic.Int64
	var all sync.WaitGroup
	before, began := cpuTime(t, x.pid), time.Now()
	end := began.Add(length)
	for c := range connections {
		all.Go(func() {
			n, got, err := ask(x, c, end)
			answers.Add(n)
			received.Add(got)
			if err != nil {
				t.Errorf("%s: %v", x.name, err)
			}
		})
	}
	all.Wait()
	took, used := time.Since(began).Seconds(), cpuTime(t, x.pid)-before
	n := float64(answers.Load())
	return score{rate: n / took, bytes: float64(received.Load()) / took, cpu: float64(used.Microseconds()) / n}
}

// askLean is an asker that does next to nothing, so that nearly all of the time is the server's.
func askLean(x target, c int, end time.Time) (answers, received int64, err error) {
	conn, err := net.Dial("tcp", x.addr)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 256<<10)
	for i := c; time.Now().Before(end); i++ {
		if x.body != nil {
			i = c
		}
		if _, err := io.WriteString(conn, x.heads[i%len(x.heads)]); err != nil {
			return answers, received, err
		}
		if x.body != nil {
			if _, err := conn.Write(x.body); err != nil {
				return answers, received, err
			}
		}
		n, err := x.answer(in)
		if err != nil {
			return answers, received, err
		}
		answers, received = answers+1, received+n
	}
	return answers, received, nil
}

// askOrdinary is an asker that uses net/http's client, as most programs do. It takes more time for
// each answer than most servers.
func askOrdinary(x target, c int, end time.Time) (answers, received int64, err error) {
	return askWith(&http.Transport{DisableCompression: true}, x, c, end)
}

// askHTTP2 is askOrdinary over HTTP/2, without TLS.
func askHTTP2(x target, c int, end time.Time) (answers, received int64, err error) {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return askWith(&http.Transport{DisableCompression: true, Protocols: p}, x, c, end)
}

func askWith(transport *http.Transport, x target, c int, end time.Time) (answers, received int64, err error) {
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	requests, err := x.requests()
	if err != nil {
		return 0, 0, err
	}
	for i := c; time.Now().Before(end); i++ {
		r := requests[i%len(requests)]
		if x.body != nil {
			r = requests[c%len(requests)]
			r.Body = io.NopCloser(bytes.NewReader(x.body))
		}
		res, err := client.Do(r)
		if err != nil {
			return answers, received, err
		}
		n, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil {
			return answers, received, err
		}
		if res.StatusCode != x.code || x.size != 0 && n != x.size {
			return answers, received, fmt.Errorf("answer is %d with %d bytes, want %d with %d", res.StatusCode, n, x.code, x.size)
		}
		answers, received = answers+1, received+n
	}
	return answers, received, nil
}

// requests returns the heads as requests of net/http's client.
func (x target) requests() ([]*http.Request, error) {
	var all []*http.Request
	for _, head := range x.heads {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
		if err != nil {
			return nil, err
		}
		r.RequestURI, r.URL.Scheme, r.URL.Host = "", "http", x.addr
		all = append(all, r)
	}
	return all, nil
}

// answer reads one answer and returns the size of its body.
func (x target) answer(in *bufio.Reader) (int64, error) {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if code := strings.Fields(string(status)); len(code) < 2 || code[1] != strconv.Itoa(x.code) {
		return 0, fmt.Errorf("answer is %q, want %d", status, x.code)
	}
	length := int64(0)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
				return 0, err
			}
		}
	}
	if x.size != 0 && length != x.size {
		return 0, fmt.Errorf("answer has %d bytes, want %d", length, x.size)
	}
	for left := length; left > 0; {
		n, err := in.Discard(int(min(left, int64(in.Size()))))
		left -= int64(n)
		if err != nil {
			return 0, err
		}
	}
	return length, nil
}

// requestTo returns the head of a request to an address, and where it goes.
func requestTo(t testing.TB, method, address string, headers ...header) (addr, head string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, u.RequestURI(), u.Host)
	for _, h := range headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h.name, h.value)
	}
	return u.Host, b.String() + "\r\n"
}

// cpuTime returns how much CPU time a process and its children have used.
func cpuTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	ticks := int64(0)
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		id, _, _ := strings.Cut(string(stat), " ")
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from the third on
		if of := strconv.Itoa(pid); id != of && fields[1] != of {
			continue
		}
		for _, f := range fields[11:13] {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / 100 // USER_HZ, the same on every Linux
}
