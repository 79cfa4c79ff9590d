package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spool-video/spool/internal/service/audience"
)

// plays are what players tell of what is watched.
type plays struct {
	views, failures, stalls prometheus.Counter
	watched, stalled        prometheus.Counter
	startup                 prometheus.Histogram
}

func (m *Metrics) describeAudience() {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	m.plays = plays{
		views:    counter("spool_play_views_total", "Views that players told of."),
		failures: counter("spool_play_failures_total", "Plays that ended with an error."),
		watched:  counter("spool_play_watched_seconds_total", "Seconds that were watched."),
		stalls:   counter("spool_play_stalls_total", "How often playing stopped to wait for data."),
		stalled:  counter("spool_play_stalled_seconds_total", "Seconds that players waited for data."),
		startup: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "spool_play_startup_seconds", Help: "Time from the wish to play to the first picture.",
			Buckets: []float64{.1, .25, .5, 1, 1.5, 2, 3, 5, 10, 30},
		}),
	}
	m.registry.MustRegister(m.plays.startup)
}

// Played counts what a player told.
func (m *Metrics) Played(o audience.Observation) {
	if o.View {
		m.plays.views.Inc()
	}
	if o.Failed {
		m.plays.failures.Inc()
	}
	m.plays.watched.Add(o.Watched.Seconds())
	m.plays.stalls.Add(float64(o.Stalls))
	m.plays.stalled.Add(o.Stalled.Seconds())
	if o.Startup > 0 {
		m.plays.startup.Observe(o.Startup.Seconds())
	}
}
