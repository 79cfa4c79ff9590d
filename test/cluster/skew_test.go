package cluster

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/test/need"
)

// wrong is by how much the clocks of the API processes differ from the right
// time. Addresses live for less, so that whoever trusts one of them shows.
const wrong = 7 * time.Minute

// near is how far two readings of one moment may be apart. Addresses and headers
// count whole seconds, and clocks are compared within moments.
const near = 3*time.Second + busyness

// TestMachinesWithWrongClocks runs a fleet in which the database and the storage
// have the right time and nobody else has. Whatever one API process promises is
// kept by the other.
func TestMachinesWithWrongClocks(t *testing.T) {
	need.TimeFor(t, "the database whose clock is wrong stands for it, and all packages have to be built")
	t.Parallel()
	f := newFleet(t)
	lives := []option{withEnv("SPOOL_UPLOAD_URL_TTL", "5m"), withEnv("SPOOL_ABANDONED_AFTER", "5m")}
	fast := f.api(append(lives, withClock(t, wrong))...)
	slow := f.api(append(lives, withClock(t, -wrong))...)
	f.worker(withClock(t, 5*time.Minute))
	f.worker(withClock(t, -5*time.Minute))
	fast.wantClock(wrong)
	slow.wantClock(-wrong)

	films := &orders{all: []*order{f.handedOver(fast, slow), f.handedOver(slow, fast)}}
	f.wantWorkers(2)
	for _, o := range films.all {
		if err := o.await(f.withTimeout(waitLimit)); err != nil {
			t.Fatal(err)
		}
		o.wantPlayed(fast, slow)
		o.wantPlayed(slow, fast)
		o.wantReport()
	}
	f.wantBothWorked()
	f.wantExpiry(films.all[0], 8) // both processes are asked in turns

	f.wantPromises(fast, slow)
	f.wantLateUploadExpired(f.pending(clip, clip))
	f.finish(films)
	for _, n := range f.workers {
		if strings.Contains(n.log.String(), "were given back") {
			t.Errorf("%s took another for dead", n.name)
		}
	}
}

