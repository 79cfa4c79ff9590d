package metrics

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spool-video/spool/internal/backend/queue"
)

// fleetStats asks at each scrape who is alive. Which worker does what is told by
// "spool workers": names that come and go do not belong into labels.
type fleetStats struct {
	ctx     context.Context // the process's own: a collector is not given one
	workers func(context.Context) ([]queue.Worker, error)
	alive   *prometheus.Desc
	slots   *prometheus.Desc
	busy    *prometheus.Desc
}

// WatchWorkers shows how many workers of all machines are alive, and how many
// tasks they can run and do run at once. ctx ends when the process does.
func (m *Metrics) WatchWorkers(ctx context.Context, workers func(context.Context) ([]queue.Worker, error)) {
	m.registry.MustRegister(&fleetStats{
		ctx:     ctx,
		workers: workers,
		alive:   prometheus.NewDesc("spool_fleet_workers", "Workers of all machines that are alive.", nil, nil),
		slots:   prometheus.NewDesc("spool_fleet_slots", "Tasks that all workers together can run at once.", nil, nil),
		busy:    prometheus.NewDesc("spool_fleet_busy_slots", "Tasks that all workers together run.", nil, nil),
	})
}

// Describe is part of prometheus.Collector.
func (f *fleetStats) Describe(out chan<- *prometheus.Desc) {
	out <- f.alive
	out <- f.slots
	out <- f.busy
}

// Collect is part of prometheus.Collector.
func (f *fleetStats) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(f.ctx, statsTimeout)
	defer cancel()
	all, err := f.workers(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(f.alive, fmt.Errorf("list the workers: %w", err))
		return
	}
	slots, busy := 0, 0
	for _, w := range all {
		slots += w.Slots
		busy += len(w.Runs)
	}
	for desc, n := range map[*prometheus.Desc]int{f.alive: len(all), f.slots: slots, f.busy: busy} {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n))
	}
}
