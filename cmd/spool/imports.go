package main

import (
	"context"
	"log/slog"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/imports"
)

// buildImports builds what fetches files. A worker fetches none: it needs no way to the internet.
func (p *parts) buildImports(c *Config, log *slog.Logger, m *metrics.Metrics) error {
	if !c.servesRequests() {
		return nil
	}
	guard, err := outbound.NewGuard(c.OutboundAllow...)
	if err != nil {
		return err
	}
	p.imports = imports.New(imports.Config{Max: c.MaxImports}, imports.Parts{
		Store: p.store, Guard: guard, Uploads: p.uploads, Leases: p.leases, Now: p.clock.Now, Log: log, Started: m.ImportStarted, Ended: m.ImportEnded, Finished: m.VideoFinished,
	})
	return nil
}

// fetch fetches files until ctx ends.
func (p *parts) fetch(ctx context.Context) {
	if p.imports != nil {
		panics.Log(ctx, p.log, "fetching files panicked", func() { p.imports.Run(ctx, p.importStorage) })
	}
}
