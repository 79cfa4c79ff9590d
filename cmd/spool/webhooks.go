package main

import (
	"context"
	"log/slog"
	"math"
	"syscall"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/web/api"
)

// buildWebhooks builds what delivers events. Every process records them, but a worker delivers none:
// it needs no way to the internet, and its database user need not see the secrets.
func (p *parts) buildWebhooks(c *Config, emergency *diskspace.Emergency, log *slog.Logger, m *metrics.Metrics) error {
	p.store.UseClock(p.clock.Now)
	webhook.Record(p.store, p.queue)
	if !c.servesRequests() {
		return nil
	}
	guard, err := outbound.NewGuard(c.OutboundAllow...)
	if err != nil {
		return err
	}
	config := webhook.Config{RetryFactor: webhookRetryFactor(), Tried: m.WebhookTried, Log: log}
	if c.DatabaseURL == "" {
		config.Space, config.Release = p.createSpace(c), emergency.Release
	}
	p.webhooks = webhook.New(p.store, p.queue, guard, api.WebhookBody, p.clock.Now, config)
	return nil
}

// requestsAtOnce is how many tasks of the network lane may be under way: a quarter of the files that this
// process may open, so that receivers that do not answer leave enough for everything else.
func requestsAtOnce() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 128
	}
	return int(min(max(limit.Cur/4, 16), 1024, math.MaxInt32))
}

// network does the tasks of the network lane.
func (p *parts) network(ctx context.Context, t queue.Task) error {
	switch {
	case t.Kind == queue.Deliver || t.Kind == queue.CleanUp:
		return p.webhooks.Handle(ctx, t)
	case p.purger != nil:
		return p.purger.Handle(ctx, t)
	}
	return nil // a purge from when there was a CDN
}

// removeOldEvents removes old events of webhooks until ctx ends.
func (p *parts) removeOldEvents(ctx context.Context) {
	if p.webhooks != nil {
		p.webhooks.Run(ctx)
	}
}
