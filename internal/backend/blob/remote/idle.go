package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// HTTPClient sends requests, as *http.Client does.
type HTTPClient interface {
	Do(*http.Request) (*http.Response, error)
}

// IdleTimeout is an HTTP client that gives up a request on which no byte moves for
// Limit: while connecting, sending, waiting for the response or reading it. A limit
// on the whole request would not do, since a good one may take a second or an hour.
// Without any limit, one half-open connection would block a task for ever.
//
// A caller who takes long to read more of a response is not idle in this sense.
type IdleTimeout struct {
	Client HTTPClient
	Limit  time.Duration
}

// IdleError means that a request was given up because no byte moved. It is a
// timeout in the sense of net.Error, so that SDKs try the request again.
type IdleError struct{ Limit time.Duration }

func (e *IdleError) Error() string { return fmt.Sprintf("no byte moved for %s", e.Limit) }

// Timeout reports that this is a timeout.
func (e *IdleError) Timeout() bool { return true }

// Do sends the request.
func (c IdleTimeout) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &watchdog{ctx: ctx, cancel: cancel, limit: c.Limit}
	w.timer = time.AfterFunc(c.Limit, func() { cancel(&IdleError{c.Limit}) })

	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &requestBody{req.Body, w}
	}
	resp, err := c.Client.Do(req)
	w.timer.Stop()
	if err != nil {
		err = w.cause(err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &responseBody{resp.Body, w}
	return resp, nil
}

// watchdog cancels a request unless it is reset in time.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

func (w *watchdog) reset() { w.timer.Reset(w.limit) }

// cause returns why the request really failed with err.
func (w *watchdog) cause(err error) error {
	if idle, ok := errors.AsType[*IdleError](context.Cause(w.ctx)); ok {
		return idle
	}
	return err
}

// requestBody resets the watchdog whenever the transport reads more to send.
type requestBody struct {
	io.ReadCloser
	watchdog *watchdog
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.watchdog.reset()
	return b.ReadCloser.Read(p)
}

// responseBody arms the watchdog while a read is waiting.
type responseBody struct {
	io.ReadCloser
	watchdog *watchdog
}

func (b *responseBody) Read(p []byte) (int, error) {
	b.watchdog.reset()
	n, err := b.ReadCloser.Read(p)
	b.watchdog.timer.Stop()
	if err != nil && err != io.EOF {
		err = b.watchdog.cause(err)
	}
	return n, err
}

func (b *responseBody) Close() error {
	b.watchdog.timer.Stop()
	err := b.ReadCloser.Close()
	b.watchdog.cancel(nil)
	return err
}
