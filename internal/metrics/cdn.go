package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/spool-video/spool/internal/service/cdn"
)

func (m *Metrics) describeCDN() {
	m.cdnPurges = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_cdn_purges_total", Help: "Tries to tell the CDN what to forget, by outcome: purged, retry (failed, and tried again), failed (for the last time).",
	}, []string{"outcome"})
	for _, o := range cdn.Outcomes {
		m.cdnPurges.WithLabelValues(string(o)) // shown also while there are none
	}
	m.registry.MustRegister(m.cdnPurges)
}

// CDNPurged counts a try to tell the CDN what to forget.
func (m *Metrics) CDNPurged(o cdn.Outcome) { m.cdnPurges.WithLabelValues(string(o)).Inc() }
