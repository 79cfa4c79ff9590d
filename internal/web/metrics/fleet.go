package metrics

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spool-video/spool/internal/backend/queue"
)

// fleetStats adds up the live workers of all machines. "spool workers" shows what
// each of them does: names that come and go do not belong in labels.
type fleetStats struct {
	workers cache[[]queue.Worker]
	alive   *prometheus.Desc
	slots   *prometheus.Desc
	busy    *prometheus.Desc
}

// WatchWorkers shows how many workers of all machines are alive, how many tasks
// they can run at once and how many they run. ctx ends when the process does.
func (m *Metrics) WatchWorkers(ctx context.Context, workers func(context.Context) ([]queue.Worker, error)) {
	m.registry.MustRegister(&fleetStats{
		workers: cache[[]queue.Worker]{ctx: ctx, query: workers, now: m.now},
		alive:   prometheus.NewDesc("spool_fleet_workers", "Live workers of all machines.", nil, nil),
		slots:   prometheus.NewDesc("spool_fleet_slots", "Tasks that all workers together can run at once.", nil, nil),
		busy:    prometheus.NewDesc("spool_fleet_busy_slots", "Tasks that all workers together are running.", nil, nil),
	})
}

// Describe implements prometheus.Collector.
func (f *fleetStats) Describe(out chan<- *prometheus.Desc) {
	out <- f.alive
	out <- f.slots
	out <- f.busy
}

// Collect implements prometheus.Collector.
func (f *fleetStats) Collect(out chan<- prometheus.Metric) {
	all, err := f.workers.get()
	if err != nil {
		out <- prometheus.NewInvalidMetric(f.alive, fmt.Errorf("list the workers: %w", err))
		return
	}
	slots, busy := 0, 0
	for _, w := range all {
		slots += w.Slots
		busy += len(w.Running)
	}
	for desc, n := range map[*prometheus.Desc]int{f.alive: len(all), f.slots: slots, f.busy: busy} {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n))
	}
}
