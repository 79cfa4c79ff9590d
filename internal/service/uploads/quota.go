package uploads

import (
	"context"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/video"
)

// usageWithout returns what the tenant of a video uses beside the file that was uploaded for it, which a
// new one replaces.
func (s *Service) usageWithout(ctx context.Context, v video.Video) (video.Usage, error) {
	u, err := tenants.UsageOf(ctx, s.store.Queries, v.Tenant, s.now())
	u.Bytes -= v.Source.Size
	return u, err
}

// countStored counts a file that was stored. If it exceeds a limit, because others were stored at the same
// time, it is removed again.
func (s *Service) countStored(ctx context.Context, id video.ID, size int64) error {
	ctx = context.WithoutCancel(ctx) // the file is there, whether or not its client still is
	var refusal error
	err := s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.CountUpload(ctx, id, size); err != nil {
			return err
		}
		v, err := tx.Video(ctx, id)
		if err != nil {
			return err
		}
		usage, err := tenants.UsageOf(ctx, tx.Queries, v.Tenant, s.now())
		if err != nil {
			return err
		}
		usage.Bytes -= size
		refusal = usage.CheckFile(size)
		return refusal
	})
	if refusal != nil {
		if left := s.Discard(ctx, id); left != nil {
			return left
		}
		return refusal
	}
	if video.KindOf(err) == video.NotFound {
		return nil // it was deleted meanwhile; DiscardIfClosed finds out
	}
	return err
}

// CheckCopy returns an error if a tenant may not have one more video with a file of this size.
func (s *Service) CheckCopy(ctx context.Context, tenant video.Tenant, size int64) error {
	usage, err := tenants.UsageOf(ctx, s.store.Queries, tenant, s.now())
	if err != nil {
		return err
	}
	usage.Videos, usage.Bytes, usage.InWork = usage.Videos+1, usage.Bytes+size, usage.InWork+1
	return usage.CheckAccept(size)
}

// checkAccept returns why the file of a video that was just turned to processing in tx is refused, or
// nil.
func (s *Service) checkAccept(ctx context.Context, tx *store.Tx, tenant video.Tenant, size int64) (refusal, err error) {
	usage, err := tenants.UsageOf(ctx, tx.Queries, tenant, s.now())
	if err != nil {
		return nil, err
	}
	return usage.CheckAccept(size), nil
}
