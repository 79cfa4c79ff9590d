package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

// idleTimeout is an HTTP client that gives up a request on which no byte moves for
// limit: while connecting, sending, waiting for the response or reading it. A limit
// on the whole request would not do, since a good one may take a second or an hour.
// Without any limit, one half-open connection would block a task for ever.
//
// A caller who takes long to read more of a response is not idle in this sense.
type idleTimeout struct {
	client sdk.HTTPClient
	limit  time.Duration
}

// idleError means that a request was given up because no byte moved. It is a
// timeout in the sense of net.Error, so that the SDK tries the request again.
type idleError struct{ limit time.Duration }

func (e *idleError) Error() string { return fmt.Sprintf("no byte moved for %s", e.limit) }

// Timeout reports that this is a timeout.
func (e *idleError) Timeout() bool { return true }

// Do sends the request.
func (c idleTimeout) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &watchdog{ctx: ctx, cancel: cancel, limit: c.limit}
	w.timer = time.AfterFunc(c.limit, func() { cancel(&idleError{c.limit}) })

	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &requestBody{req.Body, w}
	}
	resp, err := c.client.Do(req)
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
	if idle, ok := errors.AsType[*idleError](context.Cause(w.ctx)); ok {
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
