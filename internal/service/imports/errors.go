package imports

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/video"
)

var (
	// errLost means that another request wants or has the lease of the upload, or that the lease may have ended.
	errLost = errors.New("the lease of the upload was lost")
	// errAgain is what the queue is told of a try after which another follows. The log says why.
	errAgain = errors.New("the file is fetched again")

	errIdle    = errors.New("the server sent nothing for too long")
	errSlow    = errors.New("the server is too slow")
	errTooLong = errors.New("the fetch took too long")
	errCut     = errors.New("the response ended before the file did")
)

// remoteError is a fault of the server that the file comes from.
type remoteError struct {
	failure *video.Failure // of the video, in the end
	final   bool           // another try would end the same way
	after   time.Duration  // when the server suggests another try; 0: it does not
	err     error
}

func (e *remoteError) Error() string { return e.failure.Message + ": " + e.err.Error() }
func (e *remoteError) Unwrap() error { return e.err }

func unreachable(err error, format string, args ...any) *remoteError {
	return &remoteError{failure: video.Failf(video.ImportUnreachable, format, args...), err: err}
}

// requestError says what follows from a request without a response, or a response that broke off.
func requestError(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // it would name the address, which may hold credentials
	}
	switch {
	case errors.Is(err, errIdle):
		return unreachable(err, "The server stopped sending the file, again and again.")
	case errors.Is(err, errSlow):
		return unreachable(err, "The server sends the file too slowly: less than %d KiB a second.", minSpeed>>10)
	case errors.Is(err, errTooLong):
		return &remoteError{failure: video.Failf(video.ImportUnreachable, "The file was not fetched within the time for it: the server is too slow."), final: true, err: err}
	case errors.Is(err, errCut):
		return unreachable(err, "The connection broke off before the end of the file, again and again.")
	}
	cause := outbound.CauseOf(err)
	switch cause {
	case outbound.NotAllowed:
		return &remoteError{failure: video.Failf(video.ImportNotAllowed, "%s", notAllowedText(err)), final: true, err: err}
	case outbound.TooManyRedirects:
		return &remoteError{failure: video.Failf(video.ImportRefused, "The server redirects more than %d times.", maxRedirects), final: true, err: err}
	}
	return unreachable(err, "The file could not be fetched. %s", cause.Sentence())
}

// notAllowedText says why an address is refused. It does not name the address, which may come from a redirect.
func notAllowedText(err error) string {
	if e, ok := errors.AsType[*outbound.NotAllowedError](err); ok {
		return "The sourceUrl, or an address that it leads to, is not allowed. " + e.Reason
	}
	return outbound.NotAllowed.Sentence()
}

// transient are statuses that another try may not meet.
var transient = map[int]bool{
	http.StatusRequestTimeout: true, http.StatusTooEarly: true, http.StatusTooManyRequests: true,
	http.StatusInternalServerError: true, http.StatusBadGateway: true, http.StatusServiceUnavailable: true, http.StatusGatewayTimeout: true,
}

// statusError says what follows from a response that is not the file. Statuses from 520 on are of
// proxies that could not reach the server.
func statusError(res *http.Response, now time.Time) error {
	name := http.StatusText(res.StatusCode)
	if name != "" {
		name = " (" + name + ")"
	}
	return &remoteError{
		failure: video.Failf(video.ImportRefused, "The server answered with status %d%s instead of the file.", res.StatusCode, name),
		final:   !transient[res.StatusCode] && res.StatusCode < 520,
		after:   retryAfter(res.Header.Get("Retry-After"), now),
		err:     errors.New(res.Status),
	}
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 && n < 1<<20 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
