package main

import (
	"log/slog"

	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/metrics"
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
		Store: p.store, Queue: p.queue, Guard: guard, Uploads: p.uploads, Leases: p.leases, Now: p.clock.Now, Log: log, Started: m.ImportStarted, Ended: m.ImportEnded, Finished: m.VideoFinished,
	})
	return nil
}
