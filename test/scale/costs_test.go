package scale

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

// few and many are how much is in the two databases that are compared, and most
// is how much dearer the second may be.
const (
	few, many = 1_000, 100_000
	most      = 1.3
	rounds    = 500
)

// TestCosts compares what the same things cost with few and with many videos in
// the database, and as many tasks waiting:
//
//	SPOOL_SCALE_COSTS=1 go test -count=1 -timeout 1h -run TestCosts -v ./test/scale
//
// The two take turns, so that whatever else the machine does hits both.
func TestCosts(t *testing.T) {
	if os.Getenv("SPOOL_SCALE_COSTS") == "" {
		t.Skip("set SPOOL_SCALE_COSTS=1: filling two databases takes minutes")
	}
	t.Run("SQLite", func(t *testing.T) {
		var yards []*yard
		for _, n := range []int{few, many} {
			st := openSQLite(t)
			yards = append(yards, newYard(t, st, local.New(st.Writer(), local.Options{Read: st.Reader()}), n))
		}
		compare(t, yards[0], yards[1])
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		var yards []*yard
		server := countingServer(t)
		for _, n := range []int{few, many} {
			address := countingDatabase(t, server)
			st := openPostgres(t, address)
			q, err := river.Open(t.Context(), st, river.Options{})
			if err != nil {
				t.Fatal(err)
			}
			y := newYard(t, st, q, n)
			y.address = address
			pgtest.Exec(t, address, `VACUUM ANALYZE`) // as the server itself does before long
			yards = append(yards, y)
		}
		compare(t, yards[0], yards[1])
	})
}

// yard is a database with videos, and a queue that one worker serves.
type yard struct {
	*bench
	address string // of PostgreSQL
	store   *store.Store
	queue   queue.Queue
	videos  []video.ID
	next    int            // tasks that were added
	begun   chan time.Time // a task has begun
	end     chan struct{}  // lets it end
}

func newYard(t testing.TB, st *store.Store, q queue.Queue, n int) *yard {
	t.Helper()
	y := &yard{bench: newBench(t, st, q), store: st, queue: q, begun: make(chan time.Time), end: make(chan struct{})}
	for len(y.videos) < n {
		y.fill(1_000, n/failed)
	}
	// Fifty tenants have ten videos each. So in both databases the same share of
	// the turns has to be exchanged for that of a more urgent task.
	for i := range 10 * tenants {
		var chunks []queue.Task
		for range n / (10 * tenants) {
			chunks = append(chunks, queue.Task{Kind: queue.Encode, Video: y.videos[i], Number: len(chunks),
				Tenant: tenant(i), Priority: 10 + min(len(chunks), 50)})
		}
		y.must(enqueueOn(st, q)(t.Context(), chunks))
	}
	return y
}

const tenants = 50

func tenant(i int) video.Tenant { return video.Tenant(fmt.Sprint("tenant-", i%tenants)) }

// failed is how many videos of each database have failed, so that a page of them
// is as long in the one as in the other.
const failed = 100

// fill adds n ready videos, but of every so many one that has failed.
func (y *yard) fill(n, every int) {
	y.Helper()
	ctx := y.Context()
	first := len(y.videos)
	y.must(y.store.InTx(ctx, func(tx *store.Tx) error {
		for i := range n {
			v := readyVideo(first + i)
			if (first+i)%every == 0 {
				v.Status = video.Fail
			}
			if err := catalog.Insert(ctx, tx, v); err != nil {
				return err
			}
			y.videos = append(y.videos, v.ID)
		}
		return nil
	}))
}

// readyVideo is a video that can be watched.
func readyVideo(n int) video.Video {
	id := fmt.Sprintf("0198c5b6-7d5e-7c3a-9b1e-%012d", n)
	v := video.Video{
		ID: video.ID(id), Tenant: "somebody", Filename: "film.mp4", ContentType: "video/mp4", IsPublic: true,
		Status: video.Ready, CreatedAt: made(n), UploadExpiresAt: made(n), Thumbnails: []float64{1, 2},
		Metadata: fmt.Appendf(nil, `{"customer":"c-%d","order":%d,"title":"A film that somebody made"}`, n%997, n),
	}
	for i, name := range []video.Name{"720p", "240p"} {
		v.Resolutions = append(v.Resolutions, video.Resolution{
			ID: video.ResolutionID(fmt.Sprintf("0198c5b6-7d5e-7c3a-%04d-%012d", i, n)), VideoID: v.ID, Name: name, Status: video.Ready})
	}
	return v
}

