package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// TestChaos lets videos through a fleet that is never left in peace: each round
// one part of it is killed, stopped, frozen or cut off, chosen at random, and
// comes back after a while. SPOOL_TEST_ROUNDS says how often, SPOOL_TEST_VIDEOS
// how many videos are always in work, and SPOOL_TEST_SEED repeats the choices of
// an earlier run.
func TestChaos(t *testing.T) {
	need.TimeFor(t, "chance chooses what it finds")
	t.Parallel()
	rounds := rig.Setting(t, "SPOOL_TEST_ROUNDS", 6)
	seed := rig.Setting(t, "SPOOL_TEST_SEED", time.Now().UnixNano())
	videos := rig.Setting(t, "SPOOL_TEST_VIDEOS", min(20, max(4, rounds/5)))
	t.Logf("%d rounds with %d videos in work; repeat the choices with SPOOL_TEST_SEED=%d", rounds, videos, seed)

	c := newChaos(t, seed)
	films := []sourceVideo{feature, short, clip, short}
	ctx, over := c.withTimeout(waitLimit+time.Duration(rounds)*time.Minute), make(chan struct{})
	for i := range int(videos) {
		first := c.newOrder(films[i%len(films)])
		c.busy.Go(func() { c.patronise(ctx, first, i%3 == 2, over) })
	}
	for range rounds {
		c.round()
	}
	close(over)
	c.heal()
	c.busy.Wait()
	if err := errors.Join(c.faults...); err != nil {
		t.Fatal(err)
	}
	c.wantRest(c.kept)
	c.wantVideos(c.kept)
	c.wantWholeVideos(c.kept)
	c.report()
}

