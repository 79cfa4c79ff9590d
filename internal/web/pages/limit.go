package pages

import (
	"net/http"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	// perSecond is how many pages a client address may ask for in a second, in the long run. People
	// of one company often share an address, and each page that waits asks for its state.
	perSecond = 30
	burst     = 200
)

// allow returns an error if a client has asked for too many pages. Pages need no key.
func (p *pages) allow(r *http.Request) error {
	if p.Unlimited || p.rates.Allow(p.Client(r), 1) {
		return nil
	}
	return &video.Error{Kind: video.RateLimited, Code: "rate_limited", Msg: "Too many requests come from your address. Wait a moment.", RetryAfter: time.Second}
}

// limited answers for the limit and for errors of a handler, as a page.
func (p *pages) limited(next func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := p.allow(r)
		if err == nil {
			err = next(w, r)
		}
		if err != nil {
			p.refuse(w, r, err)
		}
	}
}
