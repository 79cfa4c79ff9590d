package main

import (
	"context"
	"log/slog"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/clock"
	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/audit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/brand"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/chapters"
	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/service/janitor"
	"github.com/spool-video/spool/internal/service/pictures"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/replace"
	"github.com/spool-video/spool/internal/service/share"
	"github.com/spool-video/spool/internal/service/signin"
	"github.com/spool-video/spool/internal/service/sound"
	"github.com/spool-video/spool/internal/service/speech"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/service/visibility"
	"github.com/spool-video/spool/internal/service/watermarks"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/service/words"
	"github.com/spool-video/spool/internal/web/api"
)

// services are the services of package service, each for one actor.
type services struct {
	clock       *clock.Database
	keys        *auth.Keys
	tenants     *tenants.Service
	signing     *auth.SigningKeys // nil in a worker
	reserve     *diskspace.Reserve
	tasks       *pipeline.Tasks
	files       *pipeline.Files
	player      *playback.Player
	uploads     *uploads.Service
	imports     *imports.Service // nil in a worker
	leases      *uploads.Leases
	captions    *captions.Service
	sound       *sound.Service
	chapters    *chapters.Service
	pictures    *pictures.Service // nil in a worker
	watermarks  *watermarks.Service
	brands      *brand.Service
	catalog     *catalog.Catalog
	shares      *share.Service
	tokens      *auth.Tokens
	audience    *audience.Service // nil in a worker
	cleaner     *janitor.Cleaner
	replace     *replace.Service
	deleter     *janitor.Deleter
	people      *signin.Service // nil in a worker
	visibility  *visibility.Service
	maintenance *janitor.Maintenance
	indexer     *words.Indexer
	speech      *speech.Service
	system      *system.Service
	webhooks    *webhook.Service // nil in a worker
	purges      *cdn.Recorder    // nil unless a CDN is to be told of deletions
	purger      *cdn.Sender      // the same
}

