package janitor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spool-video/spool/internal/backend/clock"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/replace"
	"github.com/spool-video/spool/internal/service/signin"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/service/visibility"
	"github.com/spool-video/spool/internal/service/watermarks"
)

const (
	expireEvery    = 15 * time.Second // videos that expire
	tidyEvery      = time.Minute      // expired uploads, interrupted deletions
	reconcileEvery = 10 * time.Minute // every processing video
	sweepEvery     = time.Hour        // every object
	uploadsEvery   = 5 * time.Minute  // every uploaded file
	abortEvery     = 24 * time.Hour   // unfinished multipart writes
	askEvery       = time.Hour        // whether it is time to abort them
)

// maxRecount is the largest number of objects that are counted between two sweeps. To list them takes ten requests
// to a bucket; a million objects would take a thousand.
const maxRecount = 10_000

// Maintenance is what a server does regularly, beside requests and tasks.
type Maintenance struct {
	Store   *store.Store
	Clock   *clock.Database
	Passes  *pipeline.Passes
	Catalog *catalog.Catalog
	Cleaner *Cleaner
	Deleter *Deleter // of videos that expire; nil in a worker, which may not see all tables
	Replace *replace.Service
	Hold    func() error // holds disk space for deletions on a full disk
	Log     *slog.Logger

	Visibility *visibility.Service

	finished int64 // tasks of all workers, when the storage was last counted
}

// Run does the maintenance until ctx ends: at once, because a crash may have left something behind,
// and then at intervals.
func (m *Maintenance) Run(ctx context.Context) {
	expire, tidy, reconcile, sweep, uploads := time.NewTicker(expireEvery), time.NewTicker(tidyEvery), time.NewTicker(reconcileEvery), time.NewTicker(sweepEvery), time.NewTicker(uploadsEvery)
	defer expire.Stop()
	defer tidy.Stop()
	defer reconcile.Stop()
	defer sweep.Stop()
	defer uploads.Stop()
	m.runJob(ctx, m.runLocalJobs)
	m.runJob(ctx, m.reconcile)
	m.runJob(ctx, m.sweep)
	for {
		select {
		case <-ctx.Done():
			return
		case <-expire.C:
			m.runJob(ctx, m.expire)
		case <-tidy.C:
			m.runJob(ctx, m.runLocalJobs)
			m.runJob(ctx, m.Recount)
		case <-reconcile.C:
			m.runJob(ctx, m.reconcile)
			m.runJob(ctx, m.removeOld)
		case <-sweep.C:
			m.runJob(ctx, m.sweep)
		case <-uploads.C:
			m.runJob(ctx, m.sweepUploads)
		}
	}
}

// runJob does one job. A panic in it ends neither the process nor the other jobs.
func (m *Maintenance) runJob(ctx context.Context, job func(context.Context)) {
	panics.Log(ctx, m.Log, "maintenance panicked", func() { job(ctx) })
}

// runLocalJobs is done by every process.
func (m *Maintenance) runLocalJobs(ctx context.Context) {
	if err := m.Clock.Adjust(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not ask the database for the time", "err", err)
	}
	if n, err := m.Cleaner.ExpireUploads(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not expire abandoned uploads", "err", err)
	} else if n > 0 {
		m.Log.InfoContext(ctx, "abandoned uploads expired", "videos", n)
	}
	if n, err := m.Cleaner.RemoveFailedUploads(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not remove videos whose upload failed", "err", err)
	} else if n > 0 {
		m.Log.InfoContext(ctx, "videos removed whose upload failed long ago", "videos", n)
	}
	if err := m.Replace.Resume(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not replace the files of videos", "err", err)
	}
	if err := m.Cleaner.RemoveReplaced(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not remove files that were replaced", "err", err)
	}
	if err := m.Cleaner.FinishDeletions(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not finish interrupted deletions", "err", err)
	}
	m.Visibility.Resume(ctx, m.Log)
	if err := m.Hold(); err != nil {
		m.Log.WarnContext(ctx, "could not reserve the disk space that deletions need on a full disk", "err", err)
	}
}

// expire deletes videos that have expired, and tells of those that expire soon. Every process that serves requests
// does it; what one has done the others do not find.
func (m *Maintenance) expire(ctx context.Context) {
	if m.Deleter == nil {
		return
	}
	if n, err := m.Deleter.TellExpiring(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not tell webhooks of videos that expire", "err", err)
	} else if n > 0 {
		m.Log.InfoContext(ctx, "webhooks were told of videos that expire", "videos", n)
	}
	if n, err := m.Deleter.DeleteExpired(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not delete videos that have expired", "err", err)
	} else if n > 0 {
		m.Log.InfoContext(ctx, "videos deleted that had expired", "videos", n)
	}
}

