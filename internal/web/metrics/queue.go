package metrics

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spool-video/spool/internal/backend/queue"
)

// queueStats counts the rows of the queue. A counter in memory would drift from
// them, and would not know the tasks of other machines.
type queueStats struct {
	kinds []queue.Kind // shown also if there are no such tasks, so that graphs have no gaps
	stats cache[map[queue.Kind]queue.Stat]
	tasks *prometheus.Desc
	age   *prometheus.Desc
}

// WatchQueue shows how many tasks wait and run, and how long the oldest due one
// has waited, as stats reports it. The given kinds are always shown. ctx ends when
// the process does.
func (m *Metrics) WatchQueue(ctx context.Context, kinds []queue.Kind, stats func(context.Context) (map[queue.Kind]queue.Stat, error)) {
	m.registry.MustRegister(&queueStats{
		kinds: kinds,
		stats: cache[map[queue.Kind]queue.Stat]{ctx: ctx, query: stats, now: m.now},
		tasks: prometheus.NewDesc("spool_queue_tasks", "Tasks in the queue, by kind and state.", []string{"kind", "state"}, nil),
		age:   prometheus.NewDesc("spool_queue_oldest_task_age_seconds", "How long the oldest due task has waited, by kind.", []string{"kind"}, nil),
	})
}

// Describe implements prometheus.Collector.
func (q *queueStats) Describe(out chan<- *prometheus.Desc) {
	out <- q.tasks
	out <- q.age
}

// Collect implements prometheus.Collector.
func (q *queueStats) Collect(out chan<- prometheus.Metric) {
	stats, err := q.stats.get()
	if err != nil {
		out <- prometheus.NewInvalidMetric(q.tasks, fmt.Errorf("count the tasks: %w", err))
		return
	}
	all := slices.AppendSeq(slices.Clone(q.kinds), maps.Keys(stats))
	slices.Sort(all)
	for _, kind := range slices.Compact(all) {
		s, name := stats[kind], string(kind)
		out <- prometheus.MustNewConstMetric(q.tasks, prometheus.GaugeValue, float64(s.Waiting), name, "waiting")
		out <- prometheus.MustNewConstMetric(q.tasks, prometheus.GaugeValue, float64(s.Running), name, "running")
		out <- prometheus.MustNewConstMetric(q.age, prometheus.GaugeValue, s.Oldest.Seconds(), name)
	}
}
