package pictures_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/still"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// withFFmpeg has pictures made by the real ffmpeg.
func withFFmpeg(t *testing.T) func(*servicetest.Config) {
	t.Helper()
	maker := still.NewMaker(enginetest.NewRunner(t))
	return func(c *servicetest.Config) { c.Stills = maker }
}

// picture is a PNG of one colour.
func picture(t *testing.T, c color.Color, width, height int) []byte {
	t.Helper()
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		p.Set(i%width, i/width, c)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	red  = color.NRGBA{R: 255, A: 255}
	blue = color.NRGBA{B: 255, A: 255}
)

// shown returns what the address of a file answers: its text, or the colour of a JPEG.
func shown(b *servicetest.Rig, id video.ID, name string) string {
	b.T.Helper()
	o, err := b.OpenPublic(b.T.Context(), id, name)
	if err != nil {
		return servicetest.CodeOf(err)
	}
	text := servicetest.ReadAll(b.T, o)
	p, err := jpeg.Decode(strings.NewReader(text))
	if err != nil {
		return text
	}
	r, _, blue, _ := p.At(0, 0).RGBA()
	if r > blue {
		return "red"
	}
	return "blue"
}

// posterPlan is a plan with a poster.
func posterPlan(names ...video.Name) *video.Plan {
	p := servicetest.Plan(names...)
	p.Poster = &video.Poster{Width: 2, Height: 2, Frames: []video.PosterFrame{{Seek: video.NoSeek}}}
	return p
}

// publishPoster plays the worker that makes the automatic poster, in some formats.
func publishPoster(b *servicetest.Rig, id video.ID, names ...string) {
	b.T.Helper()
	var files []pipeline.NewFile
	for _, name := range names {
		files = append(files, pipeline.NewFile{File: video.File{Name: name, Kind: video.PosterKind, At: new(1.5)}, Path: b.File("automatic " + name)})
	}
	b.Must(b.PublishFiles(b.T.Context(), queue.Task{Kind: queue.Poster, Video: id}, b.Video(id), files))
}

// ready makes a video with an automatic poster in two formats.
func ready(b *servicetest.Rig) video.ID {
	b.T.Helper()
	id := b.Processing(video.Draft{IsPublic: true}).ID
	b.Transcode(id, posterPlan("720p", "240p"))
	publishPoster(b, id, video.PosterFile, "poster.avif")
	for n := range 2 {
		b.Publish(id, n)
	}
	return id
}

