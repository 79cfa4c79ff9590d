package scale

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
)

// sizeOf is the size for a number of workers in ten processes. The videos keep
// them busy for four minutes, or for eighteen if there are many.
func sizeOf(workers int) size {
	s := size{tick: time.Second, machines: 10, slots: workers / 10, films: workers / 5, length: 20 * time.Minute,
		tenants: max(5, workers/20), every: 20 * time.Second, lasts: time.Minute, death: 30 * time.Second}
	if workers >= 1000 {
		s.tick, s.films, s.length, s.lasts, s.death = 250*time.Millisecond, workers/10, 3*time.Hour, 10*time.Minute, 2*time.Minute
	}
	return s
}

// TestFleet simulates a fleet:
//
//	SPOOL_SCALE_WORKERS=1000 go test -count=1 -timeout 1h -run TestFleet -v ./test/scale
//
// One tenant uploads many videos at once, others a clip now and then, and one of
// them a single clip. On PostgreSQL one process in ten dies.
func TestFleet(t *testing.T) {
	workers := 300
	if text := os.Getenv("SPOOL_SCALE_WORKERS"); text != "" {
		var err error
		if workers, err = strconv.Atoi(text); err != nil || workers < 10 {
			t.Fatalf("SPOOL_SCALE_WORKERS is %q, want a number from 10 on", text)
		}
	} else {
		need.TimeFor(t, "a simulated fleet; queuetest has each rule of fairness by itself")
	}
	engines := []struct {
		name  string
		start engine
		most  int // workers
	}{
		{"PostgreSQL", onPostgres, workers},
		{"SQLite", onSQLite, 100}, // of one process: nobody has more cores
	}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			s := sizeOf(min(workers, e.most))
			long, clip := learn(t, s.length), learn(t, clipLength)
			plain := newLoad(s, long, clip)
			plain.report(t, "first come, first served", plain.firstCome())
			simulate(t, e.name, e.start, newLoad(s, long, clip), plain)
		})
	}
}

// simulate runs a load on a fleet and compares it with the plain queue.
func simulate(t *testing.T, name string, start engine, l, plain *load) {
	w := newWorld(t, l.workers(), l)
	kill, notice := start(w, l.size)
	t.Cleanup(func() { close(w.over) }) // before the queues are stopped
	var events []event
	for _, f := range l.arrivals() {
		events = append(events, event{f.comes, func() { w.arrive(f) }})
	}
	if kill != nil {
		events = append(events, event{l.death, kill}, event{l.death + foundAfter, notice})
	}
	began := time.Now()
	w.run(events)
	took := time.Since(began)

	l.report(t, name, w.now)
	t.Logf("%d tasks began in %v of real time, %.0f a second", w.begun, took.Round(time.Second), float64(w.begun)/took.Seconds())
	w.check(kill != nil)
	l.checkFair(t, plain)
}

// check looks for tasks that were lost, or ran more often than they should.
func (w *world) check(death bool) {
	w.Helper()
	if want := w.load.tasks() + len(w.rerun); w.begun != want {
		w.Errorf("%d tasks began, want %d", w.begun, want)
	}
	for _, f := range w.load.videos {
		if f.ready == 0 || f.stage != len(f.stages) {
			w.Errorf("video %s of %s is in stage %d, want %d", f.id, f.tenant, f.stage, len(f.stages))
		}
	}
	if len(w.lost) > 0 {
		w.Errorf("%d tasks of the dead machine never ran again", len(w.lost))
	}
	if !death {
		return
	}
	if len(w.rerun) == 0 {
		w.Error("the machine that died had nothing to do")
		return
	}
	w.Logf("%d tasks of the dead machine ran again, after %s", len(w.rerun), spread(w.rerun))
	// The turns come back at once, after those of tenants that run less; which of its
	// tasks a tenant runs in them is another matter, and left to chance. At the end of
	// its queue the first would wait for minutes.
	if first, limit := slices.Min(w.rerun), foundAfter+40*time.Second; first > limit {
		w.Errorf("the first of them waited %v for another worker, want at most %v", first, limit)
	}
}

// delays are how much longer clips took than when nothing ever waits.
func (l *load) delays(videos ...*simVideo) []time.Duration {
	var all []time.Duration
	for _, f := range videos {
		all = append(all, f.ready-f.comes-l.unhindered(f))
	}
	return all
}

// stillsOf is how long after their upload videos had their thumbnails.
func stillsOf(videos []*simVideo) []time.Duration {
	var all []time.Duration
	for _, f := range videos {
		all = append(all, f.stills-f.comes)
	}
	return all
}

func (l *load) report(t *testing.T, name string, end time.Duration) {
	t.Helper()
	t.Logf("%s, %d workers: %d videos of %v, %d clips of %d tenants, one single clip; %d tasks",
		name, l.workers(), len(l.films), l.length, len(l.clips), l.tenants, l.tasks())
	t.Logf("all done after %v; the work is %v for each worker", end, (l.work() / time.Duration(l.workers())).Round(time.Second/10))
	t.Logf("delay of the clips: %s; of the single one: %v", spread(l.delays(l.clips...)), l.delays(l.single)[0])
	t.Logf("thumbnails of the clips after %s; of the videos after %s", spread(stillsOf(l.clips)), spread(stillsOf(l.films)))
}

// checkFair looks whether the videos of one hold up the clips of others.
func (l *load) checkFair(t *testing.T, plain *load) {
	t.Helper()
	delays := l.delays(append(l.clips, l.single)...)
	slices.Sort(delays)
	before := plain.delays(append(plain.clips, plain.single)...)
	slices.Sort(before)
	if got, limit := delays[len(delays)/2], before[len(before)/2]/10; got > limit {
		t.Errorf("half of the clips were delayed by more than %v, want at most %v, a fifth of what a plain queue does", got, limit)
	}
}

// spread writes the middle, the 99th of a hundred, and the longest.
func spread(all []time.Duration) string {
	s := slices.Sorted(slices.Values(all))
	n := len(s)
	return fmt.Sprintf("%v (p50), %v (p99), %v (max)", s[n/2], s[n*99/100], s[n-1])
}
