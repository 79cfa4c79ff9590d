package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/video"
)

// audienceFaults finds what is wrong with the settings of the audience.
func (c *Config) audienceFaults() []string {
	faults := oneOf("audience", c.Audience, []string{"on", "off"})
	if c.AudienceDays < 1 || c.AudienceDays > 10_000 {
		faults = append(faults, "audience_days must be from 1 to 10000.")
	}
	faults = append(faults, eachOneOf("popular_codecs", c.PopularCodecs, video.ExtraCodecs)...)
	return append(faults, durationFaults("popular_after", c.PopularAfter, time.Minute, 10_000*time.Hour)...)
}

// lastWrite is how long a process that stops may take to write what it has counted.
const lastWrite = 5 * time.Second

// buildAudience builds what counts what is watched. A worker sees no viewer.
func (p *parts) buildAudience(c *Config, log *slog.Logger, m *metrics.Metrics) (err error) {
	if !c.servesRequests() {
		return nil
	}
	p.audience, err = audience.New(
		audience.Config{On: c.Audience == "on", Days: c.AudienceDays, Geo: c.GeoDatabase, Observe: m.Played,
			Popular: video.WithoutH264(named[video.Codec](c.PopularCodecs)), PopularAfter: c.PopularAfter},
		audience.Parts{Store: p.store, Player: p.player, Tokens: p.tokens, Now: p.clock.Now, Log: log})
	if err != nil {
		return err
	}
	p.closes = append(p.closes, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), lastWrite)
		defer cancel()
		return p.audience.Flush(ctx)
	})
	return nil
}
