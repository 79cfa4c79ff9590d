package metrics

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spool-video/spool/internal/service/system"
)

// WatchSystem shows what waits in the queue, the workers, what the storage holds, the
// last backup and the space of the disk, of the whole service: counters in memory would
// drift from the rows of the queue, and would not know the tasks of other machines. ctx
// ends when the process does.
func (m *Metrics) WatchSystem(ctx context.Context, s *system.Service) {
	m.registry.MustRegister(queueGauges(ctx, s), fleetGauges(ctx, s), storageGauges(ctx, s), backupGauge(ctx, s), diskGauges(s))
}

// queryCollector is a collector whose metrics come from one query at each scrape. If the query fails,
// they are missing and the log says why.
type queryCollector struct {
	descs []*prometheus.Desc
	query func(set func(desc int, value float64, labels ...string)) error
}

// Describe implements prometheus.Collector.
func (c *queryCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *queryCollector) Collect(out chan<- prometheus.Metric) {
	err := c.query(func(desc int, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(c.descs[desc], prometheus.GaugeValue, value, labels...)
	})
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.descs[0], err)
	}
}

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func queueGauges(ctx context.Context, s *system.Service) *queryCollector {
	return &queryCollector{[]*prometheus.Desc{
		gauge("spool_queue_tasks", "Tasks in the queue, by kind and state.", "kind", "state"),
		gauge("spool_queue_oldest_task_age_seconds", "How long the oldest due task has waited, by kind.", "kind"),
	}, func(set func(int, float64, ...string)) error {
		stats, err := s.Queue(ctx)
		if err != nil {
			return fmt.Errorf("count the tasks: %w", err)
		}
		for _, k := range stats { // every kind, so that graphs have no gaps
			set(0, float64(k.Waiting), string(k.Kind), "waiting")
			set(0, float64(k.Running), string(k.Kind), "running")
			set(1, k.Oldest.Seconds(), string(k.Kind))
		}
		return nil
	}}
}

// fleetGauges adds up the live workers of all machines. "spool workers" shows what
// each of them does: names that come and go do not belong in labels.
func fleetGauges(ctx context.Context, s *system.Service) *queryCollector {
	return &queryCollector{[]*prometheus.Desc{
		gauge("spool_fleet_workers", "Live workers of all machines."),
		gauge("spool_fleet_slots", "Tasks that all workers together can run at once."),
		gauge("spool_fleet_busy_slots", "Tasks that all workers together are running."),
	}, func(set func(int, float64, ...string)) error {
		all, err := s.Workers(ctx)
		if err != nil {
			return fmt.Errorf("list the workers: %w", err)
		}
		slots, busy := 0, 0
		for _, w := range all {
			slots += w.Slots
			busy += len(w.Running)
		}
		set(0, float64(len(all)))
		set(1, float64(slots))
		set(2, float64(busy))
		return nil
	}}
}

func storageGauges(ctx context.Context, s *system.Service) *queryCollector {
	return &queryCollector{[]*prometheus.Desc{
		gauge("spool_stored_bytes", "Bytes in the storage, by area, when the last sweep counted them.", "area"),
		gauge("spool_stored_objects", "Objects in the storage, by area, when the last sweep counted them.", "area"),
		gauge("spool_stored_counted_timestamp_seconds", "When an area of the storage was last counted; 0: never.", "area"),
	}, func(set func(int, float64, ...string)) error {
		stored, err := s.Stored(ctx)
		if err != nil {
			return fmt.Errorf("read what the storage holds: %w", err)
		}
		for _, c := range stored {
			set(0, float64(c.Bytes), c.Area)
			set(1, float64(c.Objects), c.Area)
			set(2, timestamp(c.CountedAt), c.Area)
		}
		return nil
	}}
}

func backupGauge(ctx context.Context, s *system.Service) *queryCollector {
	return &queryCollector{[]*prometheus.Desc{
		gauge("spool_backup_last_success_timestamp_seconds", "When the newest complete backup began; 0 without a backup."),
	}, func(set func(int, float64, ...string)) error {
		began, err := s.LastBackup(ctx)
		if err != nil {
			return err
		}
		set(0, timestamp(began))
		return nil
	}}
}

// timestamp is a time as Prometheus counts it; 0 for none.
func timestamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func diskGauges(s *system.Service) *queryCollector {
	return &queryCollector{[]*prometheus.Desc{
		gauge("spool_disk_free_bytes", "Free space of the disk with the data directory."),
		gauge("spool_disk_size_bytes", "Size of the disk with the data directory."),
	}, func(set func(int, float64, ...string)) error {
		disk, err := s.Disk()
		if err != nil {
			return err
		}
		set(0, float64(disk.Free))
		set(1, float64(disk.Size))
		return nil
	}}
}
