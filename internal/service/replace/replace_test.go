package replace_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/chapters"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/replace"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

const vtt = "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nHello\n"

// film is a video that is ready, with captions that a client has uploaded.
func film(b *servicetest.Rig, public bool) video.Video {
	b.T.Helper()
	v := b.Processing(video.Draft{IsPublic: public, Filename: "old.mp4", Title: "A film"})
	b.Finish(v.ID)
	_, _, _, err := b.Captions.Put(b.T.Context(), b.By, v.ID, captions.Upload{Language: "en", Text: []byte(vtt)})
	b.Must(err)
	return b.Video(v.ID)
}

func begin(b *servicetest.Rig, id video.ID, d video.Draft) (catalog.Upload, error) {
	d.Filename = "new.mov"
	return b.Catalog.Replace(b.T.Context(), b.By, id, d, servicetest.Base)
}

// hidden uploads a new file for a video and returns the hidden one, whose file was accepted.
func hidden(b *servicetest.Rig, id video.ID, d video.Draft) video.Video {
	b.T.Helper()
	up, err := begin(b, id, d)
	b.Must(err)
	b.Put(up, servicetest.LikeVideo)
	c, err := b.Uploads.Complete(b.T.Context(), b.By, id)
	b.Must(err)
	if c.ID != up.Video.ID || c.Status != video.Processing {
		b.T.Fatalf("completed is %s, %s; want %s, processing", c.ID, c.Status, up.Video.ID)
	}
	return c
}

// publish plays the part of the workers, whose renditions say which film they are of.
func publish(b *servicetest.Rig, id video.ID, text string) {
	b.T.Helper()
	v := b.Video(id)
	p := servicetest.Plan(v.Unplanned()...)
	b.Transcode(id, p)
	for n := range p.Renditions {
		file := pipeline.RenditionFile{Path: b.File(text), Width: 2, Height: 2, Duration: time.Second}
		b.Must(b.PublishRendition(b.T.Context(), b.Video(id), n, file))
	}
}

// shown is what a viewer gets at the address of a file.
func shown(b *servicetest.Rig, id video.ID, file string) string {
	b.T.Helper()
	o, err := b.OpenPublic(b.T.Context(), id, file)
	if err != nil {
		return servicetest.CodeOf(err)
	}
	return servicetest.ReadAll(b.T, o)
}

func TestReplace(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := film(b, true)
	c := hidden(b, v.ID, video.Draft{Resolutions: []video.Name{"720p", "480p"}})
	publish(b, c.ID, "the new one")
	if got := b.Video(v.ID); got.Filename != "old.mp4" || shown(b, v.ID, "720p.mp4") != servicetest.Rendition || b.Waiting()[queue.Replace] != 1 {
		t.Fatalf("before the change the video is %+v", got)
	}
	b.Must(b.Replace.Replace(ctx, c.ID))
	b.Must(b.Replace.Replace(ctx, c.ID)) // by another worker

	now := b.Video(v.ID)
	before, _ := v.Resolution("720p")
	after, _ := now.Resolution("720p")
	if now.Filename != "new.mov" || now.Title != "A film" || now.Status != video.Ready || !now.CreatedAt.Equal(v.CreatedAt) || after.ID != before.ID {
		t.Errorf("after the change the video is %+v", now)
	}
	b.WantStatuses(v.ID, "ready: 720p ready, 480p ready")
	for file, want := range map[string]string{"720p.mp4": "the new one", "480p.mp4": "the new one", "240p.mp4": "not_found", v.UploadedFiles()[0].Name: vtt} {
		if got := shown(b, v.ID, file); got != want {
			t.Errorf("%s is %q; want %q", file, got, want)
		}
	}
	if code := shown(b, c.ID, "720p.mp4"); code != "not_found" {
		t.Errorf("under the hidden ID there is %q", code)
	}
	s, err := b.Catalog.State(ctx, b.By, v.ID)
	b.Must(err)
	if s.Replacement != nil || !s.Settled {
		t.Errorf("after the change the state is %+v", s)
	}

	old := objects.Public.Prefix(v.Folder())
	kept := func(key string) bool { return strings.HasPrefix(key, old) }
	_, err = b.Sweep(ctx)
	b.Must(err)
	b.Must(b.RemoveReplaced(ctx))
	if !slices.ContainsFunc(b.Objects(), kept) {
		t.Error("the old file is gone at once")
	}
	b.Advance(replace.Grace + time.Second)
	b.Must(b.RemoveReplaced(ctx))
	if keys := b.Objects(); slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(key, string(v.ID)) }) {
		t.Errorf("of the old file there are %v", keys)
	}
	if got := shown(b, v.ID, "720p.mp4"); got != "the new one" {
		t.Errorf("after the grace 720p.mp4 is %q", got)
	}
	b.Must(b.DeleteVideo(ctx, b.By, v.ID))
	if keys := b.Objects(); len(keys) > 0 {
		t.Errorf("of the deleted video there are %v", keys)
	}
}

