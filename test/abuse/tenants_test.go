package abuse

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// attackWithLists asks for large pages of a list on HTTP/2, and takes nothing.
func attackWithLists(t *testing.T, o *outcome) {
	s := start(t, trustStrangers, "SPOOL_RATE_LIMIT=0")
	mallory, alice := s.newKey("mallory"), s.newKey("alice")
	mallory.createMany(100, 16<<10)
	video := alice.create(`["144p"]`, "")
	quiet := alice.measure("/api/video/"+video.ID, 200)
	hold(t, s, stranger, 12, "/api/video?limit=100", mallory.key)
	o.responsive(quiet, alice.measure("/api/video/"+video.ID, 200))
	s.memoryHolds(o)
}

// attackWithKeys takes with 17 keys of a tenant what is limited.
func attackWithKeys(t *testing.T, o *outcome) {
	s := start(t)
	alice := s.newKey("alice")
	var keys []*client
	for range 17 {
		keys = append(keys, s.newKey("mallory"))
	}
	mine, other := keys[0].create(`["144p"]`, ""), alice.create(`["144p"]`, "")
	quiet := alice.measure("/api/video/"+other.ID, 200)
	seen := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, c := range keys {
		all.Go(func() {
			for range 256 {
				status := openStream(t, c, mine.ID)
				mu.Lock()
				seen[status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	o.holds(seen["200"] == 256, "17 keys of a tenant open the 256 event streams of one", "%s", statuses(seen))
	status := openStream(t, alice, other.ID)
	o.holds(status == "200", "another tenant still gets one", "%s", status)
	var floods []*actor
	for _, c := range keys {
		floods = append(floods, act(t, "flood", order{URL: s.url + "/api/video?limit=100", Key: c.key, Parallel: 4}))
	}
	o.responsive(quiet, alice.measure("/api/video/"+other.ID, 200))
	total := map[string]int{}
	for _, f := range floods {
		for status, n := range f.stop().Statuses {
			total[status] += n
		}
	}
	o.holds(total["429"] > 0, "their lists have one rate", "%s", statuses(total))
}

// attackByPuttingCaptions sends captions of 2 MiB again and again.
func attackByPuttingCaptions(t *testing.T, o *outcome) {
	s := start(t, "SPOOL_RATE_LIMIT=0")
	mallory, alice := s.newKey("mallory"), s.newKey("alice")
	mine, other := mallory.create(`["144p"]`, ""), alice.create(`["144p"]`, "")
	quiet := alice.measure("/api/video/"+other.ID, 200)
	puts := act(t, "flood", order{URL: s.url + "/api/video/" + mine.ID + "/captions/en", Key: mallory.key, Method: "PUT", Cues: 38_000, Parallel: 8})
	time.Sleep(2 * time.Second)
	o.responsive(quiet, alice.measure("/api/video/"+other.ID, 200))
	o.holds(true, "captions of 2 MiB on 8 connections", "%s", statuses(puts.stop().Statuses))
	s.memoryHolds(o)
}

// manyCues are captions of so many texts, a tenth of a second each.
func manyCues(n int) []byte {
	b := []byte("WEBVTT\n\n")
	for i := range n {
		at := fmt.Sprintf("%02d:%02d:%02d.%d00", i/36000, i/600%60, i/10%60, i%10)
		b = fmt.Appendf(b, "%s --> %02d:%02d:%02d.%d50\na<b>a %d\n\n", at, i/36000, i/600%60, i/10%60, i%10, i)
	}
	return b
}
