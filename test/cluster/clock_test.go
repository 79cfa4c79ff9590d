package cluster

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/test/need"
)

// TestClocksDiffer runs a fleet whose database lives seven minutes in the future
// or in the past of all others. Work is done, dead workers are missed and
// addresses expire as if all clocks agreed, and nothing is removed too early:
// uploads live for less than the clocks differ, so that whoever compares the
// time of one clock with that of another shows.
func TestClocksDiffer(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"ahead": 7 * time.Minute, "behind": -7 * time.Minute} {
		t.Run("database "+name, func(t *testing.T) {
			if ahead < 0 {
				need.TimeFor(t, "a database that is ahead stands for it")
			}
			t.Parallel()
			f := newFleetOn(t, pgtest.StartWithClock(t, ahead))
			f.wantSkew(ahead)
			f.api(withEnv("SPOOL_UPLOAD_URL_TTL", "5m"), withEnv("SPOOL_ABANDONED_AFTER", "5m"))
			waiting := f.pending(private(clip), clip, clip)
			films := f.losesAWorker()
			f.wantLateUploadExpired(waiting[1:])
			f.wantCompleted(waiting[0])
			films.all = append(films.all, waiting[0])
			f.finish(films)
			f.wantExpiry(waiting[0], 6)
		})
	}
}

// private returns the video as one that a signature opens.
func private(f sourceVideo) sourceVideo {
	f.IsPublic = false
	return f
}

// wantSkew makes sure that the clock of the database is what the test thinks.
func (f *fleet) wantSkew(ahead time.Duration) {
	f.t.Helper()
	theirs, ok := ask[time.Time](f, `SELECT clock_timestamp()`)
	if got := time.Until(theirs); !ok || (got-ahead).Abs() > 30*time.Second {
		f.t.Fatalf("the database is %s ahead; want %s", got, ahead)
	}
}

// pending brings videos and does not complete their uploads.
func (f *fleet) pending(films ...sourceVideo) []*order {
	f.t.Helper()
	var all []*order
	for _, film := range films {
		o := f.newOrder(film)
		if err := o.create(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
		if err := o.put(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

// losesAWorker has two workers make a video and kills the one that hands in its
// part. It wants the task to be given back in the usual time: 20 s, and some for
// a busy machine.
func (f *fleet) losesAWorker() *orders {
	f.t.Helper()
	c := &chaos{fleet: f, ids: map[*node]string{}}
	victim, came := f.worker(), make(chan string, 100)
	c.ids[victim] = c.newestWorker()
	victim.door.set(holding(writes, came))
	f.note()
	films := f.begin(f.withTimeout(waitLimit), oneUsually(short, feature)...)
	select {
	case <-came:
	case <-time.After(waitLimit):
		f.t.Fatal("the worker hands in nothing")
	}
	f.worker()
	began := time.Now()
	c.killNode(victim)
	if len(c.losses) != 1 {
		f.t.Fatalf("the worker that was killed had the tasks %+v; want one", c.losses)
	}
	var back float64
	until(f.t, "the task of a dead worker to be given back", waitLimit, func() (ok bool) {
		back, ok = c.after(c.losses[0], "available")
		return ok
	})
	f.t.Logf("given back after %.1f s by the clock of the database, %.1f s by ours", back, time.Since(began).Seconds())
	if back > 30 || time.Since(began) > 40*time.Second {
		f.t.Errorf("the task of a dead worker was given back after %.1f s; want 20 s at most", back)
	}
	victim.door.set(nil)
	victim.start()
	if err := films.wait(); err != nil {
		f.t.Fatal(err)
	}
	return films
}

// wantLateUploadExpired makes the address of one upload expire 310 s ago, and
// that of another 10 s ago, by the clock of the database, and lets the fleet keep
// house. The first is given up, the other kept for the rest of its five minutes,
// and nothing else goes.
func (f *fleet) wantLateUploadExpired(two []*order) {
	f.t.Helper()
	const expire = `UPDATE video SET upload_expires_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $2 WHERE id = $1`
	f.exec(expire, two[0].upload.ID, 310_000)
	f.exec(expire, two[1].upload.ID, 10_000)
	f.keepHouse()
	for i, want := range []string{"fail", "pending_upload"} {
		var w watch
		until(f.t, "the upload to be "+want, time.Minute, func() bool {
			r, err := f.call(f.t.Context(), http.MethodGet, two[i].route(), nil)
			return err == nil && r.decode(http.StatusOK, &w) == nil && w.Status == want
		})
		if err := two[i].remove(f.t.Context()); err != nil {
			f.t.Error(err)
		}
	}
}

// keepHouse has the fleet look at every upload and every object. It returns when
// an object without an owner, in the place that is looked at last, is gone.
func (f *fleet) keepHouse() {
	f.t.Helper()
	orphan := filepath.Join(f.objects, "private", uuid.NewString(), "144p.mp4")
	if err := os.MkdirAll(filepath.Dir(orphan), 0o777); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(orphan, []byte("nobody's"), 0o666); err != nil {
		f.t.Fatal(err)
	}
	f.apis[0].stop()
	f.exec(`UPDATE periodic_job SET begun_at = 0 WHERE name = 'sweep'`)
	f.apis[0].start()
	until(f.t, "the sweep", waitLimit, func() bool {
		_, err := os.Stat(orphan)
		return os.IsNotExist(err)
	})
}

// wantCompleted completes an upload that waited, and awaits the video.
func (f *fleet) wantCompleted(o *order) {
	f.t.Helper()
	ctx := f.withTimeout(waitLimit)
	r, err := o.insist(ctx, http.MethodPost, "/api/video/"+o.upload.ID+"/complete-upload", nil)
	if err == nil {
		err = r.decode(http.StatusCreated, &struct{}{})
	}
	if err == nil {
		err = o.await(ctx)
	}
	if err != nil {
		f.t.Fatalf("an upload that waited: %v", err)
	}
}

// wantExpiry wants a signed address to be good for so many seconds, and no
// longer.
func (f *fleet) wantExpiry(o *order, seconds int) {
	f.t.Helper()
	var w watch
	asked := time.Now()
	r, err := o.insist(f.t.Context(), http.MethodGet, o.signed(seconds), nil)
	answered := time.Now()
	if err == nil {
		err = r.decode(http.StatusOK, &w)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	address, err := url.Parse(w.Resolutions["144p"].VideoURL)
	if err != nil {
		f.t.Fatal(err)
	}
	life := time.Duration(seconds) * time.Second
	for {
		sent := time.Now()
		r, err := f.call(f.t.Context(), http.MethodGet, address.RequestURI(), nil)
		if err != nil {
			f.t.Fatal(err)
		}
		if r.status != http.StatusOK {
			// An address expires with a whole second, and clocks are compared within moments.
			if got := time.Since(asked); r.status != http.StatusForbidden || got < life-2*time.Second {
				f.t.Errorf("an address of %s answers %d after %s", life, r.status, got)
			}
			f.t.Logf("an address of %s is dead after %s", life, ms(time.Since(asked)))
			return
		}
		if sent.Sub(answered) > life+3*time.Second {
			f.t.Fatalf("an address of %s still opens the video after %s", life, sent.Sub(answered))
		}
		time.Sleep(2 * pause)
	}
}
