package scale

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

const base = "http://spool.test"

// course is what a video goes through: the tasks that the services enqueue for
// it, stage by stage. A stage begins when all tasks of the one before have ended.
type course struct {
	length time.Duration // of the video
	stages [][]queue.Task
}

// tasks is how many there are in all stages together.
func (c course) tasks() int {
	n := 0
	for _, s := range c.stages {
		n += len(s)
	}
	return n
}

// notebook is a queue that notes what is enqueued.
type notebook struct {
	queue.Queue
	tasks []queue.Task
}

func (n *notebook) Enqueue(ctx context.Context, tx queue.Tx, tasks ...queue.Task) error {
	n.tasks = append(n.tasks, tasks...)
	return n.Queue.Enqueue(ctx, tx, tasks...)
}

// tear returns what was noted since the last call.
func (n *notebook) tear() []queue.Task {
	tasks := n.tasks
	n.tasks = nil
	return tasks
}

// bench is all services on real parts.
type bench struct {
	*servicetest.Services
	testing.TB
	by  auth.Actor
	dir string
}

func newBench(t testing.TB, st *store.Store, q queue.Queue) *bench {
	t.Helper()
	dir := t.TempDir()
	blobs, err := disk.Open(filepath.Join(dir, "objects"), disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := servicetest.Wire(t.Context(), servicetest.Config{
		Uploads: uploads.Config{URLTTL: time.Hour, MaxBytes: 1 << 20}, KeepSource: true, MeasureQuality: true,
	}, servicetest.Parts{Store: st, Queue: q, Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Services: s, TB: t, dir: dir}
	b.by = b.actor("somebody")
	return b
}

func (b *bench) actor(tenant video.Tenant) auth.Actor {
	b.Helper()
	secret, _, err := b.Keys.Create(b.Context(), auth.Key{Tenant: tenant})
	b.must(err)
	by, err := b.Keys.Authenticate(b.Context(), secret)
	b.must(err)
	return by
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// create makes a video that waits for its upload.
func (b *bench) create() catalog.Upload {
	b.Helper()
	up, err := b.Catalog.Create(b.Context(), b.by, video.Draft{
		Filename: "film.mp4", Resolutions: []video.Name{"720p", "240p"}, IsPublic: true, Thumbnails: []float64{1, 2},
	}, base)
	b.must(err)
	return up
}

// beginsLikeVideo is enough of an MP4 for the verification.
var beginsLikeVideo = append([]byte("\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2"), make([]byte, 400)...)

// upload makes a video whose file is there.
func (b *bench) upload() video.ID {
	b.Helper()
	up := b.create()
	token, _, _ := strings.Cut(strings.TrimPrefix(up.URL, base+"/upload/"), "/")
	_, err := b.Uploads.Receive(b.Context(), uploads.Incoming{
		Token: token, Video: up.Video.ID, ContentType: up.Video.ContentType,
		Length: int64(len(beginsLikeVideo)), Body: bytes.NewReader(beginsLikeVideo),
	})
	b.must(err)
	_, err = b.Uploads.Complete(b.Context(), b.by, up.Video.ID)
	b.must(err)
	return up.Video.ID
}

// file writes what stands for whatever a worker makes. The storage takes it away.
func (b *bench) file() string {
	f, err := os.CreateTemp(b.dir, "piece-")
	if err == nil {
		_, err = f.WriteString("a piece")
	}
	if err := errors.Join(err, f.Close()); err != nil {
		b.Error(err)
	}
	return f.Name()
}

// chunkLength is about what the engine cuts videos into.
const chunkLength = 20 * time.Second

// planOf is the plan of a video in two sizes, with audio and two thumbnails.
func planOf(length time.Duration) *video.Plan {
	p := &video.Plan{
		Input: video.Input{
			Codec: "h264", PixelFormat: "yuv420p", Width: 1280, Height: 720, CodedWidth: 1280, CodedHeight: 720,
			TimeBase: video.Ratio{Num: 1, Den: 1000}, FrameRate: 25,
		},
		Timescale: 1000, Duration: length,
		Renditions: []video.Rendition{{Width: 1280, Height: 720, Names: []video.Name{"720p"}}, {Width: 426, Height: 240, Names: []video.Name{"240p"}}},
		Audio:      &video.Audio{Stream: 1, Channels: 2, Bitrate: 128_000},
		Thumbnails: []video.Thumbnail{{Seconds: 1, PTS: 1000}, {Seconds: 2, PTS: 2000}},
		Samples:    []video.Chunk{{End: 1000}},
	}
	for at := time.Duration(0); at < length; at += chunkLength {
		p.Chunks = append(p.Chunks, video.Chunk{
			Start: at.Milliseconds(), End: (at + chunkLength).Milliseconds(), Seek: at.Milliseconds(), Frames: 500, Bytes: chunkLength.Milliseconds() * 500,
			Spans: []video.Span{{From: at.Milliseconds() * 500, To: (at + chunkLength).Milliseconds() * 500}},
		})
	}
	p.Chunks[len(p.Chunks)-1].End = video.Forever
	return p
}

// work does through the app what a worker does at the end of a task.
func (b *bench) work(ctx context.Context, t queue.Task, p *video.Plan) error {
	v := video.Video{ID: t.Video, Plan: p}
	switch t.Kind {
	case queue.Inspect:
		return b.StorePlan(ctx, t.Video, p)
	case queue.Encode:
		return b.FinishChunk(ctx, t, v, []pipeline.ChunkFile{
			{Rendition: 0, Path: b.file(), Frames: 500}, {Rendition: 1, Path: b.file(), Frames: 500}})
	case queue.Audio:
		return b.FinishAudio(ctx, t, v, pipeline.AudioFile{Path: b.file(), Packets: 1})
	case queue.Thumbnails:
		return b.PublishThumbnails(ctx, v, []pipeline.ThumbnailFile{{Path: b.file()}, {Rendition: 1, Path: b.file()}})
	case queue.Assemble:
		return b.PublishRendition(ctx, v, t.Number, pipeline.RenditionFile{Path: b.file(), Width: 1280, Height: 720, Duration: p.Duration})
	case queue.Measure:
		return b.StoreQuality(ctx, t.Video, map[int]video.QualityScore{0: {SSIM: 0.97, PSNR: 40}, 1: {SSIM: 0.96, PSNR: 39}})
	}
	return b.Purge(ctx, t.Video)
}

// learn sends one video of a length through the app and notes what it enqueues.
func learn(t testing.TB, length time.Duration) course {
	t.Helper()
	st := openSQLite(t)
	notes := &notebook{Queue: local.New(st.Writer(), local.Options{})}
	b := newBench(t, st, notes)
	c := course{length: length}
	p := planOf(length)
	b.upload()
	for stage := notes.tear(); len(stage) > 0; stage = notes.tear() {
		c.stages = append(c.stages, stage)
		for _, task := range stage {
			b.must(b.work(t.Context(), task, p))
		}
	}
	return c
}

// openSQLite opens a database that does not wait for the disk, which would hide
// everything else.
func openSQLite(t testing.TB) *store.Store {
	t.Helper()
	st, err := store.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "spool.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	if err := st.Migrate(t.Context(), "queue", local.Migrations); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Writer().ExecContext(t.Context(), `PRAGMA synchronous = OFF`); err != nil {
		t.Fatal(err)
	}
	return st
}

func openPostgres(t testing.TB, address string) *store.Store {
	t.Helper()
	st, err := store.OpenPostgres(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// TestCourse holds what the app enqueues against what the simulation takes for
// granted.
func TestCourse(t *testing.T) {
	t.Parallel()
	c := learn(t, 45*time.Second)
	var got []string
	for _, stage := range c.stages {
		var kinds []string
		for _, task := range stage {
			kinds = append(kinds, string(task.Kind))
		}
		got = append(got, strings.Join(kinds, " "))
	}
	want := "inspect; encode encode encode audio thumbnails; assemble assemble; measure purge"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("the app enqueues %s, want %s", text, want)
	}
}