// The hidden video, whose file is on its way, is not found under its own ID.
func TestAFileOnItsWayIsHidden(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := film(b, true)
	c := hidden(b, v.ID, video.Draft{})
	publish(b, c.ID, "the new one")
	_, err := b.Catalog.State(ctx, b.By, c.ID)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
	_, err = b.Catalog.Watch(ctx, c.ID, servicetest.Base)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
	servicetest.WantCode(t, b.DeleteVideo(ctx, b.By, c.ID), video.NotFound, "video_not_found")
	_, err = b.Catalog.RetryResolution(ctx, b.By, c.Resolutions[0].ID)
	servicetest.WantCode(t, err, video.NotFound, "resolution_not_found")
	if code := shown(b, c.ID, "720p.mp4"); code != "not_found" {
		t.Errorf("it is played: %q", code)
	}
	for _, f := range []video.Filter{{}, {Status: video.Ready}, {Words: []string{"new"}}} {
		page, err := b.Catalog.List(ctx, b.By, f, video.Cursor{}, 10)
		b.Must(err)
		for _, s := range page.Videos {
			if s.Video.ID == c.ID {
				t.Errorf("%+v lists it", f)
			}
		}
	}
	u, err := b.Tenants.Usage(ctx, b.By)
	b.Must(err)
	if u.Videos != 1 || u.Bytes != 2*int64(len(servicetest.LikeVideo)) {
		t.Errorf("usage is %+v; want one video with two files", u)
	}
}

func TestAReplaceThatFails(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := film(b, true)
	state := func() catalog.State {
		t.Helper()
		s, err := b.Catalog.State(ctx, b.By, v.ID)
		b.Must(err)
		return s
	}
	up, err := begin(b, v.ID, video.Draft{})
	b.Must(err)
	if s := state(); s.Replacement == nil || s.Replacement.Status != video.PendingUpload || s.Settled {
		t.Errorf("while it waits, the state is %+v", s)
	}
	_, err = begin(b, v.ID, video.Draft{})
	servicetest.WantCode(t, err, video.Conflict, "replace_open")
	_, err = b.Catalog.AddResolution(ctx, b.By, v.ID, "480p")
	servicetest.WantCode(t, err, video.Conflict, "replace_open")

	b.Put(up, []byte("no video at all"))
	if _, err := b.Uploads.Complete(ctx, b.By, v.ID); video.KindOf(err) != video.Unprocessable {
		t.Fatalf("a file that is no video: %v", err)
	}
	if s := state(); s.Replacement.Status != video.Fail || s.Replacement.Failure == nil || !s.Settled {
		t.Errorf("after the refusal the state is %+v", s)
	}
	c := hidden(b, v.ID, video.Draft{}) // another try gives the first one up
	b.Must(b.GiveUpVideo(ctx, c.ID, video.Failf(video.Corrupt, "It is damaged.")))
	if s := state(); s.Replacement.Failure.Code != video.Corrupt || s.Video.Status != video.Ready || s.Video.Failure != nil {
		t.Errorf("after the failure the state is %+v", s)
	}
	b.Must(b.GiveUpReplace(ctx, b.By, v.ID))
	servicetest.WantCode(t, b.GiveUpReplace(ctx, b.By, v.ID), video.NotFound, "replacement_not_found")
	if s := state(); s.Replacement != nil || s.Video.Filename != "old.mp4" {
		t.Errorf("after it was given up the state is %+v", s)
	}
	if got := shown(b, v.ID, "720p.mp4"); got != servicetest.Rendition {
		t.Errorf("720p.mp4 is %q", got)
	}
	_, err = b.Sweep(ctx)
	b.Must(err)
	for _, key := range b.Objects() {
		if strings.Contains(key, string(c.ID)) || strings.Contains(key, string(up.Video.ID)) {
			t.Errorf("%s is left", key)
		}
	}
	young := b.Processing(video.Draft{})
	_, err = begin(b, young.ID, video.Draft{})
	servicetest.WantCode(t, err, video.Conflict, "video_not_ready")
}

