package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// newRow is a task on its way into the table.
type newRow struct {
	queue.Name
	Tenant   video.Tenant `json:"tenant"`
	Priority int          `json:"priority"`
	RunAt    int64        `json:"runAt"`
	Turn     int64        `json:"turn"`
}

// newRows gives each task the turn after its tenant's last. The most urgent ones
// get the first, so that claiming seldom has to exchange turns.
func newRows(tasks []queue.Task, last map[video.Tenant]int64) []newRow {
	rows := make([]newRow, len(tasks))
	urgent := make([]*newRow, len(tasks))
	for i, t := range tasks {
		rows[i] = newRow{t.Name(), t.Tenant, t.Priority, toMilli(t.RunAt), 0}
		urgent[i] = &rows[i]
	}
	slices.SortStableFunc(urgent, func(a, b *newRow) int { return cmp.Compare(a.Priority, b.Priority) })
	for _, r := range urgent {
		last[r.Tenant]++
		r.Turn = last[r.Tenant]
	}
	return rows
}

// lastTurns returns the last turn that each tenant of the tasks has, or the one
// that is now if that is later. Now is the latest turn of those that run; when
// nothing runs it is just before the first that waits, and when nothing waits
// either, turns begin anew.
func lastTurns(ctx context.Context, tx queue.Tx, tasks []queue.Task) (map[video.Tenant]int64, error) {
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
		return nil, fmt.Errorf("look for the last turns: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var tenant video.Tenant
		var turn int64
		if err := rows.Scan(&tenant, &turn); err != nil {
			return nil, fmt.Errorf("look for the last turns: %w", err)
		}
		last[tenant] = turn
	}
	return last, rows.Err()
}
