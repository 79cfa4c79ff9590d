package s3

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/clock"
)

const (
	// promptAnswer is how soon an answer must have come for its date to be that
	// of the moment.
	promptAnswer = 2 * time.Second
	// sameTime is the difference up to which two clocks are taken to agree: the
	// date of an answer has whole seconds, and the answer was on its way.
	sameTime = promptAnswer + time.Second
)

// dated is an HTTP client that learns the time of the server from the dates of
// its answers. Signed addresses have to go by it: the server refuses one that
// begins in its future, and ends one when its own clock says so, however wrong
// this machine's is. (The SDK does the same for requests that it sends itself.)
type dated struct {
	client sdk.HTTPClient
	clock  *clock.Clock
}

func (d dated) Do(req *http.Request) (*http.Response, error) {
	asked := d.clock.Ours()
	resp, err := d.client.Do(req)
	if err == nil {
		d.read(asked, resp.Header)
	}
	return resp, err
}

// read sets the clock by an answer to a request that was sent at asked. One that
// took long, or comes out of a cache, says nothing.
func (d dated) read(asked time.Time, answer http.Header) {
	ours := d.clock.Ours()
	theirs, err := http.ParseTime(answer.Get("Date"))
	if err == nil && ours.Sub(asked) <= promptAnswer && answer.Get("Age") == "" {
		d.clock.Set(theirs, ours, sameTime)
	}
}

// presigner signs addresses by the clock of the server.
type presigner struct {
	signer *v4.Signer
	clock  *clock.Clock
}

func newPresigner(by *clock.Clock) presigner {
	return presigner{v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }), by} // as S3 wants it
}

// PresignHTTP implements sdk.HTTPPresignerV4.
func (p presigner) PresignHTTP(ctx context.Context, by aws.Credentials, r *http.Request, payloadHash, service, region string, _ time.Time,
	options ...func(*v4.SignerOptions)) (address string, signed http.Header, err error) {
	return p.signer.PresignHTTP(ctx, by, r, payloadHash, service, region, p.clock.Now(), options...)
}