// buildServices builds the services on the database, the queue and the storage, and marks the storage
// as belonging to this database.
func (p *parts) buildServices(ctx context.Context, c *Config, log *slog.Logger, m *metrics.Metrics, codecs catalog.Codecs) (err error) {
	hook := crashPoint()
	if p.clock, err = clock.NewDatabase(ctx, p.store.Now); err != nil {
		return err
	}
	now := p.clock.Now
	if c.servesRequests() { // a worker signs nothing, and its database user need not see the keys
		if p.signing, err = auth.LoadSigningKeys(ctx, p.store, now, c.MaxSignedLife); err != nil {
			return err
		}
	}
	p.keys = auth.NewKeys(p.store, now, log)
	p.tenants = tenants.New(p.store, now)
	p.system = system.New(buildVersion(), p.store, p.queue, c.measureDisk)
	p.reserve = diskspace.NewReserve(p.blobs, int64(c.MinFree))
	passes := pipeline.NewPasses(pipeline.Config{KeepSource: c.KeepSource, MeasureQuality: c.MeasureQuality, Pictures: c.Pictures}, p.store, p.queue, p.blobs, now, log, m.VideoFinished)
	p.tasks = pipeline.NewTasks(passes, p.reserve, &p.clock.Clock, hook)
	p.files = pipeline.NewFiles(p.store, p.blobs)
	p.player = playback.NewPlayer(p.store, p.blobs, p.signing, now, c.redirects())
	p.leases = uploads.NewLeases(p.store, log)
	p.uploads = uploads.New(c.uploadConfig(), uploads.Parts{
		Store: p.store, Blobs: p.blobs, Reserve: p.reserve, Leases: p.leases, Keys: p.signing, Passes: passes,
		Admit: probe.Admit, Now: now, Log: log, Uploaded: m.Uploaded, Finished: m.VideoFinished, Hook: hook,
	})
	if err := p.buildImports(c, log, m); err != nil {
		return err
	}
	p.watermarks = watermarks.New(p.store, now)
	p.brands = brand.New(p.store, now)
	if err := p.buildPurges(c, log, m); err != nil {
		return err
	}
	profiles, faults := c.profiles()
	if len(faults) > 0 && c.servesRequests() { // the file has changed since the settings were checked
		return &configError{faults}
	}
	p.catalog = catalog.New(catalog.Config{CDN: c.CDNURL, Upscale: c.Upscale, Codecs: codecs, HDR: c.hdr(), Speech: c.speech(), AcceptAudio: c.AcceptAudio, CopySource: c.copySource(), Loudness: c.levelling(), Resolutions: c.defaultResolutions(), Profiles: profiles}, catalog.Parts{
		Store: p.store, Keys: p.signing, Uploads: p.uploads, Imports: p.imports, Watermarks: p.watermarks, Passes: passes, Now: now, Space: p.createSpace(c),
		Purges: p.purges, Changed: p.player.Forget,
	})
	p.shares = share.New(p.store, p.signing, p.catalog, now)
	p.tokens = auth.NewTokens(p.signing, p.store)
	if err := p.buildAudience(c, log, m); err != nil {
		return err
	}
	p.replace = replace.New(p.store, p.blobs, passes, p.purges, now, log, p.player.Forget, hook)
	p.captions = captions.New(p.store, p.blobs, p.purges, func() error { return p.reserve.Check(captions.MaxSize) })
	p.sound = sound.New(p.store, p.blobs, p.uploads, p.imports, passes, p.purges)
	p.speech = speech.New(c.speech(), p.store, p.blobs, passes, p.purges)
	p.chapters = chapters.New(p.store, func() error { return p.reserve.Check(chapters.MaxSize) })
	marker := janitor.NewMarker(p.store, p.blobs)
	p.cleaner = janitor.NewCleaner(janitor.Config{AbandonedAfter: c.AbandonedAfter, KeepSource: c.KeepSource},
		p.store, p.queue, p.blobs, p.uploads, marker, now, m.VideoFinished, hook)
	emergency := c.emergency()
	if err := p.buildWebhooks(c, emergency, log, m); err != nil {
		return err
	}
	p.deleter = janitor.NewDeleter(p.cleaner, passes, p.leases, p.purges, emergency.Release)
	p.visibility = visibility.New(p.store, p.blobs, p.purges, now, hook)
	p.maintenance = &janitor.Maintenance{
		Store: p.store, Clock: p.clock, Passes: passes, Catalog: p.catalog, Cleaner: p.cleaner, Visibility: p.visibility, Replace: p.replace,
		Hold: emergency.Hold, Log: log,
	}
	if c.servesRequests() {
		p.maintenance.Deleter = p.deleter
		p.people = signin.New(c.signIn(), p.store, p.keys, p.signing, now)
	}
	p.indexer = &words.Indexer{Store: p.store, Blobs: p.blobs, Now: now, Log: log}
	if moved, err := marker.Moved(ctx); err != nil {
		return err
	} else if moved {
		log.Warn("this database has moved since it last used this storage. After a move or an upgrade of PostgreSQL that is expected, once. " +
			"If it is a copy and the original is still in use, stop this process now: each deletes the files of the other. Give the copy a storage_url of its own, with a copy of the files (docs/database.md)")
	}
	return marker.Write(ctx)
}

// forAPI returns the services that the API calls.
func (p *parts) forAPI() api.Services {
	return api.Services{
		Keys: p.keys, Catalog: p.catalog, Uploads: p.uploads, Deleter: p.deleter, Tenants: p.tenants, Webhooks: p.webhooks,
		Tokens: p.tokens, Captions: p.captions, Sound: p.sound, Chapters: p.chapters, Speech: p.speech, Watermarks: p.watermarks, Pictures: p.pictures, System: p.system, Player: p.player, Shares: p.shares, Visibility: p.visibility,
		Audit: audit.New(p.store, p.clock.Now), SignIn: p.people,
		Audience: p.audience,
	}
}

func (c *Config) uploadConfig() uploads.Config {
	return uploads.Config{
		URLTTL: c.UploadURLTTL, MaxBytes: int64(c.MaxUploadBytes),
		ResumableURLTTL: c.ResumableURLTTL, MaxResumableBytes: int64(c.MaxResumableBytes),
		AbandonedAfter: c.AbandonedAfter, Concurrency: c.UploadConcurrency,
	}
}

// ready reports whether the database and the storage answer.
func (p *parts) ready(ctx context.Context) error {
	if err := p.store.Ping(ctx); err != nil {
		return err
	}
	if err := p.blobs.Ping(ctx); err != nil {
		return blob.ServiceError("check storage", err)
	}
	return nil
}