// acquire reports whether this process runs a job now that the whole fleet needs done only once in a
// while.
func (m *Maintenance) acquire(ctx context.Context, job string, every time.Duration) bool {
	mine, err := m.Store.AcquireRunOnce(ctx, job, every, m.Clock.Now())
	if err != nil {
		m.Log.WarnContext(ctx, "could not acquire a run-once lock", "job", job, "err", err)
	}
	return mine
}

func (m *Maintenance) reconcile(ctx context.Context) {
	if !m.acquire(ctx, "reconcile", reconcileEvery) {
		return
	}
	if _, err := m.Passes.Reconcile(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not check all processing videos for lost tasks", "err", err)
	}
}

// removeOld removes old entries of the audit log and sessions that have ended, which workers may not see.
func (m *Maintenance) removeOld(ctx context.Context) {
	if m.Deleter == nil || !m.acquire(ctx, "audit log", sweepEvery) {
		return
	}
	if err := signin.RemoveExpired(ctx, m.Store, m.Clock.Now()); err != nil {
		m.Log.WarnContext(ctx, "could not remove sessions that have ended", "err", err)
	}
	if err := audit.RemoveOld(ctx, m.Store, m.Clock.Now()); err != nil {
		m.Log.WarnContext(ctx, "could not remove old entries of the audit log", "err", err)
	}
}

func (m *Maintenance) sweep(ctx context.Context) {
	if !m.acquire(ctx, "sweep", sweepEvery) {
		return
	}
	if err := m.Catalog.RemoveExpiredRecords(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not remove expired idempotency records", "err", err)
	}
	if err := uploads.RemoveExpiredLeases(ctx, m.Store); err != nil {
		m.Log.WarnContext(ctx, "could not remove expired upload leases", "err", err)
	}
	if err := watermarks.RemoveUnused(ctx, m.Store, m.Clock.Now()); err != nil {
		m.Log.WarnContext(ctx, "could not remove unused watermarks", "err", err)
	}
	r, err := m.Cleaner.Sweep(ctx)
	m.conclude(ctx, r, err)
}

// Recount counts what the storage holds, if that is little and tasks have changed it. Without it, a new service
// would show an empty storage until the next sweep.
func (m *Maintenance) Recount(ctx context.Context) {
	counted, err := system.CountsOfAreas(ctx, m.Store)
	var objects int64
	for _, c := range counted {
		objects += c.Objects
	}
	if err != nil || len(counted) == 0 || objects > maxRecount { // without a count, the sweep may have refused: see Sweep
		return
	}
	finished, err := m.Cleaner.finishedTasks(ctx)
	if err != nil || finished == m.finished {
		return
	}
	if !m.acquire(ctx, "recount", tidyEvery/2) { // less than the time between two tries
		return
	}
	stored, err := m.Cleaner.Count(ctx)
	if err != nil {
		m.Log.WarnContext(ctx, "could not count what the storage holds", "err", err)
		return
	}
	m.finished = finished
	m.conclude(ctx, SweepReport{Stored: stored}, nil)
}

func (m *Maintenance) sweepUploads(ctx context.Context) {
	if m.acquire(ctx, "sweep uploads", uploadsEvery) {
		r, err := m.Cleaner.SweepUploads(ctx)
		m.conclude(ctx, r, err)
	}
}

// conclude records what a sweep has counted, and logs what it did.
func (m *Maintenance) conclude(ctx context.Context, r SweepReport, err error) {
	for _, c := range r.Stored {
		if err := system.RecordStored(ctx, m.Store, c); err != nil {
			m.Log.WarnContext(ctx, "could not record what the storage holds", "area", c.Area, "err", err)
		}
	}
	if _, shared := errors.AsType[sharedError](err); shared {
		m.Log.ErrorContext(ctx, "nothing is swept", "err", err)
	} else if err != nil {
		m.Log.WarnContext(ctx, "sweep was interrupted", "err", err)
	} else if r.Removed > 0 || r.Unknown > 0 {
		m.Log.InfoContext(ctx, "sweep done", "objects", r.Objects, "removed", r.Removed, "unknown", r.Unknown)
	}
}

// AbortUploads aborts unfinished multipart writes until ctx ends. One process of the fleet does it
// once a day.
func (m *Maintenance) AbortUploads(ctx context.Context) {
	for {
		m.runJob(ctx, m.abortUnfinished)
		select {
		case <-time.After(askEvery):
		case <-ctx.Done():
			return
		}
	}
}

func (m *Maintenance) abortUnfinished(ctx context.Context) {
	if !m.acquire(ctx, "abort uploads", abortEvery) {
		return
	}
	if n, err := m.Cleaner.AbortUnfinished(ctx); err != nil {
		m.Log.WarnContext(ctx, "could not remove the parts of unfinished uploads", "err", err)
	} else if n > 0 {
		m.Log.InfoContext(ctx, "parts of unfinished uploads removed", "uploads", n)
	}
}