func listed(b *servicetest.Rig, id video.ID) (names []string) {
	b.T.Helper()
	v := b.Video(id)
	for _, f := range v.Files {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

func wantFiles(b *servicetest.Rig, id video.ID, when string, want ...string) {
	b.T.Helper()
	if got := listed(b, id); !slices.Equal(got, want) {
		b.T.Errorf("%s, the video lists %v, want %v", when, got, want)
	}
	var stored []string
	for info, err := range b.Blobs.List(b.T.Context(), "public/"+string(id)+"/poster") {
		b.Must(err)
		stored = append(stored, strings.TrimPrefix(info.Key, "public/"+string(id)+"/"))
	}
	slices.Sort(stored)
	if !slices.Equal(stored, want) {
		b.T.Errorf("%s, stored are %v, want %v", when, stored, want)
	}
}

func wantPoster(b *servicetest.Rig, id video.ID, when, want string) {
	b.T.Helper()
	if got := shown(b, id, video.PosterFile); got != want {
		b.T.Errorf("%s, the poster is %q, want %q", when, got, want)
	}
}

func TestAPosterIsChosenAndGivenBack(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, withFFmpeg(t))
	ctx, id := t.Context(), ready(b)
	wantFiles(b, id, "at first", "poster.avif", "poster.jpg")
	v, err := b.Pictures.SetPoster(ctx, b.By, id, picture(t, red, 1400, 700))
	b.Must(err)
	f, _ := v.File(video.PosterFile)
	if f.Width != 1280 || f.Height != 640 || f.Source != video.Uploaded || f.Size == 0 || f.ContentType != "image/jpeg" {
		t.Errorf("the poster is %+v", f)
	}
	wantPoster(b, id, "with a picture", "red")
	wantFiles(b, id, "with a picture", "poster-automatic.avif", "poster-automatic.jpg", "poster.jpg")
	if at := v.PosterMoment(); at != 1500*time.Millisecond {
		t.Errorf("the moment of the automatic poster is %v", at)
	}
	_, err = b.Pictures.SetPoster(ctx, b.By, id, picture(t, blue, 64, 64))
	b.Must(err)
	wantPoster(b, id, "with another one", "blue")

	b.Add(id, "480p") // another pass makes no other poster
	b.Finish(id)
	b.Must(b.Purge(ctx, id))
	wantPoster(b, id, "after another pass", "blue")
	wantFiles(b, id, "after another pass", "poster-automatic.avif", "poster-automatic.jpg", "poster.jpg")

	_, err = b.Pictures.ResetPoster(ctx, b.By, id)
	b.Must(err)
	wantPoster(b, id, "in the end", "automatic poster.jpg")
	wantFiles(b, id, "in the end", "poster.avif", "poster.jpg")
	if got := shown(b, id, "poster.avif"); got != "automatic poster.avif" {
		t.Errorf("the AVIF is %q", got)
	}
	_, err = b.Pictures.ResetPoster(ctx, b.By, id)
	b.Must(err)
	b.Must(b.DeleteVideo(ctx, b.By, id))
	if got := shown(b, id, video.PosterFile); got != "not_found" {
		t.Errorf("of a deleted video the poster is %q", got)
	}
}

// A picture may come before the file. The automatic poster is made nevertheless, and kept.
func TestAPosterBeforeTheAutomaticOne(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, withFFmpeg(t))
	ctx := t.Context()
	up := b.Create(video.Draft{IsPublic: true})
	id := up.Video.ID
	_, err := b.Pictures.SetPoster(ctx, b.By, id, picture(t, red, 8, 8))
	b.Must(err)
	wantPoster(b, id, "before the upload", "red")
	_, err = b.Pictures.ResetPoster(ctx, b.By, id)
	b.Must(err)
	wantFiles(b, id, "without any")
	_, err = b.Pictures.SetPoster(ctx, b.By, id, picture(t, red, 8, 8))
	b.Must(err)
	b.Put(up, servicetest.LikeVideo)
	_, err = b.Uploads.Complete(ctx, b.By, id)
	b.Must(err)
	b.Transcode(id, posterPlan("720p", "240p"))
	publishPoster(b, id, video.PosterFile, "poster.avif")
	wantPoster(b, id, "after the automatic one was made", "red")
	wantFiles(b, id, "after the automatic one was made", "poster-automatic.avif", "poster-automatic.jpg", "poster.jpg")
	_, err = b.Pictures.ResetPoster(ctx, b.By, id)
	b.Must(err)
	wantPoster(b, id, "in the end", "automatic poster.jpg")
}

// breaking is a storage that breaks after a number of changes of posters, as a process does that is killed.
type breaking struct {
	blob.Store
	left *atomic.Int64
}

var errBroken = errors.New("killed")

func (s breaking) change(key string, f func() error) error {
	if !strings.Contains(key, "/poster") {
		return f()
	}
	left := s.left.Add(-1)
	if left < 0 {
		return errBroken
	}
	if err := f(); err != nil || left > 0 {
		return err
	}
	return errBroken // it was done, but is not known
}

func (s breaking) Put(ctx context.Context, key string, r io.Reader) (info blob.Info, err error) {
	err = s.change(key, func() error { info, err = s.Store.Put(ctx, key, r); return err })
	return info, err
}

