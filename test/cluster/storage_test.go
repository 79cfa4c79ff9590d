package cluster

import (
	"net/http"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
)

// TestStorageInTrouble spoils the storage for everybody in the middle of the
// work. Tasks wait for it, and no video fails for it.
func TestStorageInTrouble(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]struct {
		begin func(*fleet)
		lasts time.Duration // 0: until the videos are ready
	}{
		"gone":                {func(f *fleet) { f.cutStorage(); f.wantReadsRefused() }, byLength(12*time.Second, 20*time.Second)},
		"silent":              {func(f *fleet) { f.weather(silent) }, byLength(5*time.Second, time.Minute)},
		"slow":                {func(f *fleet) { f.weather(slow(200*time.Millisecond, 20*time.Millisecond)) }, 0},
		"with 30 % of errors": {func(f *fleet) { f.weather(flaky(0.3)) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if trouble.lasts > 0 || name == "slow" {
				need.TimeFor(t, "a storage with errors is slow and silent now and then")
			}
			t.Parallel()
			f := newFleet(t)
			f.api()
			f.worker()
			f.worker()
			films := f.begin(f.withTimeout(waitLimit), oneUsually(short, feature)...)
			until(t, "some of the work to be done", waitLimit, func() bool { return f.steps("encode") > 0 })
			trouble.begin(f)
			if trouble.lasts > 0 {
				time.Sleep(trouble.lasts)
				f.weather(nil)
			}
			began := time.Now()
			if err := films.wait(); err != nil {
				t.Fatal(err)
			}
			t.Logf("all is ready %.1f s later", time.Since(began).Seconds())
			f.weather(nil)
			f.finish(films)
		})
	}
}

// wantReadsRefused wants requests that need the storage to be answered, with
// "not now", while it is gone.
func (f *fleet) wantReadsRefused() {
	f.t.Helper()
	began := time.Now()
	r, err := f.call(f.t.Context(), http.MethodGet, "/v/00000000-0000-4000-8000-000000000000/144p.mp4", nil)
	took := time.Since(began)
	if err != nil || !r.passing() {
		f.t.Errorf("without storage a video answers %d %.200s, %v, after %s; want 503 with Retry-After", r.status, r.body, err, took)
	}
	f.t.Logf("without storage a video is refused after %s", took.Round(time.Millisecond))
}

// TestWriteIsCutInTheMiddle breaks the connection between one worker and the
// storage while it writes, again and again. Nobody ever sees half an object, and
// the other worker is not disturbed.
func TestWriteIsCutInTheMiddle(t *testing.T) {
	need.TimeFor(t, "a storage with errors disturbs every write, and TestWriteThatFailsLeavesTheOldObject of package s3 breaks connections in the middle")
	t.Parallel()
	f := newFleet(t)
	f.api()
	unlucky := f.worker()
	broke := make(chan string, 1000)
	unlucky.door.set(breaking(2000, broke))
	films := f.begin(f.withTimeout(waitLimit), feature)
	<-broke
	f.worker()
	for range 4 {
		select {
		case <-broke:
		case <-time.After(waitLimit):
			t.Fatal("the worker does not try again")
		}
	}
	unlucky.door.cut() // the network is gone altogether
	time.Sleep(2 * time.Second)
	unlucky.door.set(nil)
	f.finish(films)
	t.Logf("%d more writes were cut off", len(broke))
}
