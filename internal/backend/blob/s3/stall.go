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

// watched is an HTTP client that gives up a request on which nothing moves: not
// while connecting, sending, waiting for the answer or reading it. A fixed time
// limit would not do, since a good request may take a second or an hour; and
// without any, one half-open connection would stop a task for ever.
//
// A reader that is slow to ask for more bytes is not a stall.
type watched struct {
	client sdk.HTTPClient
	limit  time.Duration
}

// stalled is why a watched request was given up. It is a timeout as far as the
// SDK is concerned, and so tried again.
type stalled struct{ limit time.Duration }

func (s *stalled) Error() string { return fmt.Sprintf("no byte moved for %s", s.limit) }
func (s *stalled) Timeout() bool { return true }

func (w watched) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	dog := &watchdog{ctx: ctx, cancel: cancel, limit: w.limit}
	dog.timer = time.AfterFunc(w.limit, func() { cancel(&stalled{w.limit}) })

	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &sentBody{req.Body, dog}
	}
	resp, err := w.client.Do(req)
	dog.timer.Stop()
	if err != nil {
		err = dog.reason(err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &receivedBody{resp.Body, dog}
	return resp, nil
}

// watchdog cancels a request unless it is fed.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

func (d *watchdog) feed() { d.timer.Reset(d.limit) }

// reason returns why the request really failed.
func (d *watchdog) reason(err error) error {
	if s, ok := errors.AsType[*stalled](context.Cause(d.ctx)); ok {
		return s
	}
	return err
}

// sentBody feeds the dog whenever the transport fetches more to send.
type sentBody struct {
	io.ReadCloser
	dog *watchdog
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.dog.feed()
	return b.ReadCloser.Read(p)
}

// receivedBody lets the dog watch while a read is waiting.
type receivedBody struct {
	io.ReadCloser
	dog *watchdog
}

func (b *receivedBody) Read(p []byte) (int, error) {
	b.dog.feed()
	n, err := b.ReadCloser.Read(p)
	b.dog.timer.Stop()
	if err != nil && err != io.EOF {
		err = b.dog.reason(err)
	}
	return n, err
}

func (b *receivedBody) Close() error {
	b.dog.timer.Stop()
	err := b.ReadCloser.Close()
	b.dog.cancel(nil)
	return err
}