func (s breaking) Copy(ctx context.Context, from, to, etag string) (info blob.Info, err error) {
	err = s.change(to, func() error { info, err = s.Store.Copy(ctx, from, to, etag); return err })
	return info, err
}

func (s breaking) Delete(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	return s.change(keys[0], func() error { return s.Store.Delete(ctx, keys...) })
}

// Whatever step is the last one, the poster is the old one or the new one, in all formats; trying again works, and the
// automatic one is never lost.
func TestAPosterSurvivesACrashAtEachStep(t *testing.T) {
	t.Parallel()
	left := new(atomic.Int64)
	left.Store(1 << 30)
	b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { return breaking{s, left} }, withFFmpeg(t))
	ctx := t.Context()
	automatic := "automatic " + video.PosterFile
	consistent := func(id video.ID, step int64, may ...string) string {
		t.Helper()
		got, other := shown(b, id, video.PosterFile), shown(b, id, "poster.avif")
		if !slices.Contains(may, got) || got != automatic && !strings.HasPrefix(other, "not_") {
			t.Errorf("after step %d the poster is %q, and as AVIF %q", step, got, other)
		}
		return got
	}
	for step := int64(1); step <= 5; step++ {
		id := ready(b)
		left.Store(step)
		_, err := b.Pictures.SetPoster(ctx, b.By, id, picture(t, red, 8, 8))
		left.Store(1 << 30)
		if err == nil && step < 4 {
			t.Errorf("step %d did not break", step)
		}
		consistent(id, step, automatic, "red")
		_, err = b.Pictures.SetPoster(ctx, b.By, id, picture(t, blue, 8, 8))
		b.Must(err)
		consistent(id, step, "blue")

		left.Store(step)
		_, _ = b.Pictures.ResetPoster(ctx, b.By, id)
		left.Store(1 << 30)
		consistent(id, step, automatic, "blue")
		_, err = b.Pictures.ResetPoster(ctx, b.By, id)
		b.Must(err)
		consistent(id, step, automatic)
		b.Must(b.Purge(ctx, id))
		consistent(id, step, automatic)
		if step == 1 {
			b.Must(b.DeleteVideo(ctx, b.By, id))
		}
	}
}

func TestPostersThatAreRefused(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, withFFmpeg(t))
	ctx, id := t.Context(), ready(b)
	good := picture(t, red, 8, 8)
	_, err := b.Pictures.SetPoster(ctx, b.By, id, []byte("no picture"))
	servicetest.WantCode(t, err, video.Invalid, "invalid_picture")
	_, err = b.Pictures.SetPoster(ctx, b.Actor(auth.Key{Tenant: "other"}), id, good)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
	_, err = b.Pictures.ResetPoster(ctx, b.Actor(auth.Key{Tenant: "other"}), id)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
	_, err = b.Pictures.SetPoster(ctx, b.Actor(auth.Key{Scopes: []auth.Scope{auth.Read}}), id, good)
	servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
	_, err = b.Pictures.SetPosterTime(ctx, b.By, b.Create(video.Draft{}).Video.ID, time.Second)
	servicetest.WantCode(t, err, video.Conflict, "not_ready")
	wantPoster(b, id, "after all", "automatic poster.jpg")

	none := servicetest.New(t)
	_, err = none.Pictures.SetPoster(ctx, none.By, ready(none), good)
	servicetest.WantCode(t, err, video.Unavailable, "pictures_unavailable")
}

// A CDN is told when the storage has the new picture.
func TestACDNIsToldOfAPoster(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, withFFmpeg(t), func(c *servicetest.Config) { c.PurgeClock = time.Now })
	id := ready(b)
	_, err := b.Pictures.SetPoster(t.Context(), b.By, id, picture(t, red, 8, 8))
	b.Must(err)
	if n := b.Waiting()[queue.PurgeCDN]; n != 1 {
		t.Errorf("%d purges wait, want 1", n)
	}
}
