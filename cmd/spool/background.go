package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spool-video/spool/internal/panics"
)

// background is what runs beside the requests: the tasks of the queue, and the maintenance. It is
// started once.
type background struct {
	startTasks, stopTasks func(context.Context) error
	maintain              func(context.Context) // returns when its context has ended

	end    context.CancelFunc // of the maintenance
	ended  chan struct{}
	failed error // a panic of the maintenance; set before ended is closed
}

// start begins with the tasks. They may fail to start, and then the database is closed: the
// maintenance must not be using it.
func (b *background) start(ctx context.Context) error {
	if err := b.startTasks(ctx); err != nil {
		return err
	}
	ctx, b.end = context.WithCancel(ctx)
	b.ended = make(chan struct{})
	go func() {
		defer close(b.ended)
		b.failed = panics.Catch(func() error { b.maintain(ctx); return nil })
	}()
	return nil
}

// stop ends both at once, and waits for them no longer than ctx allows.
func (b *background) stop(ctx context.Context) error {
	b.end()
	err := b.stopTasks(ctx)
	select {
	case <-b.ended:
		return errors.Join(err, b.failed)
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("wait for the maintenance: %w", ctx.Err()))
	}
}
