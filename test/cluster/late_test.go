package cluster

import (
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
)

// TestFrozenWorkerComesBack stops a worker while it hands in a result, for longer
// than it may be silent. Another one does its task. What the first still says
// when it comes back harms nothing.
func TestFrozenWorkerComesBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.api()
	sleeper := f.worker()
	came := make(chan string, 100)
	sleeper.door.set(holding(writes, came))
	films := f.begin(f.withTimeout(waitLimit), short)
	held := <-came
	sleeper.signal(syscall.SIGSTOP)
	frozen := time.Now()
	f.worker()
	if err := films.wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s was held; the video is ready %.1f s after its worker froze", held, time.Since(frozen).Seconds())
	f.wantIdle() // pictures and the like come after the video
	before := f.state(films.all)

	time.Sleep(time.Until(frozen.Add(byLength(25*time.Second, 60*time.Second))))
	sleeper.signal(syscall.SIGCONT)
	sleeper.door.set(nil)
	until(t, "the worker to come back", waitLimit, sleeper.ready)
	time.Sleep(6 * time.Second) // a beat tells it that its task is another's
	if after := f.state(films.all); after != before {
		t.Errorf("the late result changed\n%s\ninto\n%s", before, after)
	}
	f.finish(films)
	f.wantWork(sleeper)
}

// TestFrozenWorkerHoldsALock stops a worker in the middle of publishing a video,
// while it has the video locked. Nobody else can publish it, so all wait; what
// customers may ask meanwhile is answered, and the video is there when the worker
// goes on.
func TestFrozenWorkerHoldsALock(t *testing.T) {
	need.TimeFor(t, "another test freezes a worker")
	t.Parallel()
	f := newFleet(t)
	f.api()
	sleeper := f.worker()
	came := make(chan string, 100)
	sleeper.door.set(holding(publishes, came))
	films := f.begin(f.withTimeout(waitLimit), short, public(short))
	<-came
	sleeper.signal(syscall.SIGSTOP)
	frozen := time.Now()
	f.worker()
	time.Sleep(time.Until(frozen.Add(byLength(25*time.Second, time.Minute))))
	if n := f.count(`SELECT count(*) FROM video WHERE status = 'ready'`); n != 1 {
		t.Errorf("%d videos are ready; want the one that is not locked", n)
	}
	sleeper.door.set(nil)
	sleeper.signal(syscall.SIGCONT)
	woken := time.Now()
	if err := films.wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("the video is ready %.1f s after its worker went on", time.Since(woken).Seconds())
	f.finish(films)
}

// public returns the video as one that everybody may see.
func public(f sourceVideo) sourceVideo {
	f.IsPublic = true
	return f
}

// TestKilledWhilePublishing kills a worker whose copy of a video into its place
// is still under way, and lets that copy come through afterwards.
func TestKilledWhilePublishing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.api()
	victim := f.worker()
	came := make(chan string, 100)
	victim.door.set(holding(publishes, came))
	films := f.begin(f.withTimeout(waitLimit), public(short))
	<-came
	victim.kill()
	killed := time.Now()
	victim.door.set(nil)
	f.worker()
	if err := films.wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("the video is ready %.1f s after its worker was killed", time.Since(killed).Seconds())
	victim.start()
	f.finish(films)
}

// wantWork wants a worker to be good for another video, alone.
func (f *fleet) wantWork(n *node) {
	f.t.Helper()
	for _, other := range f.workers {
		if other != n {
			other.stop()
		}
	}
	if err := f.begin(f.withTimeout(waitLimit), clip).wait(); err != nil {
		f.t.Errorf("%s does not work any more: %v", n.name, err)
	}
}

// state describes what customers can see of the videos, and the objects behind
// it.
func (f *fleet) state(live []*order) string {
	f.t.Helper()
	var all string
	for _, o := range live {
		r, err := o.insist(f.t.Context(), "GET", o.route(), nil)
		if err != nil {
			f.t.Fatal(err)
		}
		var w watch
		if err := r.decode(200, &w); err != nil {
			f.t.Fatal(err)
		}
		all += o.describe(w)
	}
	return all
}
