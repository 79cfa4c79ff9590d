package main

import (
	"context"
	"log/slog"
	"math"
	"syscall"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/web/api"
)

// buildWebhooks builds what delivers events. Every process records them, but a worker delivers none:
// it needs no way to the internet, and its database user need not see the secrets.
func (p *parts) buildWebhooks(c *Config, emergency *diskspace.Emergency, log *slog.Logger, m *metrics.Metrics) error {
	store.WebhooksOf(p.store).UseClock(p.clock.Now)
	if !c.servesRequests() {
		return nil
	}
	guard, err := outbound.NewGuard(c.OutboundAllow...)
	if err != nil {
		return err
	}
	config := webhook.Config{RetryFactor: webhookRetryFactor(), InFlight: webhookRequests()}
	if c.DatabaseURL == "" {
		config.Space, config.Release = p.createSpace(c), emergency.Release
	}
	p.webhooks = webhook.New(p.store, guard, api.WebhookBody, config, p.clock.Now, m)
	p.dispatcher = webhook.NewDispatcher(p.store, p.webhooks, config, log)
	return nil
}

// webhookRequests is how many requests to webhooks may be under way: a quarter of the files that this
// process may open, so that receivers that do not answer leave enough for everything else.
func webhookRequests() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 128
	}
	return int(min(max(limit.Cur/4, 16), 1024, math.MaxInt32))
}

// deliver delivers events until ctx ends.
func (p *parts) deliver(ctx context.Context) {
	if p.dispatcher != nil {
		panics.Log(ctx, p.log, "delivering events panicked", func() { p.dispatcher.Run(ctx) })
	}
}
