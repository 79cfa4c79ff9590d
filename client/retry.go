package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

const (
	firstPause   = 200 * time.Millisecond
	longestPause = 10 * time.Second
)

// retries is a row of tries of the same thing.
type retries struct {
	retryFor time.Duration
	began    time.Time // the first failure since the last success or progress
	pause    time.Duration
}

// progress forgets earlier failures, because something was achieved.
func (r *retries) progress() { *r = retries{retryFor: r.retryFor} }

// wait returns nil when it is time for another try after err, or the error to give up with.
func (r *retries) wait(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx, err)
	}
	if r.began.IsZero() {
		r.began, r.pause = time.Now(), firstPause
	}
	pause := r.pause/2 + rand.N(r.pause/2) // so that many clients do not come back at the same moment
	if e, ok := errors.AsType[*Error](err); ok {
		pause = max(pause, e.RetryAfter)
	}
	r.pause = min(2*r.pause, longestPause)
	if time.Since(r.began)+pause > r.retryFor {
		return err
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return stopped(ctx, err)
	case <-t.C:
		return nil
	}
}

// stopped says that the caller gave up, and what the trouble was.
func stopped(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || errors.Is(err, cause) || errors.Is(err, context.Canceled) {
		return cause
	}
	return fmt.Errorf("%w (%w)", cause, err)
}

// isTransient reports whether another try of the same request may succeed.
func isTransient(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Status {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusLocked, http.StatusTooManyRequests, http.StatusInsufficientStorage:
			return true
		}
		return e.Status >= 500 && e.Status != http.StatusNotImplemented
	}
	_, redirected := errors.AsType[*RedirectError](err)
	_, unreadable := errors.AsType[readError](err)
	return !redirected && !unreadable && !untrusted(err)
}

// untrusted reports whether a connection was not made because of its certificate.
func untrusted(err error) bool {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, wrongHost := errors.AsType[x509.HostnameError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	return unverified || unknown || wrongHost || noTLS
}

// notCarriedOut reports whether the server certainly did not do what it was asked for.
func notCarriedOut(err error) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable && e.Code != ""
	}
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}
