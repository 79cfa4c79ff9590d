package app_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

const base = "http://spool.test"

// bench is an App on real parts, with a clock that the test turns.
type bench struct {
	*app.App
	t     *testing.T
	store *store.Store
	queue *local.Queue
	blobs *disk.Store
	by    app.Actor

	mu      sync.Mutex
	clock   time.Time
	ended   []video.Status
	reached func(app.Point) // may be set by a test
}

// measuring as an option of a bench lets finished films be compared with their
// source.
func measuring(c *app.Config) { c.MeasureQuality = true }

func newBench(t *testing.T, options ...func(*app.Config)) *bench {
	t.Helper()
	return newBenchOn(t, func(s *disk.Store) blob.Store { return s }, options...)
}

// newBenchOn returns a bench whose App sees another store of objects.
func newBenchOn(t *testing.T, wrap func(*disk.Store) blob.Store, options ...func(*app.Config)) *bench {
	t.Helper()
	cfg := app.Config{UploadURLTTL: time.Hour, MaxUploadBytes: 1 << 20, AbandonedAfter: 24 * time.Hour, KeepSource: true}
	for _, o := range options {
		o(&cfg)
	}
	dir := t.TempDir()
	b := &bench{t: t, clock: time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)}
	var err error
	if b.store, err = store.OpenSQLite(t.Context(), filepath.Join(dir, "spool.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.store.Close() })
	if err := b.store.Migrate(t.Context(), "queue", local.Migrations); err != nil {
		t.Fatal(err)
	}
	b.queue = local.New(b.store.Writer(), local.Options{})
	t.Cleanup(func() { b.queue.Stop(context.Background()) })
	if b.blobs, err = disk.Open(filepath.Join(dir, "objects"), disk.Options{}); err != nil {
		t.Fatal(err)
	}
	b.App, err = app.New(t.Context(), cfg, app.Parts{
		Store: b.store, Queue: b.queue, Blobs: wrap(b.blobs), Admit: probe.Admit,
		Log: slog.New(slog.DiscardHandler), Observer: b, Now: b.now,
		Reached: func(p app.Point) {
			if b.reached != nil {
				b.reached(p)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.by = b.actor(app.Key{})
	return b
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.clock
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock = b.clock.Add(d)
}

func (b *bench) Uploaded(int64) {}

func (b *bench) VideoFinished(s video.Status, _ *video.Failure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = append(b.ended, s)
}

func (b *bench) actor(k app.Key) app.Actor {
	b.t.Helper()
	secret, _, err := b.CreateKey(b.t.Context(), k)
	if err != nil {
		b.t.Fatal(err)
	}
	by, err := b.Authenticate(b.t.Context(), secret)
	if err != nil {
		b.t.Fatal(err)
	}
	return by
}

func (b *bench) create(d video.Draft) app.Upload {
	b.t.Helper()
	if d.Filename == "" {
		d.Filename = "film.mp4"
	}
	if d.Resolutions == nil {
		d.Resolutions = []video.Name{"720p", "240p"}
	}
	up, err := b.CreateVideo(b.t.Context(), b.by, d, base)
	if err != nil {
		b.t.Fatal(err)
	}
	return up
}

// beginsLikeVideo is enough of an MP4 for the verification.
var beginsLikeVideo = append([]byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"), make([]byte, 400)...)

func (b *bench) incoming(up app.Upload, body []byte) app.Incoming {
	rest := strings.TrimPrefix(up.URL, base+"/upload/")
	token, id, _ := strings.Cut(rest, "/")
	return app.Incoming{Token: token, Video: video.ID(id), ContentType: up.Video.ContentType, Length: int64(len(body)), Body: bytes.NewReader(body)}
}

func (b *bench) put(up app.Upload, body []byte) {
	b.t.Helper()
	if _, err := b.ReceiveUpload(b.t.Context(), b.incoming(up, body)); err != nil {
		b.t.Fatal(err)
	}
}

// processing makes a video whose upload was accepted.
func (b *bench) processing(d video.Draft) video.Video {
	b.t.Helper()
	up := b.create(d)
	b.put(up, beginsLikeVideo)
	v, err := b.CompleteUpload(b.t.Context(), b.by, up.Video.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// plan is what inspecting a 40 s film of 1280×720 might give: two chunks, and
// a rendition for each name.
func plan(names ...video.Name) *video.Plan {
	p := &video.Plan{
		Input: video.Input{TimeBase: video.Ratio{Num: 1, Den: 1000}}, Duration: 40 * time.Second,
		Chunks: []video.Chunk{{Start: 0, End: 20000, Seek: video.NoSeek}, {Start: 20000, End: video.Forever, Seek: 20000}},
		Audio:  &video.Audio{Stream: 1},
	}
	for _, n := range names {
		p.Renditions = append(p.Renditions, video.Rendition{Width: 2 * n.ShortSide(), Height: n.ShortSide(), Names: []video.Name{n}})
	}
	return p
}

// file makes a scratch file as a worker would.
func (b *bench) file(text string) string {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "piece")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// transcode plays the part of the workers up to the assembly.
func (b *bench) transcode(id video.ID, p *video.Plan) {
	b.t.Helper()
	b.must(b.Planned(b.t.Context(), id, p))
	first := b.video(id).Plan.First
	for chunk := range p.Chunks {
		var pieces []app.PieceFile
		for r := range p.Renditions {
			pieces = append(pieces, app.PieceFile{Rendition: first + r, Path: b.file("piece"), Frames: 5})
		}
		b.must(b.FinishChunk(b.t.Context(), id, chunk, pieces))
	}
	if p.Audio != nil {
		b.must(b.FinishAudio(b.t.Context(), id, b.file("sound")))
	}
}

func (b *bench) publish(id video.ID, rendition int) {
	b.t.Helper()
	b.must(b.PublishFilm(b.t.Context(), id, rendition, app.Film{Path: b.file("the film"), Width: 2, Height: 2, Duration: time.Second}))
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// GiveUp gives a video up because of whatever task is to be done for it.
func (b *bench) GiveUp(ctx context.Context, id video.ID, f *video.Failure) error {
	b.t.Helper()
	task := queue.Task{Kind: queue.Inspect, Video: id}
	steps, err := b.store.Steps(ctx, id)
	b.must(err)
	for _, s := range steps {
		if !s.Done {
			task.Kind, task.Number = queue.Kind(s.Kind), s.Number
		}
	}
	return b.App.GiveUp(ctx, task, f)
}

// keys lists all objects.
func (b *bench) keys() []string {
	b.t.Helper()
	var all []string
	for info, err := range b.blobs.List(b.t.Context(), "") {
		b.must(err)
		all = append(all, info.Key)
	}
	slices.Sort(all)
	return all
}

// waiting counts the tasks of each kind.
func (b *bench) waiting() map[queue.Kind]int {
	b.t.Helper()
	stats, err := b.queue.Stats(b.t.Context())
	b.must(err)
	n := map[queue.Kind]int{}
	for k, s := range stats {
		n[k] = s.Waiting
	}
	return n
}

func (b *bench) video(id video.ID) video.Video {
	b.t.Helper()
	v, err := b.store.VideoWithPlan(b.t.Context(), id)
	b.must(err)
	return v
}

// wantCode fails the test unless err is a *video.Error of this code.
func wantCode(t *testing.T, err error, kind video.Kind, code string) {
	t.Helper()
	e, ok := errors.AsType[*video.Error](err)
	if !ok || e.Code != code || e.Kind != kind {
		t.Fatalf("got error %v; want %s of kind %s", err, code, kind)
	}
}

func readAll(t *testing.T, o io.ReadCloser) string {
	t.Helper()
	defer o.Close()
	text, err := io.ReadAll(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