// wantClock makes sure that the clock of a process is what the test thinks.
func (n *node) wantClock(ahead time.Duration) {
	n.t.Helper()
	r, err := send(n.t.Context(), http.MethodGet, n.address()+"/healthz", nil, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	theirs, err := http.ParseTime(r.header.Get("Date"))
	if got := time.Until(theirs); err != nil || (got-ahead).Abs() > near {
		n.t.Fatalf("%s is ahead by %s, %v; want %s", n.name, got, err, ahead)
	}
}

// handedOver brings a private video: one process makes the address of its upload,
// which must be good at once and for its five minutes, the other completes it.
func (f *fleet) handedOver(creates, completes *node) *order {
	f.t.Helper()
	o := f.newOrder(private(feature))
	var made struct{ UploadExpiresAt, CreatedAt time.Time }
	r := creates.must(http.MethodPost, "/api/video", http.StatusCreated, o.sourceVideo)
	decode(f.t, r, &o.upload)
	decode(f.t, r, &made)
	signed, expires := lifeOf(f.t, o.upload.UploadURL)
	for what, apart := range map[string]time.Duration{
		"uploadExpiresAt": time.Until(made.UploadExpiresAt) - 5*time.Minute,
		"X-Amz-Date":      time.Until(signed),
		"X-Amz-Expires":   time.Until(expires) - 5*time.Minute,
	} {
		if apart.Abs() > near {
			f.t.Errorf("%s: %s of an upload address is wrong by %s", creates.name, what, apart)
		}
	}
	if err := o.put(f.t.Context()); err != nil {
		f.t.Fatalf("an address that %s made: %v", creates.name, err)
	}
	completes.must(http.MethodPost, "/api/video/"+o.upload.ID+"/complete-upload", http.StatusCreated, nil)
	o.status = "processing"
	decode(f.t, completes.must(http.MethodGet, "/api/video/"+o.upload.ID, http.StatusOK, nil), &made)
	if age := time.Since(made.CreatedAt); age.Abs() > near {
		f.t.Errorf("%s: a video of this moment is %s old", completes.name, age)
	}
	return o
}

// wantPlayed wants an address that one process signed to be good at the other,
// and whatever that makes of it to end when it does.
func (o *order) wantPlayed(signs, plays *node) {
	t := o.fleet.t
	t.Helper()
	const life = 2 * time.Minute
	var w watch
	ends := time.Now().Add(life)
	decode(t, signs.must(http.MethodGet, o.signed(int(life.Seconds())), http.StatusOK, nil), &w)
	address, err := url.Parse(w.Resolutions["144p"].VideoURL)
	if err != nil {
		t.Fatal(err)
	}
	r := plays.look(address.RequestURI())
	if r.status != http.StatusFound {
		t.Fatalf("%s: an address of %s answers %d %.300s", plays.name, signs.name, r.status, r.body)
	}
	if _, expires := lifeOf(t, r.header.Get("Location")); expires.Sub(ends).Abs() > near {
		t.Errorf("%s: players are sent to an address that ends %s after the one they came with", plays.name, expires.Sub(ends))
	}
	_, age, _ := strings.Cut(r.header.Get("Cache-Control"), "max-age=")
	if seconds, err := strconv.Atoi(age); err != nil || (time.Duration(seconds)*time.Second-time.Until(ends)).Abs() > near {
		t.Errorf("%s: an address that ends in %s may be cached as %q", plays.name, time.Until(ends), r.header.Get("Cache-Control"))
	}
	plays.must(http.MethodGet, address.RequestURI(), http.StatusOK, nil)
}

// wantReport wants the programs that the workers ran to have run since the video
// came.
func (o *order) wantReport() {
	t := o.fleet.t
	t.Helper()
	var made struct{ CreatedAt time.Time }
	var report struct {
		Runs []struct{ StartedAt time.Time }
	}
	decode(t, o.fleet.apis[0].must(http.MethodGet, "/api/video/"+o.upload.ID, http.StatusOK, nil), &made)
	decode(t, o.fleet.apis[0].must(http.MethodGet, "/api/video/"+o.upload.ID+"/report", http.StatusOK, nil), &report)
	for _, r := range report.Runs {
		if r.StartedAt.Before(made.CreatedAt) || time.Until(r.StartedAt) > near {
			t.Errorf("a program ran at %s for a video of %s; it is %s", r.StartedAt, made.CreatedAt, time.Now())
		}
	}
}

// wantWorkers wants somebody whose clock is wrong as well to see all workers, each
// of them heard of a moment ago, and the metrics to count them.
func (f *fleet) wantWorkers(n int) {
	f.t.Helper()
	for _, api := range f.apis {
		cmd := exec.Command(api.binary, "workers", "--json")
		cmd.Env = []string{aheadVariable + "=" + api.env[aheadVariable], "SPOOL_DATABASE_URL=" + f.db}
		out, err := cmd.Output()
		if err != nil {
			f.t.Fatalf("list the workers: %v", err)
		}
		var all []struct{ UpSeconds, SilentSeconds float64 }
		if err := json.Unmarshal(out, &all); err != nil || len(all) != n {
			f.t.Errorf("spool workers tells of %s, %v; want %d", out, err, n)
		}
		for _, w := range all {
			if w.UpSeconds > waitLimit.Seconds() || w.SilentSeconds > 15 {
				f.t.Errorf("%s: a worker is said to be up for %.0f s and silent for %.0f s", api.name, w.UpSeconds, w.SilentSeconds)
			}
		}
		if r := api.must(http.MethodGet, "/metrics", http.StatusOK, nil); !strings.Contains(string(r.body), "\nspool_fleet_workers "+strconv.Itoa(n)+"\n") {
			f.t.Errorf("the metrics of %s do not tell of %d workers", api.name, n)
		}
	}
}

// wantBothWorked wants each worker to have done some of the work.
func (f *fleet) wantBothWorked() {
	f.t.Helper()
	until(f.t, "both workers to tell what they have done", waitLimit, func() bool {
		return f.count(`SELECT count(*) FROM queue_worker WHERE done > 0`) == len(f.workers)
	})
}

// wantPromises wants a repeated request to be known to either process for 24
// hours, whichever made the video, and no longer.
func (f *fleet) wantPromises(makes, repeats *node) {
	f.t.Helper()
	for _, both := range [][2]*node{{makes, repeats}, {repeats, makes}} {
		o := f.newOrder(clip)
		ask := func(n *node) (id string) {
			r := n.must(http.MethodPost, "/api/video", http.StatusCreated, o.sourceVideo, header{"Idempotency-Key", o.key})
			decode(f.t, r, &o.upload)
			return o.upload.ID
		}
		const age = `UPDATE idempotency_key SET created_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $2 WHERE key = $1`
		first := ask(both[0])
		f.exec(age, o.key, (24*time.Hour - wrong/2).Milliseconds())
		if again := ask(both[1]); again != first {
			f.t.Errorf("%s: a request is forgotten before its day is over", both[1].name)
		}
		f.exec(age, o.key, (24*time.Hour + wrong/2).Milliseconds())
		second := ask(both[1])
		if second == first {
			f.t.Errorf("%s: a request is remembered after its day", both[1].name)
		}
		for _, o.upload.ID = range []string{first, second} {
			if err := o.remove(f.t.Context()); err != nil {
				f.t.Error(err)
			}
		}
	}
}

// lifeOf returns when an address of the storage begins to be good, and when it
// ends.
func lifeOf(t testing.TB, address string) (from, to time.Time) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	from, err = time.Parse("20060102T150405Z", u.Query().Get("X-Amz-Date"))
	seconds, unreadable := strconv.Atoi(u.Query().Get("X-Amz-Expires"))
	if err != nil || unreadable != nil {
		t.Fatalf("not an address of the storage: %v, %v", err, unreadable)
	}
	return from, from.Add(time.Duration(seconds) * time.Second)
}

// must sends a request of the API that must be answered with the given status.
func (n *node) must(method, path string, status int, body any, more ...header) reply {
	n.t.Helper()
	r, err := n.call(n.t.Context(), method, path, body, more...)
	if err != nil || r.status != status {
		n.t.Fatalf("%s: %s %s is answered %d %.300s, %v; want %d", n.name, method, path, r.status, r.body, err, status)
	}
	return r
}

func decode(t testing.TB, r reply, v any) {
	t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		t.Fatalf("decode %.300s: %v", r.body, err)
	}
}

// look asks a process for a file and does not follow where it sends players.
func (n *node) look(path string) reply {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, n.address()+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	res, err := direct.Transport.RoundTrip(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	return reply{status: res.StatusCode, header: res.Header}
}