// Deletions and changes of captions at every step leave one whole video, or none.
func TestReplaceWhileOthersChangeTheVideo(t *testing.T) {
	t.Parallel()
	for _, point := range []failpoint.Point{failpoint.ReplacePrepared, failpoint.Replaced} {
		for name, change := range map[string]func(b *servicetest.Rig, v video.Video){
			"deletion": func(b *servicetest.Rig, v video.Video) { b.Must(b.DeleteVideo(context.Background(), b.By, v.ID)) },
			"captions": func(b *servicetest.Rig, v video.Video) {
				_, _, _, err := b.Captions.Put(context.Background(), b.By, v.ID, captions.Upload{Language: "de", Text: []byte(vtt)})
				b.Must(err)
			},
		} {
			t.Run(name+" at "+string(point), func(t *testing.T) {
				t.Parallel()
				b := servicetest.New(t)
				v := film(b, true)
				c := hidden(b, v.ID, video.Draft{})
				publish(b, c.ID, "the new one")
				done := false
				b.OnPoint = func(p failpoint.Point) {
					if p == point && !done {
						done = true
						change(b, v)
					}
				}
				b.Must(b.Replace.Replace(t.Context(), c.ID))
				if name == "deletion" {
					b.Must(b.FinishDeletions(t.Context()))
					_, err := b.Sweep(t.Context())
					b.Must(err)
					if keys := b.Objects(); len(keys) > 0 {
						t.Errorf("there are %v", keys)
					}
					return
				}
				now := b.Video(v.ID)
				if got := shown(b, v.ID, "720p.mp4"); got != "the new one" || len(now.UploadedFiles()) != 2 {
					t.Errorf("720p.mp4 is %q, the captions are %v", got, now.UploadedFiles())
				}
				for _, f := range now.UploadedFiles() {
					if shown(b, v.ID, f.Name) != vtt {
						t.Errorf("%s is lost", f.Name)
					}
				}
			})
		}
	}
}

// What clients have set stays, and what came from the file before goes with it.
func TestWhatStaysWithTheVideo(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]bool{"set by a client": true, "of the file": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := servicetest.New(t)
			ctx := t.Context()
			v := film(b, true)
			if set {
				_, err := b.Chapters.Set(ctx, b.By, v.ID, chapters.List{Chapters: []video.Chapter{{Title: "Mine"}}})
				b.Must(err)
			}
			poster(b, v.ID, "an old poster", set)
			c := hidden(b, v.ID, video.Draft{Trim: video.NewTrim(new(1.0), nil), MaxSeconds: new(600.0)})
			p := servicetest.Plan("720p", "240p")
			p.Chapters = []video.Chapter{{Title: "Of the file"}}
			b.Transcode(c.ID, p)
			b.Publish(c.ID, 0)
			b.Publish(c.ID, 1)
			poster(b, c.ID, "a new poster", false)
			b.Must(b.Replace.Replace(ctx, c.ID))

			now := b.Video(v.ID)
			want := map[bool]string{true: "Mine, an old poster, kept: a new poster", false: "Of the file, a new poster, kept: not_found"}[set]
			info, err := b.Catalog.Read(ctx, b.By, v.ID, time.Hour, servicetest.Base)
			b.Must(err)
			got := info.Chapters[0].Title + ", " + shown(b, v.ID, video.PosterFile) + ", kept: " + keptPoster(b, now)
			if got != want {
				t.Errorf("the video has %s; want %s", got, want)
			}
			if now.Trim == nil || now.MaxDuration != 10*time.Minute || !strings.Contains(now.Source.Key, string(c.ID)) || now.SizeBytes != now.Size() {
				t.Errorf("the video is %+v", now)
			}
			_, err = b.Sweep(ctx)
			b.Must(err)
			if again := shown(b, v.ID, video.PosterFile); !strings.HasSuffix(want[:strings.Index(want, ", kept")], again) {
				t.Errorf("after a sweep the poster is %q", again)
			}
		})
	}
}

// poster stores a poster of a video, as a worker or a client does.
func poster(b *servicetest.Rig, id video.ID, picture string, uploaded bool) {
	b.T.Helper()
	f := video.File{Name: video.PosterFile, Kind: video.PosterKind, ContentType: "image/jpeg", Size: int64(len(picture))}
	if uploaded {
		f.Source = video.Uploaded
	}
	v := b.Video(id)
	_, err := b.Blobs.Put(b.T.Context(), objects.Playback(v, f.Name), strings.NewReader(picture))
	b.Must(err)
	b.Must(b.Store.WithVideoLock(b.T.Context(), id, func(tx *store.Tx) error {
		return tx.SetFindings(b.T.Context(), id, store.Findings{Files: v.WithFiles(f)})
	}))
}

