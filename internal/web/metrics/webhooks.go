package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spool-video/spool/internal/service/webhook"
)

func (m *Metrics) describeWebhooks() {
	m.webhookTries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_webhook_deliveries_total", Help: "Tries to deliver an event to a webhook, by outcome: delivered, retry (failed, and tried again), failed (for the last time), disabled (410).",
	}, []string{"outcome"})
	for _, o := range webhook.Outcomes {
		m.webhookTries.WithLabelValues(string(o)) // shown also while there are none
	}
	m.registry.MustRegister(m.webhookTries)
}

// WebhookTried counts a try to deliver an event.
func (m *Metrics) WebhookTried(o webhook.Outcome) { m.webhookTries.WithLabelValues(string(o)).Inc() }

// webhookStats asks the database, which knows what all processes deliver.
type webhookStats struct {
	oldest cache[time.Duration]
	age    *prometheus.Desc
}

// WatchWebhooks shows how old the oldest event is that is still to be delivered.
func (m *Metrics) WatchWebhooks(ctx context.Context, oldest func(context.Context) (time.Duration, error)) {
	m.registry.MustRegister(&webhookStats{
		oldest: cache[time.Duration]{ctx: ctx, query: oldest, now: m.now},
		age:    prometheus.NewDesc("spool_webhook_oldest_pending_age_seconds", "How old the oldest event is that is still to be delivered to a webhook.", nil, nil),
	})
}

// Describe implements prometheus.Collector.
func (w *webhookStats) Describe(out chan<- *prometheus.Desc) { out <- w.age }

// Collect implements prometheus.Collector.
func (w *webhookStats) Collect(out chan<- prometheus.Metric) {
	age, err := w.oldest.get()
	if err != nil {
		out <- prometheus.NewInvalidMetric(w.age, fmt.Errorf("find the oldest event: %w", err))
		return
	}
	out <- prometheus.MustNewConstMetric(w.age, prometheus.GaugeValue, age.Seconds())
}
