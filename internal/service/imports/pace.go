package imports

import "time"

// Pace is how patient the service is. Tests shorten it; 0 means the default.
type Pace struct {
	Header      time.Duration // how long a server may take to answer
	Idle        time.Duration // how long it may send nothing
	Period      time.Duration // over which its speed is measured
	Unreachable time.Duration // how long tries may bring nothing
	Pause       time.Duration // after the first of them; then twice as long each time
	MaxPause    time.Duration
	Wait        time.Duration // before another try after trouble of our own
	Total       time.Duration // for the whole file
}

const (
	// minSpeed is how many bytes a second must arrive, on average over each period: as many as from a
	// client that uploads.
	minSpeed = 8 << 10
	// enough is how many bytes beyond what was there before make a try that broke off a good one.
	enough = 256 << 10
	// minTries is how many tries there are at least before a server is given up.
	minTries = 2
)

func (p Pace) withDefaults() Pace {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&p.Header, 30 * time.Second}, {&p.Idle, 30 * time.Second}, {&p.Period, 30 * time.Second},
		{&p.Unreachable, time.Minute}, {&p.Pause, time.Second}, {&p.MaxPause, 10 * time.Second},
		{&p.Wait, 20 * time.Second}, {&p.Total, 24 * time.Hour},
	} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	return p
}

// pause is how long to wait after so many tries that brought nothing.
func (p Pace) pause(tries int) time.Duration {
	return min(p.Pause<<min(max(tries-1, 0), 16), p.MaxPause)
}
