package pipeline

import (
	"context"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Replaced ends the work on the file that a video had before, and starts what follows on its new one.
func (p *Passes) Replaced(ctx context.Context, tx *store.Tx, id video.ID) error {
	if err := p.cancelWork(ctx, tx, id); err != nil {
		return err
	}
	if err := p.afterPass(ctx, tx, id); err != nil {
		return err
	}
	return p.enqueuePurge(ctx, tx, id, AfterPass)
}
