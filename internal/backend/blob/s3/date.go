package s3

import (
	"net/http"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/clock"
)

const (
	// promptResponse is how soon a response must come for its Date to count as the
	// current time.
	promptResponse = 2 * time.Second
	// sameTime is the difference up to which two clocks are taken to agree: dates
	// have whole seconds, and the response took some time to arrive.
	sameTime = promptResponse + time.Second
)

// dateClient is an HTTP client that sets clock by the dates of the responses.
// Signed URLs have to go by the server's clock: it refuses a URL that begins in
// its future, and ends one when its own clock says so, however wrong the clock of
// this machine is.
type dateClient struct {
	client sdk.HTTPClient
	clock  *clock.Clock
}

// Do sends the request.
func (c dateClient) Do(req *http.Request) (*http.Response, error) {
	sent := c.clock.Ours()
	resp, err := c.client.Do(req)
	if err == nil {
		c.setClock(sent, resp.Header)
	}
	return resp, err
}

// setClock sets the clock by the response to a request of the time sent. One that
// took long, or comes from a cache, says nothing.
func (c dateClient) setClock(sent time.Time, response http.Header) {
	ours := c.clock.Ours()
	theirs, err := http.ParseTime(response.Get("Date"))
	if err == nil && ours.Sub(sent) <= promptResponse && response.Get("Age") == "" {
		c.clock.Set(theirs, ours, sameTime)
	}
}
