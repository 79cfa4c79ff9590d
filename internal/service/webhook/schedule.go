package webhook

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/spool-video/spool/internal/backend/outbound"
)

// pauses are the pauses before the second and each further try.
var pauses = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// jitter is by how much of itself a pause is longer or shorter, at most: a receiver that was away must
// not get everything at once when it is back.
const jitter = 0.1

// schedule says when a failed delivery is tried again.
type schedule struct{ factor float64 }

func newSchedule(factor float64) schedule {
	if factor <= 0 {
		factor = 1
	}
	return schedule{factor}
}

// pauseAfter returns the pause after so many tries; false: there is no other one.
func (s schedule) pauseAfter(tries int) (time.Duration, bool) {
	if tries > len(pauses) {
		return 0, false
	}
	base := float64(pauses[tries-1]) * s.factor
	return time.Duration(base * (1 + jitter*(2*rand.Float64()-1))), true
}

// Outcome is what became of a try.
type Outcome string

const (
	OutcomeDelivered Outcome = "delivered"
	OutcomeRetry     Outcome = "retry"    // it failed and is tried again
	OutcomeFailed    Outcome = "failed"   // it failed for the last time
	OutcomeDisabled  Outcome = "disabled" // the receiver wants nothing any more
)

// Outcomes lists all of them.
var Outcomes = []Outcome{OutcomeDelivered, OutcomeRetry, OutcomeFailed, OutcomeDisabled}

// conclude decides what follows from a try.
func (s schedule) conclude(d deliveryRow, a attemptRow) (conclusion, Outcome) {
	c := conclusion{Delivery: d, Attempt: a, Tries: d.Tries + 1}
	switch {
	case a.Status >= 200 && a.Status < 300 && a.Error == "":
		c.State = Delivered
		return c, OutcomeDelivered
	case a.Status == http.StatusGone:
		c.State, c.Disable = Failed, "The receiver answered with 410 Gone."
		return c, OutcomeDisabled
	}
	pause, again := s.pauseAfter(c.Tries)
	if !again {
		c.State = Failed
		return c, OutcomeFailed
	}
	c.State, c.NextAt = d.State, a.At.Add(time.Duration(a.Milliseconds)*time.Millisecond).Add(pause)
	return c, OutcomeRetry
}

// explain says in the log why a status is no success.
func explain(status int) string {
	switch {
	case status >= 200 && status < 300:
		return ""
	case status >= 300 && status < 400 && status != http.StatusNotModified:
		return fmt.Sprintf("The server answered with the redirect %d; redirects are not followed.", status)
	}
	return fmt.Sprintf("The server answered with status %d.", status)
}

// explainError is explain for a request without a response.
func explainError(err error) string { return outbound.CauseOf(err).Sentence() }
