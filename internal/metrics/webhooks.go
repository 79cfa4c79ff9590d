package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/service/webhook"
)

func (m *Metrics) describeWebhooks() {
	m.webhookTries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_webhook_deliveries_total", Help: "Tries to deliver an event to a webhook, by outcome: delivered, retry (failed, and tried again), failed (for the last time), disabled (410).",
	}, []string{"outcome"})
	for _, o := range webhook.Outcomes {
		m.webhookTries.WithLabelValues(string(o)) // shown also while there are none
	}
	m.webhookDuration = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "spool_webhook_delivery_duration_seconds", Help: "How long the tries to deliver an event took, whatever became of them.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15},
	})
	m.registry.MustRegister(m.webhookTries, m.webhookDuration)
}

// WebhookTried counts a try to deliver an event. took is negative if it is not known.
func (m *Metrics) WebhookTried(o webhook.Outcome, took time.Duration) {
	m.webhookTries.WithLabelValues(string(o)).Inc()
	if took >= 0 {
		m.webhookDuration.Observe(took.Seconds())
	}
}

// WatchWebhooks shows how old the oldest event is that is still to be delivered. The
// database is asked: it knows what all processes deliver.
func (m *Metrics) WatchWebhooks(ctx context.Context, oldest func(context.Context) (time.Duration, error)) {
	recent := system.NewRecent(oldest)
	m.registry.MustRegister(&queryCollector{[]*prometheus.Desc{
		gauge("spool_webhook_oldest_pending_age_seconds", "How old the oldest event is that is still to be delivered to a webhook."),
	}, func(set func(int, float64, ...string)) error {
		age, err := recent.Get(ctx)
		if err != nil {
			return fmt.Errorf("find the oldest event: %w", err)
		}
		set(0, age.Seconds())
		return nil
	}})
}
