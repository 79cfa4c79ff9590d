package abuse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	roleVariable  = "SPOOL_ABUSE_ROLE"
	orderVariable = "SPOOL_ABUSE_ORDER"
)

// order is what a process in a role has to do.
type order struct {
	URL, Key string
	Count    int           // requests, or connections
	Parallel int           // requests at the same time
	Rate     float64       // requests a second of all of them; 0: as fast as possible
	Pause    time.Duration // between two requests of a probe
	Send     []string      // what slow clients send first, in turns
	Trickle  string        // and then byte by byte, again and again; "": they read byte by byte
	Fill     int           // bytes that slow clients send before they trickle
	From     string        // the address that they come from; "": any
	Method   string        // of a flood; "": GET
	Cues     int           // texts of captions that a flood sends; 0: no body
	body     []byte
}

// told is what the process tells at its end.
type told struct {
	P50, P99, Max time.Duration  // of a probe
	Statuses      map[string]int // of a flood, and of a probe
	Connected     int            // slow clients
}

// play does what the order says, and prints what it found out.
func play(role string) int {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(orderVariable)), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	end := make(chan struct{})
	go func() { // the end of the input is the sign to stop
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(end)
	}()
	var result told
	switch role {
	case "probe":
		result = probe(o)
	case "flood":
		result = flood(o, end)
	case "slow":
		result = beSlow(o, end)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		return 1
	}
	return 0
}

// actor is a process in a role.
type actor struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   bytes.Buffer
	stdin io.Closer
	ended bool
}

// act starts a process in a role. Attackers run when nobody else wants to. With "nice" they would keep a core for a
// tick of the clock, 4 ms, each time that they get it.
func act(t *testing.T, role string, o order) *actor {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a := &actor{t: t, cmd: exec.Command(self)}
	if role != "probe" {
		a.cmd = exec.Command("chrt", "--idle", "0", self)
	}
	a.cmd.Env = append(os.Environ(), roleVariable+"="+role, orderVariable+"="+string(text))
	a.cmd.Stdout, a.cmd.Stderr = &a.out, os.Stderr
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if a.stdin, err = a.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !a.ended {
			_ = a.cmd.Process.Kill()
			_ = a.cmd.Wait()
		}
	})
	return a
}

// wait returns what a process tells that ends by itself.
func (a *actor) wait() (result told) {
	a.t.Helper()
	a.ended = true
	if err := a.cmd.Wait(); err != nil {
		a.t.Fatalf("a process of the test failed: %v", err)
	}
	if err := json.Unmarshal(a.out.Bytes(), &result); err != nil {
		a.t.Fatalf("a process of the test says %q: %v", a.out.String(), err)
	}
	return result
}

// stop has the process end, and returns what it tells.
func (a *actor) stop() told {
	a.t.Helper()
	_ = a.stdin.Close()
	return a.wait()
}

// measure measures the response times of a client that reads a URL, in rounds of count / 2 reads.
func (c *client) measure(path string, count int) told {
	c.t.Helper()
	rounds := make([]told, measureRounds)
	for i := range rounds {
		rounds[i] = act(c.t, "probe", order{URL: c.url + path, Key: c.key, Count: count / 2, Pause: 30 * time.Millisecond}).wait()
	}
	return middle(rounds)
}

// measureRounds is how often a client measures. The slowest of a hundred reads tell more about the machine
// than about the server where other machines share it, now and then for a second; so the median counts.
const measureRounds = 3

// middle returns the medians of several rounds, and all statuses.
func middle(rounds []told) told {
	all := told{Statuses: map[string]int{}}
	var p50, p99 []time.Duration
	for _, r := range rounds {
		p50, p99, all.Max = append(p50, r.P50), append(p99, r.P99), max(all.Max, r.Max)
		for status, n := range r.Statuses {
			all.Statuses[status] += n
		}
	}
	slices.Sort(p50)
	slices.Sort(p99)
	all.P50, all.P99 = p50[len(p50)/2], p99[len(p99)/2]
	return all
}

// responsive records that a client's p99 under attack is at most five times that of before.
func (o *outcome) responsive(quiet, now told) {
	o.t.Helper()
	ratio := float64(now.P99) / float64(quiet.P99)
	o.holds(ratio <= 5 && len(now.Statuses) == 1 && now.Statuses["200"] > 0,
		"p99 of another tenant's reads at most 5 × quiet, all of them 200", "p50 %s, p99 %s; quiet: p50 %s, p99 %s (× %.1f); %s",
		short(now.P50), short(now.P99), short(quiet.P50), short(quiet.P99), ratio, statuses(now.Statuses))
}

func short(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

// probeLimit ends a probe early whose requests take very long.
const probeLimit = 45 * time.Second

func probe(o order) told {
	var took []time.Duration
	result := told{Statuses: map[string]int{}}
	client := &http.Client{Timeout: time.Minute}
	for start := time.Now(); len(took) < o.Count && time.Since(start) < probeLimit; {
		began := time.Now()
		result.Statuses[get(client, o)]++
		took = append(took, time.Since(began))
		time.Sleep(o.Pause)
	}
	slices.Sort(took)
	result.P50, result.P99, result.Max = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	return result
}

// get sends one request and returns its status, or why there is none.
func get(client *http.Client, o order) string {
	req, err := http.NewRequest(cmp.Or(o.Method, "GET"), o.URL, bytes.NewReader(o.body))
	if err != nil {
		return err.Error()
	}
	if len(o.body) > 0 {
		req.Header.Set("Content-Type", "text/vtt")
	}
	req.Header.Set("X-API-KEY", o.Key)
	res, err := client.Do(req)
	if err != nil {
		return "no answer"
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return strconv.Itoa(res.StatusCode)
}

// flood sends requests until the end.
func flood(o order, end <-chan struct{}) told {
	result := told{Statuses: map[string]int{}}
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: o.Parallel, DialContext: dialer(o.From).DialContext}}
	if o.Cues > 0 {
		o.body = manyCues(o.Cues)
	}
	tickets := make(chan struct{}, o.Parallel)
	go func() {
		defer close(tickets)
		for began, n := time.Now(), 0; ; n++ {
			if o.Rate > 0 {
				time.Sleep(time.Until(began.Add(time.Duration(float64(n) / o.Rate * float64(time.Second)))))
			}
			select {
			case tickets <- struct{}{}:
			case <-end:
				return
			}
		}
	}()
	var all sync.WaitGroup
	var mu sync.Mutex
	for range o.Parallel {
		all.Go(func() {
			for range tickets {
				status := get(client, o)
				mu.Lock()
				result.Statuses[status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return result
}
