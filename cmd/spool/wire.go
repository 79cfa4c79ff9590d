package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spool-video/spool/internal/metrics"
)

// errNotWired is what the two functions below return until the parts exist.
var errNotWired = errors.New("the parts are not wired together yet")

// wire puts the parts together: store, storage, queue, media tools, app, the
// HTTP handlers and the worker.
func wire(ctx context.Context, c *Config, log *slog.Logger, m *metrics.Metrics) (*service, error) {
	return nil, errNotWired
}

// openKeyStore opens the database for the key commands.
func openKeyStore(ctx context.Context, l Location) (keyStore, error) {
	return nil, errNotWired
}
