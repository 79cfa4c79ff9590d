package river

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

const (
	// firstSlot is where slots begin when nothing waits and nothing runs.
	firstSlot = "2000-01-01T00:00:00Z"

	// realTime separates slots from real times. At a thousand tasks a second
	// without a pause, slots reach it after a year.
	realTime = "2001-01-01T00:00:00Z"

	// slotStep is the distance between two slots. It is large enough for a
	// requeued task to stand just before its slot.
	slotStep = time.Millisecond

	// River fetches all jobs of a smaller priority first: ordinary tasks, then those
	// of spare time.
	ordinary, spare = 1, 4
)

// allocator gives fair-share slots to the tasks of one Enqueue.
type allocator struct {
	skew time.Duration              // how far the clock of the database is ahead of ours
	now  time.Time                  // by the clock of the database
	last map[video.Tenant]time.Time // the last slot of each tenant
}

// lastSlotsSQL is the query of newAllocator. The names are literals, because
// PostgreSQL uses a partial index only for a condition that it knows when planning.
const lastSlotsSQL = `
	SELECT tenant, clock_timestamp(), greatest(
	       coalesce((SELECT max(scheduled_at) FROM river_job
	                  WHERE state = 'running' AND queue = '` + queueName + `' AND priority = 1 AND scheduled_at < '` + realTime + `'),
	                (SELECT min(scheduled_at) FROM river_job
	                  WHERE state = 'available' AND queue = '` + queueName + `' AND priority = 1 AND scheduled_at < '` + realTime + `') - interval '1 millisecond',
	                '` + firstSlot + `'),
	       (SELECT max(scheduled_at) FROM river_job
	         WHERE state = 'available' AND queue = '` + queueName + `' AND args->>'tenant' = tenant AND scheduled_at < '` + realTime + `'))
	  FROM unnest($1::text[]) AS tenant`

// newAllocator reads the last slot of each tenant of the tasks, or the current slot
// if that is later. The current slot is the latest one of a running task; if
// nothing runs it is just before the first waiting one. All of it is read from the
// ends of indexes. See lockSlots for two transactions that do so at once.
func newAllocator(ctx context.Context, tx queue.Tx, tasks []queue.Task) (*allocator, error) {
	l := &allocator{last: map[video.Tenant]time.Time{}}
	rows, err := tx.QueryContext(ctx, lastSlotsSQL, toStrings(tenantsOf(tasks)))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var tenant video.Tenant
		var last time.Time
		if err := rows.Scan(&tenant, &l.now, &last); err != nil {
			return nil, err
		}
		l.last[tenant] = last
	}
	l.skew = time.Until(l.now)
	return l, rows.Err()
}

// jobs returns the jobs of tasks, in the same order, each with the slot after its
// tenant's last one. The most urgent tasks get the first slots, so that swaps are
// rare.
func (l *allocator) jobs(tasks []queue.Task, busy map[queue.Name]bool) []river.InsertManyParams {
	urgent := make([]int, len(tasks))
	for i := range urgent {
		urgent[i] = i
	}
	slices.SortStableFunc(urgent, func(a, b int) int { return cmp.Compare(tasks[a].Priority, tasks[b].Priority) })
	jobs := make([]river.InsertManyParams, len(tasks))
	for _, i := range urgent {
		t := tasks[i]
		l.last[t.Tenant] = l.last[t.Tenant].Add(slotStep)
		jobs[i] = l.job(t, l.last[t.Tenant], l.now.UnixMicro()+int64(i), busy[t.Name()])
	}
	return jobs
}

// jobMetadata is what a job carries beside the task: its slot, also while it has
// to wait for its time, and its number in the order of enqueuing, which unlike its
// id stays the same when it goes back into the queue.
type jobMetadata struct {
	Slot time.Time `json:"turn"`
	Seq  int64     `json:"seq"`
}

func (l *allocator) job(t queue.Task, at time.Time, seq int64, busy bool) river.InsertManyParams {
	a := args{Task: t.Kind, Video: t.Video, Number: t.Number, Tenant: t.Tenant, Priority: t.Priority, Trace: t.Trace}
	metadata, err := json.Marshal(jobMetadata{at.UTC(), seq})
	if err != nil {
		panic(err) // a year with four digits can be written
	}
	if !t.RunAt.IsZero() {
		a.RunAt = &t.RunAt
		if due := t.RunAt.Add(l.skew); due.After(l.now) {
			at = due
		}
	}
	priority := ordinary
	if t.Priority >= queue.Spare {
		priority = spare
	}
	return river.InsertManyParams{Args: a, InsertOpts: &river.InsertOpts{
		Queue: queueName, MaxAttempts: endless, Priority: priority, ScheduledAt: at, Metadata: metadata, Pending: busy,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live},
	}}
}