// made is when a video was made: long ago, one every second.
func made(n int) time.Time {
	return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

// list reads a page of 20 videos, which must be there.
func (y *yard) list(f video.Filter, after video.Cursor) {
	y.Helper()
	page, err := y.Catalog.List(y.Context(), y.by, f, after, video.DefaultPage)
	y.must(err)
	if len(page.Videos) != video.DefaultPage {
		y.Fatalf("the page has %d videos", len(page.Videos))
	}
}

// search looks in vain for metadata, and shows what that costs.
func (y *yard) search() {
	y.Helper()
	var took []time.Duration
	for range 50 {
		began := time.Now()
		page, err := y.Catalog.List(y.Context(), y.by, video.Filter{Labels: []video.Label{{Key: "customer", Value: "nobody"}}}, video.Cursor{}, video.DefaultPage)
		y.must(err)
		took = append(took, time.Since(began))
		if len(page.Videos) > 0 || page.Next != (video.Cursor{}) {
			y.Fatalf("the search finds %d videos and goes on at %v", len(page.Videos), page.Next)
		}
	}
	y.Logf("a page of a search in vain with %d videos: %v", len(y.videos), median(took))
}

// task is another one of a tenant, which can wait.
func (y *yard) task() queue.Task {
	y.next++
	return queue.Task{Kind: queue.Encode, Video: y.videos[y.next], Number: 1_000, Tenant: tenant(y.next), Priority: 60}
}

// start lets one worker begin.
func (y *yard) start() {
	y.Helper()
	over := make(chan struct{})
	y.must(y.queue.Start(y.Context(), queue.Encoding(1, func(context.Context, queue.Task) error {
		select {
		case y.begun <- time.Now():
		case <-over:
		}
		select {
		case <-y.end:
		case <-over:
		}
		return nil
	})))
	y.Cleanup(func() {
		close(over)
		y.must(y.queue.Stop(context.WithoutCancel(y.Context())))
	})
	<-y.begun
}

// operations are what is compared.
var operations = []struct {
	name string
	do   func(*yard)
}{
	{"create a video", func(y *yard) { y.create() }},
	{"read a video", func(y *yard) {
		_, err := y.Catalog.Public(y.Context(), y.by, y.videos[rand.IntN(len(y.videos))], base)
		y.must(err)
	}},
	{"first page of the list", func(y *yard) { y.list(video.Filter{}, video.Cursor{}) }},
	{"page amid the list", func(y *yard) {
		n := video.DefaultPage + rand.IntN(len(y.videos)-video.DefaultPage)
		y.list(video.Filter{}, video.Cursor{CreatedAt: made(n), ID: y.videos[n]})
	}},
	{"page of the few that failed", func(y *yard) { y.list(video.Filter{Status: video.Fail}, video.Cursor{}) }},
	{"enqueue a task", func(y *yard) {
		y.must(enqueueOn(y.store, y.queue)(y.Context(), []queue.Task{y.task()}))
	}},
	{"end a task and claim the next", func(y *yard) {
		y.end <- struct{}{}
		<-y.begun
	}},
}

// compare does everything in both in turns and compares the medians.
func compare(t *testing.T, small, large *yard) {
	t.Helper()
	both := []*yard{small, large}
	for _, y := range both {
		y.start()
		if y.address != "" {
			reset(t, y.address)
		}
	}
	took := map[string]*[2][]time.Duration{}
	for range rounds {
		for _, o := range operations {
			if took[o.name] == nil {
				took[o.name] = new([2][]time.Duration)
			}
			for _, i := range rand.Perm(2) {
				began := time.Now()
				o.do(both[i])
				took[o.name][i] = append(took[o.name][i], time.Since(began))
			}
		}
	}
	for _, o := range operations {
		judge(t, o.name, median(took[o.name][0]), median(took[o.name][1]))
	}
	// Much of the last one on PostgreSQL is waiting for the next look, which
	// would hide that the look itself takes longer.
	if small.address != "" {
		judge(t, "all, in the server", tally(t, small.address).server/rounds, tally(t, large.address).server/rounds)
		small.dearest()
		large.dearest()
	}
	small.search()
	large.search()
}

// dearest shows where the time of the server goes.
func (y *yard) dearest() {
	y.Helper()
	const find = `
		SELECT string_agg(line, E'\n' ORDER BY total_exec_time DESC) FROM (
		       SELECT total_exec_time, format('%s calls, %s µs each: %s', calls, round(mean_exec_time::numeric * 1000),
		              left(regexp_replace(query, '\s+', ' ', 'g'), 150)) AS line
		         FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
		        ORDER BY total_exec_time DESC LIMIT 6) AS dearest`
	y.Logf("with %d videos:\n%s", len(y.videos), ask[string](y, y.address, find))
}

func judge(t *testing.T, what string, a, b time.Duration) {
	t.Helper()
	ratio := float64(b) / float64(a)
	t.Logf("%-30s %8v with %d, %8v with %d: %.2f ×", what, a.Round(time.Microsecond), few, b.Round(time.Microsecond), many, ratio)
	if ratio > most {
		t.Errorf("%s costs %.2f times as much with %d as with %d, want at most %.1f", what, ratio, many, few, most)
	}
}

func median(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}
