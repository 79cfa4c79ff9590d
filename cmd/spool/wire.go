package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/tracing"
	"github.com/spool-video/spool/internal/engine/encode"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/engine/sandbox"
	programs "github.com/spool-video/spool/internal/engine/speech"
	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/metrics"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/settings"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/api"
	"github.com/spool-video/spool/internal/web/console"
	"github.com/spool-video/spool/internal/web/delivery"
	"github.com/spool-video/spool/internal/web/handbook"
	"github.com/spool-video/spool/internal/web/pages"
	"github.com/spool-video/spool/internal/web/problem"
	"github.com/spool-video/spool/internal/web/tus"
	"github.com/spool-video/spool/internal/worker"
)

// wireTraced is wire, with traces if they are configured.
func wireTraced(ctx context.Context, c *Config, environ func(string) (string, bool), log *slog.Logger, m *metrics.Metrics) (*service, error) {
	traces, err := openTracing(ctx, environ, log, m)
	if err != nil {
		return nil, err
	}
	svc, err := wire(ctx, c, log, m, traces)
	if err != nil {
		traces.Close(ctx)
		return nil, err
	}
	closeParts := svc.close
	svc.close = func() error {
		traces.Close(context.WithoutCancel(ctx))
		return closeParts()
	}
	svc.trace = traces.Requests
	return svc, nil
}

// wire puts the parts together: store, storage, queue, services, and, by role, the HTTP handlers and
// the worker with its engine.
func wire(ctx context.Context, c *Config, log *slog.Logger, m *metrics.Metrics, traces *tracing.Tracing) (_ *service, err error) {
	var engine *taskEngine // before anything is made: a machine that cannot encode says so at once
	if c.runsTasks() {
		if engine, err = c.openTaskEngine(ctx, log, m); err != nil {
			return nil, err
		}
	}
	p, err := c.openParts(ctx, log, m, engine, traces)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	svc := &service{handler: problem.Mux(http.NewServeMux()), ready: p.ready, close: p.Close}
	if c.servesRequests() {
		if err := p.buildPictures(ctx, c, log, engine); err != nil {
			return nil, err
		}
		if err := c.buildHandlers(ctx, svc, p, log, m); err != nil {
			return nil, err
		}
	}
	m.WatchSystem(ctx, p.system)
	lanes := p.requestLanes(c)
	work := &background{stopTasks: p.queue.Stop, maintain: p.maintain}
	work.startTasks = func(ctx context.Context) error { return p.queue.Start(ctx, lanes) }
	if c.runsTasks() {
		w, err := worker.New(worker.Services{Tasks: p.tasks, Files: p.files, Cleaner: p.cleaner, Replace: p.replace, Sound: p.sound, Speech: p.speech, Programs: engine.programs}, engine.Engine, filepath.Join(c.DataDir, datadir.Scratch), log, m)
		if err != nil {
			return nil, err
		}
		lanes[queue.EncodeLane] = queue.Pool{Places: c.workers(), Handle: w.Handle}
		svc.sandbox = engine.sandbox
	}
	svc.start, svc.stop = work.start, work.stop
	return svc, nil
}

// requestLanes returns the lanes that lead to the internet. Workers work on none of them.
func (p *parts) requestLanes(c *Config) map[queue.Lane]queue.Pool {
	lanes := map[queue.Lane]queue.Pool{}
	if !c.servesRequests() {
		return lanes
	}
	lanes[queue.NetworkLane] = queue.Pool{Places: requestsAtOnce(), Handle: p.network}
	if c.MaxImports > 0 {
		lanes[queue.ImportLane] = queue.Pool{Places: c.MaxImports, Handle: p.imports.Handler(p.importStorage)}
	}
	return lanes
}

// codecChoice says which codecs clients get. A process that runs no tasks leaves it to the workers
// whether they can make what a client asks for.
func (c *Config) codecChoice(engine *taskEngine) catalog.Codecs {
	codecs := catalog.Codecs{Default: c.codecsBeside(), Refused: map[video.Codec]string{}}
	for _, codec := range video.ExtraCodecs {
		if engine != nil && !engine.Encodes(codec) {
			codecs.Refused[codec] = fmt.Sprintf("is not available: the ffmpeg of this server cannot encode %s", codec.Title())
		}
	}
	return codecs
}

// taskEngine is the engine that tasks use.
type taskEngine struct {
	worker.Engine
	programs *programs.Programs
	sandbox  string // how ffmpeg is confined
}

func (c *Config) openTaskEngine(ctx context.Context, log *slog.Logger, m *metrics.Metrics) (*taskEngine, error) {
	if !c.servesRequests() && (c.APIKey != "" || c.APIKeyFile != "") {
		log.Warn("a worker has no use for an API key: take api_key out of its settings, so that it cannot leak from here")
	}
	box, err := c.confine(ctx, log)
	if err != nil {
		return nil, err
	}
	report := box.Report().String()
	for _, advice := range box.Report().Advice() {
		log.InfoContext(ctx, advice, "sandbox", report)
	}
	m.Sandboxed(report)
	engine, err := c.openEngine(ctx, box, log)
	if err != nil {
		return nil, err
	}
	programs, err := c.openSpeech(box)
	return &taskEngine{engine, programs, report}, err
}

