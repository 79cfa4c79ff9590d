package problem

import (
	"io"
	"net/http"

	"github.com/spool-video/spool/internal/panics"
)

// Recover turns a panic of next into a logged 500. If the response has already
// begun, the connection is closed instead: a truncated response must not look
// complete.
func Recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &tracker{ResponseWriter: w}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			err := panics.Recovered(v)
			if t.started {
				Of(r, err) // for the log
				panic(http.ErrAbortHandler)
			}
			Write(t, r, err)
		}()
		next.ServeHTTP(t, r)
	})
}

// tracker records whether the response has begun. It passes ReadFrom on, so that
// files are still sent with sendfile, and has Unwrap for http.ResponseController.
type tracker struct {
	http.ResponseWriter
	started bool
}

func (t *tracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tracker) WriteHeader(status int) {
	t.started = t.started || status >= http.StatusOK // 1xx is not the final response
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracker) Write(b []byte) (int, error) {
	t.started = true
	return t.ResponseWriter.Write(b)
}

// ReadFrom relies on io.Copy, which uses the ReadFrom of the writer below.
func (t *tracker) ReadFrom(r io.Reader) (int64, error) {
	t.started = true
	return io.Copy(t.ResponseWriter, r)
}

func (t *tracker) FlushError() error {
	t.started = true
	return http.NewResponseController(t.ResponseWriter).Flush()
}
