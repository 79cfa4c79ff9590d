package pipeline

import (
	"context"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Limits of how many executions of a video are kept. The chunks of a long video are all alike, so some room
// is left for executions that say more: failed ones, and the comparison with the source.
const (
	maxExecutions        = 400
	maxNotableExecutions = 500 // together with the others
)

// RecordExecution stores what a child process of a task did and cost. Its start is given by the clock
// of the machine that it ran on.
func (t *Tasks) RecordExecution(ctx context.Context, task queue.Task, e video.Execution) error {
	e.Task, e.Number, e.Attempt = string(task.Kind), task.Number, task.Attempt
	e.StartedAt = t.clock.At(e.StartedAt)
	most := maxExecutions
	if e.Result != video.ExecutionOK || task.Kind == queue.Measure {
		most = maxNotableExecutions
	}
	return t.store.WithVideoLock(ctx, task.Video, func(tx *store.Tx) error {
		return addExecution(ctx, tx, task.Video, e, most)
	})
}
