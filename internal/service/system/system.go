// Package system says how the whole service is doing, for those who run it: its
// workers, its queue, its disk and what the storage holds. Answers are shared by
// everybody who asks at about the same time, metrics included, because some of them
// read a row for each waiting task.
package system

import (
	"context"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
)

// Service answers questions about the whole service.
type Service struct {
	version string
	queue   *cache.Recent[map[queue.Kind]queue.Stat]
	workers *cache.Recent[[]queue.Worker]
	stored  *cache.Recent[[]Stored]
	backup  *cache.Recent[time.Time]
	disk    func() (Disk, error)
}

// Disk is the space of the disk that holds the data directory.
type Disk struct{ Free, Size uint64 }

// KindStat is what waits and runs of one kind of task.
type KindStat struct {
	Kind queue.Kind
	queue.Stat
}

// Status is how the service is doing.
type Status struct {
	Version string // of the process that answers
	Workers []queue.Worker
	Queue   []KindStat // every kind, in the order of the pipeline
	Disk    Disk
	Stored  []Stored // every area
}

// New returns the service for a program of this version.
func New(version string, st *store.Store, q queue.Queue, disk func() (Disk, error)) *Service {
	return &Service{
		version: version, disk: disk,
		queue:   NewRecent(q.Stats),
		workers: NewRecent(q.Workers),
		stored:  NewRecent(func(ctx context.Context) ([]Stored, error) { return CountsOfAreas(ctx, st) }),
		backup:  NewRecent(func(ctx context.Context) (time.Time, error) { return NewestBackup(ctx, st) }),
	}
}

// Status returns how the service is doing: what all tenants do together. Only the operator may see it, and
// which videos are in work only for the tenant of the actor.
func (s *Service) Status(ctx context.Context, by auth.Actor) (Status, error) {
	if err := by.RequireOperator(); err != nil {
		return Status{}, err
	}
	status := Status{Version: s.version}
	workers, err := s.Workers(ctx)
	if err != nil {
		return Status{}, err
	}
	status.Workers = seenBy(by, workers)
	if status.Queue, err = s.Queue(ctx); err != nil {
		return Status{}, err
	}
	if status.Stored, err = s.Stored(ctx); err != nil {
		return Status{}, err
	}
	status.Disk, err = s.Disk()
	return status, err
}

// seenBy returns the workers without the names of other tenants' videos. The list is
// shared, so it is copied.
func seenBy(by auth.Actor, workers []queue.Worker) []queue.Worker {
	seen := slices.Clone(workers)
	for i := range seen {
		seen[i].Running = slices.Clone(seen[i].Running)
		for j := range seen[i].Running {
			if t := &seen[i].Running[j]; t.Tenant != by.Tenant {
				t.Video, t.Number = "", 0
			}
		}
	}
	return seen
}

// Workers lists the live workers of all machines.
func (s *Service) Workers(ctx context.Context) ([]queue.Worker, error) { return s.workers.Get(ctx) }

// Queue counts the tasks of every kind.
func (s *Service) Queue(ctx context.Context) ([]KindStat, error) {
	stats, err := s.queue.Get(ctx)
	if err != nil {
		return nil, err
	}
	var all []KindStat
	for _, kind := range pipeline.Kinds() {
		all = append(all, KindStat{kind, stats[kind]})
	}
	return all, nil
}

// Stored returns what every area of the storage held when it was last counted.
func (s *Service) Stored(ctx context.Context) ([]Stored, error) {
	counted, err := s.stored.Get(ctx)
	if err != nil {
		return nil, err
	}
	byArea := map[string]Stored{}
	for _, c := range counted {
		byArea[c.Area] = c
	}
	var all []Stored
	for _, area := range objects.Areas {
		c := byArea[string(area)]
		c.Area = string(area)
		all = append(all, c)
	}
	return all, nil
}

// LastBackup returns when the newest complete backup began, or zero without a backup.
func (s *Service) LastBackup(ctx context.Context) (time.Time, error) { return s.backup.Get(ctx) }

// Disk measures the disk.
func (s *Service) Disk() (Disk, error) { return s.disk() }
