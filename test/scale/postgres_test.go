package scale

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/video"
)

// countingServer starts a server that counts its statements.
func countingServer(t testing.TB) *pgtest.Server {
	t.Helper()
	s := pgtest.Start(t)
	pgtest.Exec(t, s.Fresh(t), `ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'`)
	s.Stop()
	s.Start(t)
	return s
}

// countingDatabase returns a new database that can tell what was asked of it.
func countingDatabase(t testing.TB, s *pgtest.Server) string {
	t.Helper()
	address := s.Fresh(t)
	pgtest.Exec(t, address, `CREATE EXTENSION pg_stat_statements`)
	return address
}

// asked is what a database was asked since it was last reset.
type asked struct {
	statements, commits int
	server              time.Duration // that the server spent on them
}

func reset(t testing.TB, address string) {
	t.Helper()
	pgtest.Exec(t, address, `SELECT pg_stat_statements_reset(0, (SELECT oid FROM pg_database WHERE datname = current_database()), 0)`)
}

// tally counts the statements, those that begin and end transactions included,
// and of a commit only those that had something to write.
func tally(t testing.TB, address string) asked {
	t.Helper()
	const of = ` FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND query !~ 'pg_stat_statements'`
	return asked{
		statements: ask[int](t, address, `SELECT coalesce(sum(calls), 0)::int`+of),
		commits:    ask[int](t, address, `SELECT coalesce(sum(calls), 0)::int`+of+` AND query ILIKE 'commit'`),
		server:     time.Duration(ask[float64](t, address, `SELECT coalesce(sum(total_exec_time), 0)::float8`+of) * float64(time.Millisecond)),
	}
}

func (a asked) minus(b asked) asked {
	return asked{a.statements - b.statements, a.commits - b.commits, a.server - b.server}
}

// TestOnePostgres measures what one PostgreSQL carries:
//
//	SPOOL_SCALE_COSTS=1 go test -count=1 -timeout 1h -run TestOnePostgres -v ./test/scale
func TestOnePostgres(t *testing.T) {
	if os.Getenv("SPOOL_SCALE_COSTS") == "" {
		t.Skip("set SPOOL_SCALE_COSTS=1: measuring takes a minute")
	}
	s := countingServer(t)
	t.Run("rates", func(t *testing.T) { measureRates(t, s.Fresh(t)) })
	t.Run("a video", func(t *testing.T) { measureVideo(t, countingDatabase(t, s)) })
	t.Run("an idle process", func(t *testing.T) { measureIdle(t, countingDatabase(t, s)) })
}

// process is a process of a fleet.
type process struct {
	*river.Queue
	store *store.Store
}

