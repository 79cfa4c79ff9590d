package remote

import (
	"net/http"
	"time"

	"github.com/spool-video/spool/internal/backend/clock"
)

const (
	// promptResponse is how soon a response must have come for its date to be that
	// of the moment.
	promptResponse = 2 * time.Second
	// sameTime is the difference up to which two clocks are taken to agree: dates
	// have whole seconds, and the response took some time to arrive.
	sameTime = promptResponse + time.Second
)

// DateClient is an HTTP client that sets Clock by the dates of the responses.
// Signed URLs have to go by the server's clock: it refuses a URL that begins in
// its future, and ends one when its own clock says so, however wrong the clock of
// this machine is.
type DateClient struct {
	Client HTTPClient
	Clock  *clock.Clock
}

// Do sends the request.
func (c DateClient) Do(req *http.Request) (*http.Response, error) {
	sent := c.Clock.Ours()
	resp, err := c.Client.Do(req)
	if err == nil {
		c.setClock(sent, resp.Header)
	}
	return resp, err
}

// setClock sets the clock by the response to a request of the time sent. One that
// took long, or comes from a cache, says nothing.
func (c DateClient) setClock(sent time.Time, response http.Header) {
	ours := c.Clock.Ours()
	theirs, err := http.ParseTime(response.Get("Date"))
	if err == nil && ours.Sub(sent) <= promptResponse && response.Get("Age") == "" {
		c.Clock.Set(theirs, ours, sameTime)
	}
}
