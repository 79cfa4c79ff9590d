package metrics

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spool-video/spool/internal/backend/queue"
)

// statsTimeout bounds how long a scrape waits for the queue.
const statsTimeout = 5 * time.Second

// kinds are shown also when there is no such task, so that graphs have no holes.
var kinds = []queue.Kind{queue.Inspect, queue.Encode, queue.Audio, queue.Thumbnails, queue.Assemble, queue.Measure, queue.Purge}

// queueStats asks the queue at each scrape: its own rows are the truth, and a
// counter beside them would drift.
type queueStats struct {
	ctx   context.Context // the process's own: a collector is not given one
	stats func(context.Context) (map[queue.Kind]queue.Stat, error)
	tasks *prometheus.Desc
	age   *prometheus.Desc
}

// WatchQueue shows how many tasks wait and run, and how long the oldest due
// one has waited, as stats tells it. ctx ends when the process does.
func (m *Metrics) WatchQueue(ctx context.Context, stats func(context.Context) (map[queue.Kind]queue.Stat, error)) {
	m.registry.MustRegister(&queueStats{
		ctx:   ctx,
		stats: stats,
		tasks: prometheus.NewDesc("spool_queue_tasks", "Tasks in the queue, by kind and state.", []string{"kind", "state"}, nil),
		age:   prometheus.NewDesc("spool_queue_oldest_task_age_seconds", "How long the oldest due task has waited, by kind.", []string{"kind"}, nil),
	})
}

// Describe is part of prometheus.Collector.
func (q *queueStats) Describe(out chan<- *prometheus.Desc) {
	out <- q.tasks
	out <- q.age
}

// Collect is part of prometheus.Collector.
func (q *queueStats) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(q.ctx, statsTimeout)
	defer cancel()
	stats, err := q.stats(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(q.tasks, fmt.Errorf("count the tasks: %w", err))
		return
	}
	all := slices.AppendSeq(slices.Clone(kinds), maps.Keys(stats))
	slices.Sort(all)
	for _, kind := range slices.Compact(all) {
		s, name := stats[kind], string(kind)
		out <- prometheus.MustNewConstMetric(q.tasks, prometheus.GaugeValue, float64(s.Waiting), name, "waiting")
		out <- prometheus.MustNewConstMetric(q.tasks, prometheus.GaugeValue, float64(s.Running), name, "running")
		out <- prometheus.MustNewConstMetric(q.age, prometheus.GaugeValue, s.Oldest.Seconds(), name)
	}
}