// buildHandlers gives svc what answers requests, and the API key that this start
// created, if it did.
func (c *Config) buildHandlers(ctx context.Context, svc *service, p *parts, log *slog.Logger, m *metrics.Metrics) (err error) {
	if c.APIKey != "" && len(c.APIKey) < 16 {
		log.Warn("the API key is short enough to be guessed; choose a long random one", "characters", len(c.APIKey))
	}
	if svc.firstKey, err = p.keys.Bootstrap(ctx, c.APIKey); err != nil {
		return err
	}
	if svc.firstKey != "" {
		first, err := p.keys.Authenticate(ctx, svc.firstKey)
		if err != nil {
			return err
		}
		svc.firstLink = p.people.NewLink(first.KeyID)
	}
	if n, err := p.people.EndUnentitled(ctx); err != nil {
		return err
	} else if n > 0 {
		log.Info("sessions ended of people who may do nothing any more", "sessions", n)
	}
	limits := limit.New(playbackFiles())
	edge := api.New(p.forAPI(), api.Config{
		BaseURL: c.BaseURL, TrustedProxies: settings.Prefixes(c.TrustedProxies), RateLimit: c.RateLimit.PerSecond, CheapReads: c.RateLimit.Auto,
		Limits: limits, Log: log,
	})
	m.WatchStreams(edge.OpenStreams)
	m.WatchWebhooks(ctx, p.webhooks.OldestPending)
	svc.sent = p.audience.Served
	svc.follow, svc.interrupt = edge.PollStreams, p.leases.InterruptAll
	svc.handler, err = newHandler(edge, p, c, limits)
	return err
}

// openFiles is how many files the process may open.
func openFiles() int64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 1024 // what every system allows
	}
	return int64(min(l.Cur, math.MaxInt32))
}

// playbackFiles is how many files may be open for playback, and clientConnections how many connections clients
// may have. The rest is for uploads, workers, the database and trusted proxies.
func playbackFiles() int64 { return openFiles() / 2 }

func clientConnections() int64 { return openFiles() / 4 }

// confine builds the sandbox around ffmpeg, and looks from inside whether each of
// its layers is on.
func (c *Config) confine(ctx context.Context, log *slog.Logger) (*sandbox.Sandbox, error) {
	box, err := sandbox.Open(sandbox.Mode(c.Sandbox), log)
	if err != nil {
		return nil, err
	}
	ffmpeg, _, err := c.tools()
	if err != nil {
		return nil, err
	}
	err = box.Check(ctx, ffmpeg)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return nil, fmt.Errorf("this process may open too few files: allow more, with LimitNOFILE=65536 in the unit or ulimit -n 65536: %w", err)
	} else if err != nil && !isFFmpeg(ctx, ffmpeg) {
		return nil, fmt.Errorf("%s is not ffmpeg, or one that cannot run here: called with -version it does not print one", ffmpeg)
	} else if err != nil {
		return nil, fmt.Errorf("%w (--sandbox=off starts without it, at your own risk)", err)
	}
	return box, nil
}

// isFFmpeg reports whether a program calls itself ffmpeg.
func isFFmpeg(ctx context.Context, program string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, _ := exec.CommandContext(ctx, program, "-version").Output() // what it printed decides
	return bytes.HasPrefix(out, []byte("ffmpeg version "))
}

func (c *Config) openEngine(ctx context.Context, box *sandbox.Sandbox, log *slog.Logger) (worker.Engine, error) {
	ffmpegPath, ffprobePath, err := c.tools()
	if err != nil {
		return worker.Engine{}, err
	}
	tools := ffmpeg.Config{FFmpeg: ffmpegPath, FFprobe: ffprobePath, Nice: c.FFmpegNice, Sandbox: box}
	return worker.OpenEngine(ctx, tools,
		plan.Config{Quality: video.Quality(c.Quality), Sizes: plan.SizeLimits{MaxResolution: video.Name(c.MaxResolution), MaxUpscale: c.MaxUpscale}, LoudnessTarget: c.LoudnessTarget},
		encode.Config{Accelerator: encode.Accelerator(c.Encoder), Log: log, Beside: c.codecsBeside()})
}

// newHandler is the route table: the API with its description, uploads and
// playback, the console, and the pages for people.
func newHandler(edge *api.API, p *parts, c *Config, limits *limit.Limits) (http.Handler, error) {
	mux := http.NewServeMux()
	edge.Register(mux)
	files := delivery.Config{Now: p.clock.Now, Base: edge.Base, CDN: c.CDNURL != "", Purged: c.CDNPurgeURL != "", Limits: limits, Audience: p.audience, TrustedProxies: settings.Prefixes(c.TrustedProxies), Sendfile: delivery.Sendfile{
		Header: c.SendfileHeader, Proxies: settings.Prefixes(c.SendfileProxies), Dir: filepath.Join(c.DataDir, datadir.Objects)}}
	delivery.Register(mux, p.uploads, p.player, p.pictures, files)
	partial, err := p.openResumable()
	if err != nil {
		return nil, err
	}
	resumable := tus.Services{Uploads: p.uploads, Leases: p.leases, Space: p.reserve}
	p.importStorage = tus.Imports(resumable, partial)
	if err := tus.Register(mux, resumable, partial, tus.Config{MaxBytes: int64(c.MaxResumableBytes), Base: edge.Base}); err != nil {
		return nil, err
	}
	handbook.Register(mux)
	origins := []string{c.BaseURL, c.CDNURL, p.origin}
	if err := console.Register(mux, console.Config{Origins: origins}); err != nil {
		return nil, err
	}
	if err := pages.Register(mux, p.catalog, p.shares, pages.Config{Brands: p.brands, Origins: origins, Base: edge.Base, Client: edge.Client, Counted: c.Audience == "on", SignIn: p.people, Secure: edge.Secure, TrustedProxies: settings.Prefixes(c.TrustedProxies), Unlimited: c.RateLimit.PerSecond == 0}); err != nil {
		return nil, err
	}
	return edge.InFrontOf(problem.Mux(mux)), nil
}
