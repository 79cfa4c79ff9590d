package local

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/executor"
)

// self is what this process tells about itself as a worker. It is the only one.
type self struct {
	about        queue.About
	started      atomic.Pointer[start]
	done, failed atomic.Int64 // attempts, by their result
}

// start is when the queue was started, and with how many slots.
type start struct {
	at    time.Time
	slots int
}

// Workers implements queue.Queue.
func (q *Queue) Workers(context.Context) ([]queue.Worker, error) {
	began := q.self.started.Load()
	if began == nil || q.executor.IsStopping() {
		return nil, nil
	}
	host := executor.Host()
	return []queue.Worker{{
		About: q.self.about, ID: host, Host: host, Slots: began.slots, Age: time.Since(began.at),
		Done: q.self.done.Load(), Failed: q.self.failed.Load(), Running: q.executor.Running(),
	}}, nil
}
