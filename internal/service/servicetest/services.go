// Package servicetest builds all services for tests, on a real database, a real queue and a real
// object store, wired as cmd/spool does.
package servicetest

import (
	"context"
	"log/slog"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/clock"
	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/engine/still"
	"github.com/spool-video/spool/internal/service/audience"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/chapters"
	"github.com/spool-video/spool/internal/service/failpoint"
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
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/service/visibility"
	"github.com/spool-video/spool/internal/service/watermarks"
	"github.com/spool-video/spool/internal/video"
)

// Config is what an operator may choose.
type Config struct {
	Uploads        uploads.Config
	AbandonedAfter time.Duration
	MinFree        int64
	KeepSource     bool
	MeasureQuality bool
	Speech         speech.Config
	Pictures       bool
	Upscale        bool
	Loudness       video.Levelling
	Profiles       []video.Profile
	Redirect       bool
	MaxSignedLife  time.Duration // 0: auth.MaxSignedLife
	MaxImports     int           // 0: nothing is fetched
	ImportTiming   imports.Timing
	OutboundAllow  []string
	PurgeClock     func() time.Time // nil: there is no CDN
	Stills         *still.Maker     // nil: no pictures are made
	SignIn         signin.Config
	Audience       audience.Config // the zero value: counting is on
}

// finished ignores that a video became ready or failed.
func finished(video.Status, *video.Failure) {}

// Parts are what the services stand on.
type Parts struct {
	Store         *store.Store
	Queue         queue.Queue
	Blobs         blob.Store
	Log           *slog.Logger          // nil: nothing is logged
	ImportStarted func()                // nil: nothing is counted
	ImportEnded   func(imports.Outcome) // nil: the same
	Now           func() time.Time      // nil: the clock of the database
	Hook          failpoint.Hook
	Release       func() bool  // releases disk space for deletions; nil: there is none
	Stills        *still.Maker // nil: no pictures are made
	PicturesDir   string       // where they are
}

// Services are all services. Tests call the methods of the embedded ones directly.
type Services struct {
	*pipeline.Tasks
	*pipeline.Files
	*playback.Player
	*janitor.Cleaner
	*janitor.Deleter

	Visibility *visibility.Service

	Keys       *auth.Keys
	Captions   *captions.Service
	Sound      *sound.Service
	Speech     *speech.Service
	Watermarks *watermarks.Service
	Chapters   *chapters.Service
	Pictures   *pictures.Service
	Signing    *auth.SigningKeys
	Reserve    *diskspace.Reserve
	Passes     *pipeline.Passes
	Uploads    *uploads.Service
	Imports    *imports.Service
	Leases     *uploads.Leases
	Catalog    *catalog.Catalog
	Shares     *share.Service
	Audience   *audience.Service
	Tenants    *tenants.Service
	Tokens     *auth.Tokens
	SignIn     *signin.Service
	Marker     *janitor.Marker
	Clock      *clock.Clock
	Replace    *replace.Service
	Purges     *cdn.Recorder // nil: there is no CDN
}

