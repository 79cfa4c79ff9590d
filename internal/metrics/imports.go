package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spool-video/spool/internal/service/imports"
)

func (m *Metrics) describeImports() {
	m.importsRunning = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "spool_imports_running", Help: "Files that this process is fetching from URLs.",
	})
	m.imports = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_imports_total", Help: "Tries to fetch a file from a URL, by outcome: completed, retry (it broke off, and is tried again), wait (trouble of our own, or a stop), failed (for good).",
	}, []string{"outcome"})
	for _, o := range imports.Outcomes {
		m.imports.WithLabelValues(string(o)) // shown also while there are none
	}
	m.registry.MustRegister(m.importsRunning, m.imports)
}

// ImportStarted counts a fetch as running until ImportEnded.
func (m *Metrics) ImportStarted() { m.importsRunning.Inc() }

// ImportEnded counts a fetch by what became of it.
func (m *Metrics) ImportEnded(o imports.Outcome) {
	m.importsRunning.Dec()
	m.imports.WithLabelValues(string(o)).Inc()
}
