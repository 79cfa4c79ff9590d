package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// newRow is a task to be inserted.
type newRow struct {
	queue.Name
	Tenant   video.Tenant `json:"tenant"`
	Priority int          `json:"priority"`
	RunAt    int64        `json:"runAt"`
	Slot     int64        `json:"turn"`
	Trace    string       `json:"trace"`
}

// newRows gives each task the slot after its tenant's last one. The most urgent
// tasks get the first slots, so that claim seldom has to swap.
func newRows(tasks []queue.Task, last map[video.Tenant]int64) []newRow {
	rows := make([]newRow, len(tasks))
	urgent := make([]*newRow, len(tasks))
	for i, t := range tasks {
		rows[i] = newRow{t.Name(), t.Tenant, t.Priority, toMilli(t.RunAt), 0, t.Trace}
		urgent[i] = &rows[i]
	}
	slices.SortStableFunc(urgent, func(a, b *newRow) int { return cmp.Compare(a.Priority, b.Priority) })
	for _, r := range urgent {
		last[r.Tenant]++
		r.Slot = last[r.Tenant]
	}
	return rows
}

// lastSlots returns the last slot of each tenant of the tasks, or the current slot
// if that is later. The current slot is the latest one of a running task. If
// nothing runs it is just before the first waiting one, and if nothing waits
// either, slots begin at 0 again. The column turn holds the slot.
func lastSlots(ctx context.Context, tx queue.Tx, tasks []queue.Task) (map[video.Tenant]int64, error) {
	const find = `
		SELECT value, max(
		       coalesce((SELECT max(turn) FROM task WHERE state = 'running'),
		                (SELECT min(turn) FROM task WHERE state = 'ready') - 1, 0),
		       coalesce((SELECT max(turn) FROM task WHERE state = 'ready' AND tenant = value), 0))
		  FROM json_each($1)`

	last := map[video.Tenant]int64{}
	var tenants []video.Tenant
	for _, t := range tasks {
		if _, ok := last[t.Tenant]; !ok {
			last[t.Tenant] = 0
			tenants = append(tenants, t.Tenant)
		}
	}
	list, err := jsonList(tenants)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, find, list)
	if err != nil {
		return nil, fmt.Errorf("find the last slots: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var tenant video.Tenant
		var slot int64
		if err := rows.Scan(&tenant, &slot); err != nil {
			return nil, fmt.Errorf("find the last slots: %w", err)
		}
		last[tenant] = slot
	}
	return last, rows.Err()
}