// keptPoster is the automatic poster that is not shown.
func keptPoster(b *servicetest.Rig, v video.Video) string {
	b.T.Helper()
	if _, kept := v.File(video.KeptPosterFile); !kept {
		return "not_found"
	}
	o, err := b.Blobs.Open(b.T.Context(), objects.Playback(v, video.KeptPosterFile))
	b.Must(err)
	defer o.Close()
	text, err := io.ReadAll(o)
	b.Must(err)
	return string(text)
}

// A poster that is changed between the two transactions of a change is not mistaken for the automatic one.
func TestAPosterThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := film(b, true)
	poster(b, v.ID, "an old poster", true)
	c := hidden(b, v.ID, video.Draft{})
	publish(b, c.ID, "the new one")
	poster(b, c.ID, "a new poster", false)
	b.OnPoint = func(p failpoint.Point) {
		if p == failpoint.ReplacePrepared {
			poster(b, v.ID, "the automatic one again", false)
		}
	}
	b.Must(b.Replace.Replace(t.Context(), c.ID))
	if got := shown(b, v.ID, video.PosterFile); got != "a new poster" {
		t.Errorf("the poster is %q", got)
	}
}

// The visibility of a video does not change while a new file is made for it. Afterwards, the file before moves with the new
// one.
func TestReplaceAndVisibility(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := film(b, true)
	c := hidden(b, v.ID, video.Draft{})
	servicetest.WantCode(t, b.Visibility.Set(ctx, b.By, v.ID, false), video.Conflict, "replace_open")
	publish(b, c.ID, "the new one")
	b.Must(b.Replace.Replace(ctx, c.ID))
	b.Must(b.Visibility.Set(ctx, b.By, v.ID, false))
	for _, key := range b.Objects() {
		if strings.HasPrefix(key, objects.Public.Root()) {
			t.Errorf("%s is public", key)
		}
	}
	b.OnPoint = func(p failpoint.Point) {
		if p == failpoint.VisibilityRecorded {
			_, err := begin(b, v.ID, video.Draft{})
			servicetest.WantCode(t, err, video.Conflict, "visibility_changing")
		}
	}
	b.Must(b.Visibility.Set(ctx, b.By, v.ID, true))
	if got := shown(b, v.ID, "720p.mp4"); got != "the new one" {
		t.Errorf("720p.mp4 is %q", got)
	}
}

// A request to replace a file that is repeated, before and after the change, does not replace it once more.
func TestARepeatedRequestToReplace(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := film(b, true)
	d := video.Draft{Key: "once", Resolutions: []video.Name{"480p"}}
	c := hidden(b, v.ID, d)
	again, err := begin(b, v.ID, d)
	if b.Must(err); again.Video.ID != c.ID || !again.Repeated {
		t.Errorf("repeated at once: %+v", again)
	}
	publish(b, c.ID, "the new one")
	b.Must(b.Replace.Replace(t.Context(), c.ID))
	again, err = begin(b, v.ID, d)
	if b.Must(err); again.Video.ID != v.ID || !again.Repeated {
		t.Errorf("repeated after the change: %+v", again)
	}
	d.Resolutions = nil
	_, err = begin(b, v.ID, d)
	servicetest.WantCode(t, err, video.Conflict, "idempotency_conflict")
}

// A worker that slept through the change publishes nothing of the old file.
func TestTheOldFileIsNotWorkedOnAfterTheChange(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) { c.Pictures = true })
	ctx := t.Context()
	p := servicetest.Plan("720p", "240p")
	p.Pictures = true
	v := b.Ready(p)
	c := hidden(b, v.ID, video.Draft{})
	publish(b, c.ID, "the new one")
	b.Must(b.Replace.Replace(ctx, c.ID))
	task := queue.Task{Kind: queue.Pictures, Video: v.ID}
	board := pipeline.NewFile{File: video.File{Name: video.StoryboardFile, Kind: video.StoryboardKind}, Path: b.File("WEBVTT old")}
	b.Must(b.PublishFiles(ctx, task, v, []pipeline.NewFile{board}))
	if files := b.Video(v.ID).Files; len(files) > 0 {
		t.Errorf("the video lists %v", files)
	}
}
