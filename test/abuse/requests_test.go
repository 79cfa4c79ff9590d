package abuse

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// attackWithBodies sends bodies of 1 MiB that are expensive to decode.
func attackWithBodies(t *testing.T, o *outcome) {
	s := start(t)
	head, tail := `{"filename":"a.mp4","isPublic":true,"resolutions":[1`, `]}`
	body := head + strings.Repeat(",1", (1<<20-len(head)-len(tail))/2) + tail
	for _, sender := range []struct {
		name   string
		client *client
		want   string
	}{
		{"a read-only key", s.newKey("mallory", "read"), "403"},
		{"a key that may write", s.newKey("mallory"), "400"},
	} {
		seen := parallel(16, 4, func(int) string {
			return fmt.Sprint(sender.client.send("POST", "/api/video", strings.NewReader(body), "Content-Type", "application/json").status)
		})
		ok := seen[sender.want] > 0
		for status := range seen {
			ok = ok && (status == sender.want || status == "429" || status == "503")
		}
		if sender.want == "403" {
			ok = len(seen) == 1 && ok
		}
		o.holds(ok, sender.name+", 16 at a time with 1 MiB each: "+sender.want, "%s", statuses(seen))
	}
	s.memoryHolds(o)
}

// parallel calls f so many times in each of n goroutines, and counts what it returns.
func parallel(n, times int, f func(i int) string) map[string]int {
	seen := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for range times {
				result := f(i)
				mu.Lock()
				seen[result]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return seen
}

// attackWithSearches searches metadata that does not occur, in as many videos as a request may examine.
func attackWithSearches(t *testing.T, o *outcome) {
	s := start(t)
	mallory, alice := s.newKey("mallory"), s.newKey("alice")
	mallory.createMany(2000, 16<<10)
	video := alice.create(`["144p"]`, "")
	quiet := alice.measure("/api/video/"+video.ID, 300)
	searches := act(t, "flood", order{URL: s.url + "/api/video?metadata.album=none&limit=100", Key: mallory.key, Parallel: 16})
	ready := act(t, "flood", order{URL: s.url + "/readyz", Parallel: 1, Rate: 5})
	o.responsive(quiet, alice.measure("/api/video/"+video.ID, 300))
	answers := ready.stop().Statuses
	o.holds(len(answers) == 1 && answers["200"] > 0, "/readyz stays 200", "%s; the searches: %s", statuses(answers), statuses(searches.stop().Statuses))
	s.memoryHolds(o)
}

// attackWithoutScope adds a resolution with a key that may not read.
func attackWithoutScope(t *testing.T, o *outcome) {
	s := start(t)
	writer, owner := s.newKey("alice", "write"), s.newKey("alice")
	u := owner.create(`["144p"]`, "")
	r := writer.send("POST", "/api/video/"+u.ID+"/resolutions", strings.NewReader(`{"resolution":"240p"}`), "Content-Type", "application/json")
	left := len(owner.read(u.ID).Resolutions)
	o.holds(r.status == 403 && left == 1, "a write-only key that adds a resolution gets 403, and nothing is added", "%d %s, %d resolution", r.status, r.code(), left)
}

// attackByGuessing tries keys, and starts a server with one that everybody knows.
func attackByGuessing(t *testing.T, o *outcome) {
	s := start(t)
	began := time.Now()
	seen := parallel(8, 250, func(i int) string {
		guess := newClient(t, s.url, fmt.Sprintf("guess-%d-%d", i, time.Now().UnixNano()))
		guess.http = http.DefaultClient
		return fmt.Sprint(guess.send("GET", "/api/video", nil).status)
	})
	seconds := time.Since(began).Seconds()
	o.holds(float64(seen["401"]) <= 100+seconds+2 && seen["401"]+seen["429"] == 2000,
		"2,000 guesses: 100 at once and one a second are answered, the rest gets 429", "%s in %.1f s", statuses(seen), seconds)
	honest := newClient(t, s.url, apiKey).send("GET", "/api/video", nil).status
	o.holds(honest == 200, "a valid key from the same address still works", "%d", honest)

	cmd := s.command("serve", "--data-dir="+t.TempDir())
	cmd.Env = append(cmd.Env, "SPOOL_API_KEY=changeme")
	out, err := cmd.CombinedOutput()
	o.holds(err != nil && strings.Contains(string(out), "placeholder"), "a placeholder as API key is refused at start", "%v", err)
}

// attackReadiness asks for /readyz as fast as possible.
func attackReadiness(t *testing.T, o *outcome) {
	s := start(t)
	alice := s.newKey("alice")
	video := alice.create(`["144p"]`, "")
	quiet := alice.measure("/api/video/"+video.ID, 300)
	asking := act(t, "flood", order{URL: s.url + "/readyz", Parallel: 64})
	o.responsive(quiet, alice.measure("/api/video/"+video.ID, 300))
	answers := asking.stop().Statuses
	o.holds(len(answers) == 1 && answers["200"] > 0, "all requests of /readyz, 64 at a time, are answered", "%s", statuses(answers))
}
