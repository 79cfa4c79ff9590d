package client

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// pollPause is how long Wait rests between two reads where event streams do not work.
const pollPause = 2 * time.Second

// Wait waits until the processing of a video has ended, and returns its state. If it failed, the error is a
// [*FailedError]. Changed, if it is not nil, is called with the state at the beginning and after each change.
//
// Wait follows the events of the video, and polls where something between here and the server
// does not let them through. Cuts and restarts of the server are survived; the end of ctx is not.
func (c *Client) Wait(ctx context.Context, id string, changed func(Video)) (Video, error) {
	last, err := c.waitUntil(ctx, id, changed, func(v Video) bool { return v.Status.Done() })
	if err != nil {
		return last, err
	}
	return last, last.Err()
}

// waitUntil follows a video, as Wait does, until its state is done, and returns the last one that it has seen.
func (c *Client) waitUntil(ctx context.Context, id string, changed func(Video), done func(Video) bool) (last Video, err error) {
	seen := func(v Video) bool {
		last = v
		if changed != nil {
			changed(v)
		}
		return done(v)
	}
	err = c.follow(ctx, id, seen)
	if errors.Is(err, errNoStream) {
		err = c.poll(ctx, id, seen)
	}
	return last, err
}

// follow reads events until seen has seen enough. It returns errNoStream where polling is better.
func (c *Client) follow(ctx context.Context, id string, seen func(Video) bool) error {
	r := retries{retryFor: max(c.retryFor, time.Minute)}
	for {
		done, events, err := c.readStream(ctx, id, seen)
		if done {
			return nil
		}
		if events > 0 {
			r.progress()
		}
		if err == nil {
			err = errCut
		}
		if e, ok := errors.AsType[*Error](err); ok && (e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError) {
			return errNoStream // too many streams, or a proxy that does not like them
		}
		if errors.Is(err, errNoStream) || ctx.Err() == nil && !isTransient(err) {
			return err
		}
		if err := r.wait(ctx, err); err != nil {
			return err
		}
	}
}

// poll reads the state again and again until seen has seen enough.
func (c *Client) poll(ctx context.Context, id string, seen func(Video) bool) error {
	tick := time.NewTicker(pollPause)
	defer tick.Stop()
	for {
		v, err := c.State(ctx, id)
		if err != nil {
			return err
		}
		if seen(v) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
