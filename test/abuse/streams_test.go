package abuse

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// attackWithStreams opens as many event streams as a whole process has, with one key.
func attackWithStreams(t *testing.T, o *outcome) {
	s := start(t)
	mallory, alice := s.newKey("mallory"), s.newKey("alice")
	mine, other := mallory.create(`["144p"]`, ""), alice.create(`["144p"]`, "")
	seen := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 64 {
				status := openStream(t, mallory, mine.ID)
				mu.Lock()
				seen[status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	o.holds(seen["200"] == 256 && seen["200"]+seen["429"] == 4096, "of 4,096 event streams of one key, 256 are opened", "%s", statuses(seen))
	status := openStream(t, alice, other.ID)
	o.holds(status == "200", "another key still gets one", "%s", status)
	s.memoryHolds(o)
}

// openStream opens an event stream, which stays open until the test ends, and returns its status.
func openStream(t *testing.T, c *client, id string) string {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		return "no connection"
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "GET /api/video/%s/events HTTP/1.1\r\nHost: h\r\nX-API-KEY: %s\r\n\r\n", id, c.key)
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
	if err != nil {
		conn.Close()
		return "no answer"
	}
	if res.StatusCode != http.StatusOK {
		conn.Close()
	} else {
		t.Cleanup(func() { conn.Close() })
	}
	return fmt.Sprint(res.StatusCode)
}

// attackBySmuggling hides a request behind one that has two lengths.
func attackBySmuggling(t *testing.T, o *outcome) {
	s := start(t)
	hidden := "GET /api/video HTTP/1.1\r\nHost: h\r\nX-API-KEY: " + apiKey + "\r\n\r\n"
	for name, request := range map[string]string{
		"Content-Length and Transfer-Encoding": "POST /api/video HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"Transfer-Encoding in HTTP/1.0":        "POST /api/video HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprint(conn, request+hidden)
		answers, in := 0, bufio.NewReader(conn)
		for {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				break
			}
			answers++
			res.Body.Close()
		}
		o.holds(answers == 1, name+": the connection ends after the answer", "%d answer", answers)
	}
}
