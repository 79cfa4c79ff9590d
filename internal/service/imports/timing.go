package imports

import (
	"cmp"
	"time"
)

// Timing is the timeouts and pauses of a fetch. Tests shorten them; 0 means the default.
type Timing struct {
	HeaderTimeout time.Duration // how long a server may take to answer
	IdleTimeout   time.Duration // how long it may send nothing
	SpeedPeriod   time.Duration // over which its speed is measured
	GiveUpAfter   time.Duration // how long tries may bring nothing
	RetryPause    time.Duration // after the first of them; then twice as long each time
	MaxRetryPause time.Duration
	OwnPause      time.Duration // before another try if this server, and not the other one, has a problem
	TotalTimeout  time.Duration // for the whole file
}

const (
	// minSpeed is how many bytes a second must arrive, on average over each period: as many as from a
	// client that uploads.
	minSpeed = 8 << 10
	// minProgress is how many new bytes a try that broke off must have brought for earlier failures to be
	// forgotten.
	minProgress = 256 << 10
	// minTries is how many tries there are at least before a server is given up.
	minTries = 2
)

func (t Timing) withDefaults() Timing {
	return Timing{
		HeaderTimeout: cmp.Or(t.HeaderTimeout, 30*time.Second),
		IdleTimeout:   cmp.Or(t.IdleTimeout, 30*time.Second),
		SpeedPeriod:   cmp.Or(t.SpeedPeriod, 30*time.Second),
		GiveUpAfter:   cmp.Or(t.GiveUpAfter, time.Minute),
		RetryPause:    cmp.Or(t.RetryPause, time.Second),
		MaxRetryPause: cmp.Or(t.MaxRetryPause, 10*time.Second),
		OwnPause:      cmp.Or(t.OwnPause, 20*time.Second),
		TotalTimeout:  cmp.Or(t.TotalTimeout, 24*time.Hour),
	}
}

// retryPause is how long to wait after so many tries that brought nothing.
func (t Timing) retryPause(tries int) time.Duration {
	return min(t.RetryPause<<min(max(tries-1, 0), 16), t.MaxRetryPause)
}
