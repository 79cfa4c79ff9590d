package imports

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/video"
)

const (
	// claimTTL is how long a killed process keeps an import from others.
	claimTTL   = 15 * time.Second
	renewEvery = 2 * time.Second
	// pollEvery is how often a process looks for imports that others have recorded.
	pollEvery = time.Second
	// troublePause is the pause after an error of the database.
	troublePause = 2 * time.Second
	lanesAtOnce  = 1000
)

// Run fetches until ctx ends. What is under way then is stored and released, and goes on elsewhere or
// after the next start.
func (s *Service) Run(ctx context.Context, storage Storage) {
	if s.config.Max == 0 {
		return
	}
	if err := s.rows.ReleaseClaims(ctx, s.now()); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "could not release the claims of imports; they end by themselves", "err", err)
	}
	var running sync.WaitGroup
	for ctx.Err() == nil {
		var pause time.Duration
		if !panics.Log(ctx, s.log, "looking for imports panicked", func() { pause = s.startDue(ctx, storage, &running) }) {
			pause = troublePause
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	running.Wait()
	s.client.CloseIdle()
}

// startDue starts the imports that are due, up to the limit, and returns how long to pause.
func (s *Service) startDue(ctx context.Context, storage Storage, running *sync.WaitGroup) time.Duration {
	next, err := s.rows.Next(ctx)
	if err != nil {
		return s.logTrouble(ctx, err)
	}
	if next.IsZero() || next.After(s.now()) || s.atCapacity() {
		return pollEvery
	}
	for {
		lanes, err := s.waitingTenants(ctx)
		if err != nil {
			return s.logTrouble(ctx, err)
		}
		started, err := s.start(ctx, storage, lanes, running)
		if err != nil {
			return s.logTrouble(ctx, err)
		}
		if !started {
			return pollEvery
		}
	}
}

// logTrouble logs an error of the database and returns how long to pause.
func (s *Service) logTrouble(ctx context.Context, err error) time.Duration {
	if ctx.Err() == nil {
		s.log.WarnContext(ctx, "could not look for files to fetch", "err", err)
	}
	return troublePause
}

// waitingTenants lists the tenants that wait, those with the fewest running imports first.
func (s *Service) waitingTenants(ctx context.Context) ([]store.ImportLane, error) {
	var all []store.ImportLane
	after := video.Tenant("")
	for {
		lanes, err := s.rows.Lanes(ctx, after, s.now(), lanesAtOnce)
		if err != nil {
			return nil, err
		}
		all = append(all, lanes...)
		if len(lanes) < lanesAtOnce {
			break
		}
		after = lanes[len(lanes)-1].Tenant
	}
	all = slices.DeleteFunc(all, func(l store.ImportLane) bool { return l.Head == "" })
	s.mu.Lock()
	defer s.mu.Unlock()
	// Ids sort by time: of equals, the tenant that waits longest comes first.
	slices.SortFunc(all, func(a, b store.ImportLane) int {
		return cmp.Or(cmp.Compare(s.running[a.Tenant], s.running[b.Tenant]), cmp.Compare(a.Head, b.Head))
	})
	return all, nil
}

// start starts the import of the first tenant that may have another one. It reports false if no tenant may.
func (s *Service) start(ctx context.Context, storage Storage, lanes []store.ImportLane, running *sync.WaitGroup) (bool, error) {
	for _, l := range lanes {
		if !s.reserve(l.Tenant) {
			continue
		}
		now := s.now()
		claimed, ok, err := s.rows.Claim(ctx, l.Head, newLease(), now, now.Add(claimTTL))
		if err != nil || !ok { // another process was faster
			s.release(l.Tenant)
			if err != nil {
				return false, err
			}
			continue
		}
		running.Go(func() {
			defer s.Wake() // another import may start
			defer s.release(l.Tenant)
			s.tryAndCount(ctx, storage, claimed)
		})
		return true, nil
	}
	return false, nil
}

// tryAndCount is tryImport for the metrics. A panic of it ends nothing else: the claim ends by itself.
func (s *Service) tryAndCount(ctx context.Context, storage Storage, claimed store.Import) {
	s.started()
	outcome := OutcomeWaiting
	defer func() { s.ended(outcome) }()
	panics.Log(ctx, s.log, "fetching a file panicked", func() { outcome = s.tryImport(ctx, storage, claimed) })
}

func (s *Service) atCapacity() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total >= s.config.Max
}

// reserve counts one more running import of a tenant. It reports false at the limit, of which a tenant may have half.
func (s *Service) reserve(t video.Tenant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= s.config.Max || s.running[t] >= max(1, s.config.Max/2) {
		return false
	}
	s.total++
	s.running[t]++
	return true
}

func (s *Service) release(t video.Tenant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.running[t]--; s.running[t] == 0 {
		delete(s.running, t)
	}
}
