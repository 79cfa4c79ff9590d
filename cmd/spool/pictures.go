package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/still"
	"github.com/spool-video/spool/internal/service/pictures"
)

// buildPictures builds the service that makes pictures for requests. A process that runs no tasks needs no ffmpeg
// otherwise, so it starts without one.
func (p *parts) buildPictures(ctx context.Context, c *Config, log *slog.Logger, engine *taskEngine) (err error) {
	var run *ffmpeg.Runner
	if engine != nil {
		run = engine.Runner()
	} else if run, err = c.openRunner(ctx, log); err != nil {
		log.WarnContext(ctx, "this process makes no pictures: choosing a poster and thumbnailUrl answer 503 pictures_unavailable. Install ffmpeg where requests are answered, too", "err", err)
	}
	made := pictures.Parts{
		Store: p.store, Blobs: p.blobs, Player: p.player, Purges: p.purges, Space: p.reserve.Check, Dir: filepath.Join(c.DataDir, datadir.Pictures),
	}
	if run != nil {
		made.Maker = still.NewMaker(run)
	}
	p.pictures, err = pictures.New(made)
	return err
}

// openRunner finds ffmpeg and the sandbox around it.
func (c *Config) openRunner(ctx context.Context, log *slog.Logger) (*ffmpeg.Runner, error) {
	box, err := c.confine(ctx, log)
	if err != nil {
		return nil, err
	}
	program, probe, err := c.tools()
	if err != nil {
		return nil, err
	}
	return ffmpeg.New(ctx, ffmpeg.Config{FFmpeg: program, FFprobe: probe, Nice: c.FFmpegNice, Sandbox: box})
}