// Wire builds the services.
func Wire(ctx context.Context, c Config, p Parts) (*Services, error) {
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.ImportStarted == nil {
		p.ImportStarted = func() {}
	}
	if p.ImportEnded == nil {
		p.ImportEnded = func(imports.Outcome) {}
	}
	s := &Services{Clock: &clock.Clock{Local: p.Now}}
	if p.Now == nil {
		database, err := clock.NewDatabase(ctx, p.Store.Now)
		if err != nil {
			return nil, err
		}
		s.Clock = &database.Clock
	}
	now := s.Clock.Now
	var err error
	if s.Signing, err = auth.LoadSigningKeys(ctx, p.Store, now, c.MaxSignedLife); err != nil {
		return nil, err
	}
	s.Keys = auth.NewKeys(p.Store, now, p.Log)
	s.Reserve = diskspace.NewReserve(p.Blobs, c.MinFree)
	s.Passes = pipeline.NewPasses(pipeline.Config{KeepSource: c.KeepSource, MeasureQuality: c.MeasureQuality, Pictures: c.Pictures}, p.Store, p.Queue, p.Blobs, now, p.Log, finished)
	s.Tasks = pipeline.NewTasks(s.Passes, s.Reserve, s.Clock, p.Hook)
	s.Files = pipeline.NewFiles(p.Store, p.Blobs)
	s.Player = playback.NewPlayer(p.Store, p.Blobs, s.Signing, now, c.Redirect)
	s.Leases = uploads.NewLeases(p.Store, p.Log)
	c.Uploads.AbandonedAfter = c.AbandonedAfter
	s.Uploads = uploads.New(c.Uploads, uploads.Parts{
		Store: p.Store, Blobs: p.Blobs, Reserve: s.Reserve, Leases: s.Leases, Keys: s.Signing, Passes: s.Passes, Admit: probe.Admit,
		Now: now, Log: p.Log, Uploaded: func(int64) {}, Finished: finished, Hook: p.Hook,
	})
	guard, err := outbound.NewGuard(c.OutboundAllow...)
	if err != nil {
		return nil, err
	}
	s.Imports = imports.New(imports.Config{Max: c.MaxImports, Timing: c.ImportTiming}, imports.Parts{
		Store: p.Store, Queue: p.Queue, Guard: guard, Uploads: s.Uploads, Leases: s.Leases, Now: now, Log: p.Log, Started: p.ImportStarted, Ended: p.ImportEnded, Finished: finished,
	})
	s.Watermarks = watermarks.New(p.Store, now)
	var purges *cdn.Recorder
	if c.PurgeClock != nil {
		purges = cdn.NewRecorder(p.Queue, c.PurgeClock)
	}
	s.Purges = purges
	s.Catalog = catalog.New(catalog.Config{Upscale: c.Upscale, Loudness: c.Loudness, Speech: c.Speech, Resolutions: []video.Name{"1080p", "720p", "480p"}, Profiles: c.Profiles}, catalog.Parts{
		Store: p.Store, Keys: s.Signing, Uploads: s.Uploads, Imports: s.Imports, Watermarks: s.Watermarks, Passes: s.Passes, Now: now,
		Space: func(context.Context) error { return s.Reserve.Check(0) }, Purges: purges, Changed: s.Player.Forget,
	})
	s.Shares = share.New(p.Store, s.Signing, s.Catalog, now)
	s.Replace = replace.New(p.Store, p.Blobs, s.Passes, purges, now, p.Log, s.Player.Forget, p.Hook)
	s.Sound = sound.New(p.Store, p.Blobs, s.Uploads, s.Imports, s.Passes, s.Purges)
	s.Speech = speech.New(c.Speech, p.Store, p.Blobs, s.Passes, purges)
	s.Captions = captions.New(p.Store, p.Blobs, purges, func() error { return s.Reserve.Check(captions.MaxSize) })
	s.Visibility = visibility.New(p.Store, p.Blobs, purges, now, p.Hook)
	s.Pictures, err = pictures.New(pictures.Parts{
		Store: p.Store, Blobs: p.Blobs, Player: s.Player, Purges: purges, Space: s.Reserve.Check, Maker: p.Stills, Dir: p.PicturesDir,
	})
	if err != nil {
		return nil, err
	}
	s.Chapters = chapters.New(p.Store, func() error { return s.Reserve.Check(chapters.MaxSize) })
	s.Tenants = tenants.New(p.Store, now)
	s.Tokens = auth.NewTokens(s.Signing, p.Store)
	s.SignIn = signin.New(c.SignIn, p.Store, s.Keys, s.Signing, now)
	if c.Audience.Days == 0 {
		c.Audience.On, c.Audience.Days = true, 400
	}
	s.Audience, err = audience.New(c.Audience, audience.Parts{Store: p.Store, Player: s.Player, Tokens: s.Tokens, Now: now, Log: p.Log})
	if err != nil {
		return nil, err
	}
	s.Marker = janitor.NewMarker(p.Store, p.Blobs)
	s.Cleaner = janitor.NewCleaner(janitor.Config{AbandonedAfter: c.AbandonedAfter, KeepSource: c.KeepSource},
		p.Store, p.Queue, p.Blobs, s.Uploads, s.Marker, now, finished, p.Hook)
	s.Deleter = janitor.NewDeleter(s.Cleaner, s.Passes, s.Leases, purges, p.Release)
	return s, nil
}