func newProcess(t testing.TB, address string) process {
	t.Helper()
	st := openPostgres(t, address)
	q, err := river.Open(t.Context(), st, river.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return process{q, st}
}

func (p process) run(t testing.TB, n int, h queue.Handler) {
	t.Helper()
	if err := p.Start(t.Context(), queue.Encoding(n, h)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// batch returns tasks of one video.
func batch(n int) []queue.Task {
	id := video.ID(readyVideo(n).ID)
	var tasks []queue.Task
	for i := range 500 {
		tasks = append(tasks, queue.Task{Kind: queue.Encode, Video: id, Number: i, Tenant: "somebody", Priority: 10 + min(i, 50)})
	}
	return tasks
}

// measureRates enqueues the chunks of videos, single tasks from eight at a time,
// and then lets three processes end all of them.
func measureRates(t *testing.T, address string) {
	p := newProcess(t, address)
	enqueue := enqueueOn(p.store, p)
	const films, clips, clients = 10, 1_000, 8
	began := time.Now()
	for i := range films {
		if err := enqueue(t.Context(), batch(i)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("tasks enqueued 500 in a transaction: %.0f a second", films*500/time.Since(began).Seconds())

	began = time.Now()
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			for i := range clips / clients {
				tasks := batch(films + c*clips + i)[:1]
				if err := enqueue(t.Context(), tasks); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	t.Logf("tasks enqueued one in a transaction, %d clients: %.0f a second", clients, clips/time.Since(began).Seconds())

	var left sync.WaitGroup
	left.Add(films*500 + clips)
	began = time.Now()
	for range 3 {
		newProcess(t, address).run(t, 16, func(context.Context, queue.Task) error { left.Done(); return nil })
	}
	left.Wait()
	t.Logf("tasks claimed and ended, 3 processes with 16 workers: %.0f a second", (films*500+clips)/time.Since(began).Seconds())
}

// measureVideo sends videos through the app and one process, once with few chunks
// and once with many.
func measureVideo(t *testing.T, address string) {
	p := newProcess(t, address)
	b := newBench(t, p.store, p)
	plan := make(chan *video.Plan, 1)
	ended := make(chan queue.Kind)
	var length *video.Plan
	p.run(t, 1, func(ctx context.Context, task queue.Task) error {
		if task.Kind == queue.Inspect {
			length = <-plan
		}
		err := b.asWorker(ctx, task, length)
		if err != nil {
			t.Errorf("%s: %v", task, err)
		}
		select {
		case ended <- task.Kind:
		case <-ctx.Done(): // nobody asks any more
		}
		return nil
	})
	pass := func(chunks int) asked {
		reset(t, address)
		began := time.Now()
		plan <- planOf(time.Duration(chunks) * chunkLength)
		b.upload()
		for range learn(t, time.Duration(chunks)*chunkLength).tasks() {
			<-ended
		}
		a := tally(t, address)
		t.Logf("%d chunks: %d statements, %d commits, %v in the server, %v in all", chunks, a.statements, a.commits,
			a.server.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
		return a
	}
	pass(1) // connections are made, statements are prepared
	small, large := pass(10), pass(110)
	each := large.minus(small)
	t.Logf("each chunk, progress not counted: %.1f statements, %.2f commits, %v in the server",
		float64(each.statements)/100, float64(each.commits)/100, each.server/100)
	film := pass(540)
	t.Logf("each chunk of a video of three hours: %.1f statements, %v in the server", float64(film.statements)/540, film.server/540)

	b.measureProgress(address, plan, ended)
}

// measureProgress counts what a note of progress asks, and how many eight tasks
// at once can write.
func (b *bench) measureProgress(address string, plan chan<- *video.Plan, ended <-chan queue.Kind) {
	b.Helper()
	const clients, writes = 8, 100
	plan <- planOf(clients * chunkLength)
	id := b.upload()
	for kind := range ended {
		if kind == queue.Thumbnails { // audio is next, and then the chunks
			break
		}
	}
	reset(b, address)
	began := time.Now()
	var group sync.WaitGroup
	for chunk := range clients {
		group.Go(func() {
			for i := range writes {
				wanted, err := b.Progress(b.Context(), queue.Task{Kind: queue.Encode, Video: id, Number: chunk}, float64(i)/writes)
				if err != nil || !wanted {
					b.Errorf("note of progress: %t, %v", wanted, err)
				}
			}
		})
	}
	group.Wait()
	const all = clients * writes
	rate, note := all/time.Since(began).Seconds(), tally(b, address)
	b.Logf("a note of progress: %.1f statements, %.2f commits, %v in the server; %.0f a second from %d tasks",
		float64(note.statements)/all, float64(note.commits)/all, note.server/all, rate, clients)
	for kind := range ended {
		if kind == queue.Purge {
			break
		}
	}
}

// asWorker asks what a worker asks in the course of a task, except for notes of
// progress: whether it is wanted, and to keep what a program cost.
func (b *bench) asWorker(ctx context.Context, t queue.Task, p *video.Plan) error {
	v, wanted, err := b.LoadTask(ctx, t)
	if err != nil || !wanted {
		return err
	}
	if t.Kind != queue.Purge {
		if err := b.CheckSpace(ctx, t, v, 1<<40); err != nil {
			return err
		}
	}
	if t.Kind != queue.Purge && t.Kind != queue.Assemble { // those two run no program
		run := video.Execution{Program: "ffmpeg", Arguments: []string{"-i", "source"}, StartedAt: time.Now(), Wall: time.Second, CPU: time.Second, Result: video.ExecutionOK}
		if err := b.RecordExecution(ctx, t, run); err != nil {
			return err
		}
	}
	return b.work(ctx, t, p)
}

// measureIdle counts what a process asks that has nothing to do, alone and as one
// of eight.
func measureIdle(t *testing.T, address string) {
	const span = 10 * time.Second
	nothing := func(context.Context, queue.Task) error { return nil }
	watch := func() asked {
		reset(t, address)
		time.Sleep(span) // what is measured is what happens in this time
		return tally(t, address)
	}
	newProcess(t, address).run(t, 2, nothing)
	alone := watch()
	for range 7 {
		newProcess(t, address).run(t, 2, nothing)
	}
	eight := watch()
	t.Logf("an idle process: %.1f statements a second alone, %.1f as one of eight",
		float64(alone.statements)/span.Seconds(), float64(eight.statements)/span.Seconds()/8)
	t.Logf("eight idle processes keep %d connections", ask[int](t, address,
		`SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'spool'`))
}
