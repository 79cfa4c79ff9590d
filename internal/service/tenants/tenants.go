// Package tenants says what each tenant uses and may use.
//
// The store counts in the transactions that change videos. The limits are checked where something is
// used up, in the same transaction, after it was counted: package catalog checks a create, uploads a
// file and its completion, pipeline a video that is processed once more and its length. The
// words of the answers are in package video (Usage).
package tenants

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// Tenant is a tenant and what it uses.
type Tenant struct {
	Name video.Tenant
	video.Usage
}

// Service is the tenants of a database.
type Service struct {
	store *store.Store
	now   func() time.Time
}

// New returns the tenants of a database.
func New(s *store.Store, now func() time.Time) *Service { return &Service{s, now} }

// Usage returns what the actor's tenant uses.
func (s *Service) Usage(ctx context.Context, by auth.Actor) (video.Usage, error) {
	if err := by.Require(auth.Read); err != nil {
		return video.Usage{}, err
	}
	return UsageOf(ctx, s.store.Queries, by.Tenant, s.now())
}

// List returns all tenants, by name.
func (s *Service) List(ctx context.Context) ([]Tenant, error) {
	return listTenants(ctx, s.store.Queries, s.now())
}

// Page is a part of the list of tenants.
type Page struct {
	Tenants []Tenant
	Next    video.Tenant // after which the next page begins; empty: this is the last
}

// Page returns at most limit tenants by name, from the one after a name on. Only the operator, whose tenant is
// the default one, may see them.
func (s *Service) Page(ctx context.Context, by auth.Actor, after video.Tenant, limit int) (Page, error) {
	if err := by.RequireOperator(); err != nil {
		return Page{}, err
	}
	all, err := pageOfTenants(ctx, s.store.Queries, after, limit+1, s.now())
	if err != nil || len(all) <= limit {
		return Page{Tenants: all}, err
	}
	return Page{Tenants: all[:limit], Next: all[limit-1].Name}, nil
}

// SetLimits changes the limits of a tenant and returns the tenant. A tenant without videos or keys may
// have limits, too.
func (s *Service) SetLimits(ctx context.Context, name video.Tenant, change func(*video.Limits)) (Tenant, error) {
	if strings.TrimSpace(string(name)) == "" || len(name) > auth.MaxTenant {
		return Tenant{}, video.InvalidFields(video.Fault{Field: "tenant", Code: "out_of_range", Message: "must have 1 to 100 characters"})
	}
	t := Tenant{Name: name}
	err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		if t.Usage, err = UsageOf(ctx, tx.Queries, name, s.now()); err != nil {
			return err
		}
		before := t.Limits
		change(&t.Limits)
		if err := check(t.Limits); err != nil {
			return err
		}
		if t.Limits != before {
			if err := tx.Did(ctx, video.Act{Action: video.ActionTenantLimits, Tenant: name}); err != nil {
				return err
			}
		}
		return setLimits(ctx, tx, name, t.Limits)
	})
	return t, err
}

func check(l video.Limits) error {
	var faults []video.Fault
	fault := func(field string, ok bool) {
		if !ok {
			faults = append(faults, video.Fault{Field: field, Code: "out_of_range", Message: "must be a number, and not negative"})
		}
	}
	fault("max-videos", l.Videos >= 0)
	fault("max-bytes", l.Bytes >= 0)
	fault("max-minutes-per-day", l.MinutesPerDay >= 0 && !math.IsInf(l.MinutesPerDay, 0)) // JSON has no infinity
	fault("max-in-work", l.InWork >= 0)
	if faults != nil {
		return video.InvalidFields(faults...)
	}
	return nil
}
