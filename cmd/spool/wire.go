package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spool-video/spool/internal/api"
	"github.com/spool-video/spool/internal/app"
	"github.com/spool-video/spool/internal/blob/disk"
	"github.com/spool-video/spool/internal/delivery"
	"github.com/spool-video/spool/internal/media"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/problem"
	"github.com/spool-video/spool/internal/queue/local"
	"github.com/spool-video/spool/internal/sandbox"
	"github.com/spool-video/spool/internal/store"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/worker"
)

// The data directory holds these and the lock file, and nothing else does.
const (
	databaseFile  = "spool.db"
	objectsFolder = "objects"
	scratchFolder = "scratch"
)

// parts is what a data directory is made of.
type parts struct {
	store *store.Store
	blobs *disk.Store
	queue *local.Queue
	app   *app.App
}

// openParts opens the data directory and puts the service on it.
func openParts(ctx context.Context, dir string, cfg app.Config, log *slog.Logger, o app.Observer) (_ *parts, err error) {
	p := new(parts)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	if p.store, err = store.OpenSQLite(ctx, filepath.Join(dir, databaseFile)); err != nil {
		return nil, err
	}
	if err := p.store.Migrate(ctx, "queue", local.Migrations); err != nil {
		return nil, err
	}
	if p.blobs, err = disk.Open(filepath.Join(dir, objectsFolder), disk.Options{}); err != nil {
		return nil, err
	}
	p.queue = local.New(p.store.Writer(), local.Options{Read: p.store.Reader(), Log: log})
	p.app, err = app.New(ctx, cfg, app.Parts{
		Store: p.store, Queue: p.queue, Blobs: p.blobs, Sniff: media.Sniff, Log: log, Observer: o, Reached: crashPoint(),
	})
	return p, err
}

func (p *parts) Close() error {
	var errs []error
	if p.blobs != nil {
		errs = append(errs, p.blobs.Close())
	}
	if p.store != nil {
		errs = append(errs, p.store.Close())
	}
	return errors.Join(errs...)
}

// wire puts the parts together: store, storage, queue, media tools, app, the
// HTTP handlers and the worker.
func wire(ctx context.Context, c *Config, log *slog.Logger, m *metrics.Metrics) (_ *service, err error) {
	box, err := c.confine(ctx, log)
	if err != nil {
		return nil, err
	}
	m.Sandboxed(box.Report().String())
	tools, err := c.mediaTools(ctx, box, log)
	if err != nil {
		return nil, err
	}
	p, err := openParts(ctx, c.DataDir, c.appConfig(), log, m)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	key, err := c.apiKey()
	if err != nil {
		return nil, err
	}
	if key != "" && len(key) < 16 {
		log.Warn("the API key is short enough to be guessed; choose a long random one", "characters", len(key))
	}
	firstKey, err := p.app.Bootstrap(ctx, key)
	if err != nil {
		return nil, err
	}
	w, err := worker.New(p.app, tools, filepath.Join(c.DataDir, scratchFolder), log, m)
	if err != nil {
		return nil, err
	}
	handler, err := newHandler(p.app, c)
	if err != nil {
		return nil, err
	}
	m.WatchQueue(ctx, p.queue.Stats)
	work := &background{
		startTasks: func(ctx context.Context) error { return p.queue.Start(ctx, c.workers(), w.Handle) },
		stopTasks:  p.queue.Stop,
		keepHouse:  func(ctx context.Context) { p.keepHouse(ctx, log) },
	}
	return &service{
		handler:  handler,
		ready:    p.app.Ready,
		start:    work.start,
		stop:     work.stop,
		close:    p.Close,
		sandbox:  box.Report().String(),
		firstKey: firstKey,
	}, nil
}

func (c *Config) appConfig() app.Config {
	return app.Config{
		UploadURLTTL: c.UploadURLTTL, MaxUploadBytes: int64(c.MaxUploadBytes), AbandonedAfter: c.AbandonedAfter, MinFree: int64(c.MinFree),
		KeepSource: c.KeepSource, Upscale: c.Upscale, MeasureQuality: c.MeasureQuality,
	}
}

// confine builds the sandbox around ffmpeg and tries to break out of it: one
// that leaks is found here, before the first file of a stranger comes.
func (c *Config) confine(ctx context.Context, log *slog.Logger) (*sandbox.Sandbox, error) {
	box, err := sandbox.Open(sandbox.Mode(c.Sandbox), log)
	if err != nil {
		return nil, err
	}
	ffmpeg, _, err := c.tools()
	if err != nil {
		return nil, err
	}
	scratch := filepath.Join(c.DataDir, scratchFolder)
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return nil, fmt.Errorf("make the scratch folder: %w", err)
	}
	if err := box.SelfTest(ctx, ffmpeg, scratch); err != nil {
		return nil, fmt.Errorf("%w (--sandbox=off starts without it, at your own risk)", err)
	}
	return box, nil
}

func (c *Config) mediaTools(ctx context.Context, box *sandbox.Sandbox, log *slog.Logger) (*media.Tools, error) {
	ffmpeg, ffprobe, err := c.tools()
	if err != nil {
		return nil, err
	}
	return media.New(ctx, media.Config{
		FFmpeg: ffmpeg, FFprobe: ffprobe, Threads: c.threads(), StallTimeout: c.StallTimeout, Sandbox: box, Log: log,
		Codec: video.Codec(c.Codec), Quality: video.Quality(c.Quality), Accelerator: media.Accelerator(c.Encoder),
	})
}

// newHandler is the route table: the API with its description, uploads and
// playback.
func newHandler(a *app.App, c *Config) (http.Handler, error) {
	mux := http.NewServeMux()
	edge, err := api.New(a, api.Config{BaseURL: c.BaseURL, TrustedProxies: prefixes(c.TrustedProxies), RateLimit: c.RateLimit})
	if err != nil {
		return nil, err
	}
	edge.Register(mux)
	delivery.Register(mux, a, delivery.Config{})
	return edge.InFrontOf(problem.Mux(mux)), nil
}

// keepHouse clears what a crash left, and sweeps until ctx ends.
func (p *parts) keepHouse(ctx context.Context, log *slog.Logger) {
	if n, err := p.blobs.CleanTemp(ctx); err != nil {
		log.WarnContext(ctx, "could not clear temporary files", "err", err)
	} else if n > 0 {
		log.InfoContext(ctx, "temporary files of an earlier run removed", "files", n)
	}
	p.app.Maintain(ctx)
}

// keyParts is what the key commands work on: the database of a service that may
// be running at the same time.
type keyParts struct {
	*app.App
	store *store.Store
}

func (k keyParts) Close() error { return k.store.Close() }

// openKeyStore opens the database for the key commands. It makes none: in a
// place without one, the place is wrong.
func openKeyStore(ctx context.Context, l Location) (keyStore, error) {
	path := filepath.Join(l.DataDir, databaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &configError{[]string{fmt.Sprintf("no database in %s; start spool serve there once, or name the right --data-dir.", l.DataDir)}}
	}
	db, err := store.OpenSQLite(ctx, path)
	if err != nil {
		return nil, err
	}
	a, err := app.New(ctx, app.Config{}, app.Parts{Store: db, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return keyParts{a, db}, nil
}