// patronise sends an order, and the same again and again until it is over. A
// fickle customer deletes every other video, half of them while they are in work,
// and wants one more resolution of the rest, before or after they are ready.
func (c *chaos) patronise(ctx context.Context, first *order, fickle bool, over <-chan struct{}) {
	for n := 0; n == 0 || !closed(over); n++ {
		o := first.again()
		err := o.submit(ctx)
		if err == nil && fickle && n%4 == 0 {
			err = o.extend(ctx, oneMore)
		}
		if err == nil && (!fickle || n%4 != 1) {
			err = o.await(ctx)
		}
		if err == nil && fickle && n%4 == 2 {
			if err = o.extend(ctx, oneMore); err == nil {
				err = o.await(ctx)
			}
		}
		deleted := fickle && n%2 == 1
		if err == nil && deleted {
			err = o.remove(ctx)
		}
		c.mu.Lock()
		if err != nil {
			c.faults = append(c.faults, err)
		}
		if deleted {
			c.deleted++
		} else {
			c.kept = append(c.kept, o)
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// oneMore is a resolution that no video is ordered with.
const oneMore = "360p"

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// chaos is a fleet in bad weather.
type chaos struct {
	*fleet
	chance *rand.Rand
	losses []loss
	deeds  map[string]int
	ids    map[*node]string // how the database knows the workers

	busy    sync.WaitGroup // customers
	mu      sync.Mutex
	kept    []*order // videos that are still wanted
	deleted int      // videos that are not
	faults  []error
}

// loss is a task whose worker was killed.
type loss struct {
	task string
	at   time.Time // by the clock of the database
}

func newChaos(t *testing.T, seed int64) *chaos {
	t.Helper()
	c := &chaos{
		fleet: newFleetWithPostgres(t), chance: rand.New(rand.NewPCG(uint64(seed), 0)),
		deeds: map[string]int{}, ids: map[*node]string{},
	}
	for range 2 {
		c.api(withLine(t, c.fleet))
	}
	for range 3 {
		n := c.worker(withLine(t, c.fleet))
		c.ids[n] = c.newestWorker()
	}
	c.note()
	return c
}

// newestWorker returns the worker that came last.
func (c *chaos) newestWorker() string {
	id, _ := ask[string](c.fleet, `SELECT id FROM queue_worker WHERE places ? 'encode' ORDER BY started_at DESC LIMIT 1`)
	return id
}

// round does one evil deed, and makes it good after a while.
func (c *chaos) round() {
	c.t.Helper()
	deeds := []struct {
		name string
		do   func(*node) (undo func())
	}{
		{"kill", c.killNode}, {"kill", c.killNode}, {"terminate", c.terminate},
		{"freeze", c.freeze}, {"cut off from the storage", c.cutFromStorage}, {"cut off from the database", c.cutFromDatabase},
		{"restart the database under", c.restartPostgres}, {"spoil the storage under", c.spoilStorage},
	}
	deed := deeds[c.chance.IntN(len(deeds))]
	victim := c.nodes()[c.chance.IntN(len(c.nodes()))]
	c.deeds[deed.name]++
	time.Sleep(c.upTo(1500 * time.Millisecond))
	undo := deed.do(victim)
	time.Sleep(c.upTo(3 * time.Second))
	undo()
}

func (c *chaos) upTo(d time.Duration) time.Duration { return time.Duration(c.chance.Int64N(int64(d))) }

func (c *chaos) killNode(n *node) func() {
	c.t.Helper()
	n.kill()
	c.noteLosses(n)
	return func() { c.revive(n) }
}

// revive starts a process again.
func (c *chaos) revive(n *node) {
	c.t.Helper()
	n.start()
	if slices.Contains(c.workers, n) {
		c.ids[n] = c.newestWorker()
	}
}

func (c *chaos) terminate(n *node) func() {
	c.t.Helper()
	n.stop()
	return func() { c.revive(n) }
}

// freeze stops a process, half of the time with its children, as a machine
// stands still that moves to another host. Now and then it is for so long that
// the others give up hope.
func (c *chaos) freeze(n *node) func() {
	family := n.family()
	if c.chance.IntN(2) == 0 {
		family = family[:1]
	}
	for _, pid := range family {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // a child may have ended meanwhile
	}
	if c.chance.IntN(4) == 0 {
		time.Sleep(18 * time.Second)
	}
	return func() {
		for _, pid := range slices.Backward(family) {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

func (c *chaos) cutFromStorage(n *node) func() {
	manners := []func(){n.door.cut, func() { n.door.set(silent) }, func() { n.door.set(breaking(1000, nil)) }}
	manners[c.chance.IntN(len(manners))]()
	return func() { n.door.set(nil) }
}

func (c *chaos) cutFromDatabase(n *node) func() {
	if c.chance.IntN(2) == 0 {
		n.line.Drop()
		return func() {}
	}
	n.line.Freeze()
	return n.line.Thaw
}

func (c *chaos) restartPostgres(*node) func() {
	c.t.Helper()
	away := []func(){c.postgres.Stop, c.postgres.Crash, c.killPostgres}
	away[c.chance.IntN(len(away))]()
	return func() { c.postgres.Start(c.t) }
}

func (c *chaos) spoilStorage(*node) func() {
	manners := []func(){c.cutStorage, func() { c.weather(flaky(0.3)) }, func() { c.weather(slow(300*time.Millisecond, 0)) }}
	manners[c.chance.IntN(len(manners))]()
	return func() { c.weather(nil) }
}

// heal makes sure that everything runs.
func (c *chaos) heal() {
	c.t.Helper()
	c.weather(nil)
	for _, n := range c.nodes() {
		n.line.Thaw()
		if n.dead() {
			c.t.Errorf("%s has died by itself", n.name)
			c.revive(n)
		}
	}
}

// noteLosses writes down what a worker that was just killed was working on.
func (c *chaos) noteLosses(n *node) {
	c.t.Helper()
	time.Sleep(4 * pause) // what it sent last may still arrive
	const find = `
		SELECT concat_ws('/', args->>'kind', args->>'video', args->>'number'), clock_timestamp()
		  FROM river_job WHERE state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $1`

	conn, err := pgx.Connect(c.t.Context(), c.db)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(c.t.Context()))
	rows, err := conn.Query(c.t.Context(), find, c.ids[n])
	if err != nil {
		c.t.Fatal(err)
	}
	lost, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l loss, err error) { return l, row.Scan(&l.task, &l.at) })
	if err != nil {
		c.t.Fatal(err)
	}
	c.losses = append(c.losses, lost...)
}

// after returns how many seconds after a loss its task first came into a state.
func (c *chaos) after(l loss, state string) (seconds float64, ok bool) {
	return ask[float64](c.fleet, `SELECT extract(epoch FROM min(at) - $2)::float8 FROM test_event
		WHERE task = $1 AND at > $2 AND state = $3`, l.task, l.at, state)
}

// report tells what happened, and how long the tasks of killed workers lay.
func (c *chaos) report() {
	c.t.Helper()
	var worst, worstBack float64
	again := 0
	for _, l := range c.losses {
		// Not all have to run again: a video may have been deleted, and the end of
		// a task may have been its worker's last word, or another's, who had it
		// while this one was frozen. That the videos are whole is checked before.
		if ran, ok := c.after(l, "running"); ok {
			again++
			worst = max(worst, ran)
		}
		back, _ := c.after(l, "available")
		worstBack = max(worstBack, back)
	}
	c.t.Logf("tasks of killed workers: %d, of which %d ran again; given back after %.1f s at worst, run again after %.1f s at worst", len(c.losses), again, worstBack, worst)
	var done []string
	for name, n := range c.deeds {
		done = append(done, fmt.Sprintf("%s: %d", name, n))
	}
	slices.Sort(done)
	c.t.Logf("%d videos are whole, %d were deleted; what was done: %s", len(c.kept), c.deleted, strings.Join(done, ", "))
}
