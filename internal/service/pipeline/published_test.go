package pipeline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

const captions = "captions-en.vtt"

// withExtras is a video that is processed, and a task of it that publishes files: no kind of task is
// special.
func withExtras(b *servicetest.Rig, public bool) (video.ID, queue.Task) {
	b.T.Helper()
	v := b.Processing(video.Draft{IsPublic: public, Resolutions: []video.Name{"720p"}, Thumbnails: []float64{1}})
	p := servicetest.Plan("720p")
	p.Thumbnails = []video.Thumbnail{{Seconds: 1}}
	b.Transcode(v.ID, p)
	return v.ID, queue.Task{Kind: queue.Thumbnails, Video: v.ID}
}

func newFile(b *servicetest.Rig, name, text string) pipeline.NewFile {
	return pipeline.NewFile{File: video.File{Name: name, Kind: "captions", Language: "en", Label: "English"}, Path: b.File(text)}
}

func TestPublishedFilesAreListedServedAndKept(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{true, false} {
		b := servicetest.New(t)
		ctx := t.Context()
		id, task := withExtras(b, public)
		open := func(name string) (string, error) {
			var o playback.Content
			var err error
			if public {
				o, err = b.OpenPublic(ctx, id, name)
			} else {
				var token string
				for _, f := range playback.SignedURLs(b.Video(id), playback.Base{}, b.Signing, b.Now().Add(time.Hour)).Files {
					if f.Name == name {
						token, _, _ = strings.Cut(strings.TrimPrefix(f.URL, "/v/"), "/")
					}
				}
				o, err = b.OpenSigned(ctx, token, id, name)
			}
			if err != nil {
				return "", err
			}
			return servicetest.ReadAll(t, o), nil
		}
		if public {
			_, err := open(captions)
			servicetest.WantCode(t, err, video.NotFound, "not_found")
		}

		b.Must(b.PublishFiles(ctx, task, b.Video(id), []pipeline.NewFile{newFile(b, captions, "WEBVTT"), newFile(b, "captions-fr.vtt", "WEBVTT fr")}))
		b.Must(b.PublishFiles(ctx, task, b.Video(id), []pipeline.NewFile{newFile(b, captions, "later"), newFile(b, "captions-de.vtt", "late")})) // delivered twice
		want := []video.File{
			{Name: captions, Kind: "captions", ContentType: "text/vtt; charset=utf-8", Language: "en", Label: "English", Size: 6},
			{Name: "captions-fr.vtt", Kind: "captions", ContentType: "text/vtt; charset=utf-8", Language: "en", Label: "English", Size: 9},
		}
		if got := b.Video(id).Files; !slices.Equal(got, want) {
			t.Errorf("files are %+v; want %+v", got, want)
		}
		b.Publish(id, 0)
		b.WantStatuses(id, "ready: 720p ready")
		place := map[bool]string{true: "public/", false: "private/"}[public] + string(id) + "/"
		stray, err := b.Blobs.Put(ctx, place+"captions-es.vtt", strings.NewReader("unlisted"))
		b.Must(err)
		b.Must(b.Purge(ctx, id))
		if _, err := b.Sweep(ctx); err != nil {
			t.Error(err)
		}
		keys := b.Objects()
		if slices.Contains(keys, stray.Key) || !slices.Contains(keys, place+captions) || !slices.Contains(keys, place+"captions-fr.vtt") || slices.Contains(keys, place+"captions-de.vtt") {
			t.Errorf("objects are %v; want those that are listed", keys)
		}
		if text, err := open(captions); text != "WEBVTT" || err != nil {
			t.Errorf("%s is %q, %v", captions, text, err)
		}

		b.Add(id, "240p") // a later pass leaves them alone
		b.Finish(id)
		b.Must(b.Purge(ctx, id))
		if text, err := open("captions-fr.vtt"); text != "WEBVTT fr" || err != nil || len(b.Video(id).Files) != 2 {
			t.Errorf("after another pass it is %q, %v, and %v are listed", text, err, b.Video(id).Files)
		}
		b.Must(b.DeleteVideo(ctx, b.By, id))
		if keys := slices.DeleteFunc(b.Objects(), func(k string) bool { return !strings.Contains(k, string(id)) }); len(keys) > 0 {
			t.Errorf("the deletion left %v", keys)
		}
		_, err = b.OpenPublic(ctx, id, captions)
		servicetest.WantCode(t, err, video.NotFound, "not_found")
	}
}

func TestAFileIsNotPublishedAfterTheDeletion(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id, task := withExtras(b, true)
	b.OnPoint = func(p failpoint.Point) {
		if p == failpoint.FilesStaged {
			b.Must(b.DeleteVideo(t.Context(), b.By, id))
		}
	}
	b.Must(b.PublishFiles(t.Context(), task, b.Video(id), []pipeline.NewFile{newFile(b, captions, "WEBVTT")}))
	for _, key := range b.Objects() {
		if strings.Contains(key, string(id)) {
			t.Errorf("%s is left of a deleted video", key)
		}
	}
}

// Such a name would be that of another file, or of none.
func TestFilesOfOtherNamesAreNotPublished(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	id, task := withExtras(b, true)
	for _, name := range []string{"720p.mp4", "720p-0.jpg", "../x.vtt", "Captions.vtt", ""} {
		if err := b.PublishFiles(t.Context(), task, b.Video(id), []pipeline.NewFile{newFile(b, name, "text")}); err == nil {
			t.Errorf("%q was published", name)
		}
	}
	if files := b.Video(id).Files; len(files) > 0 {
		t.Errorf("%v are listed", files)
	}
}

// What follows after a pass may be of several kinds: the end of one is not that of the others.
func TestTheSourceIsKeptForAllThatFollowsAPass(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Measuring, func(c *servicetest.Config) { c.KeepSource = false })
	ctx := t.Context()
	v := b.Ready(servicetest.MeasuredPlan("720p", "240p"))
	b.Must(b.Store.InTx(ctx, func(tx *store.Tx) error { return tx.InsertSteps(ctx, v.ID, []store.Step{{Kind: "of a newer version"}}) }))
	b.Must(b.StoreQuality(ctx, v.ID, nil))
	b.Must(b.Purge(ctx, v.ID))
	steps, err := b.Store.Steps(ctx, v.ID)
	if err != nil || len(steps) != 2 || !slices.Contains(b.Objects(), v.Source.Key) {
		t.Errorf("steps are %v, %v, objects %v; want the open step and the source", steps, err, b.Objects())
	}
}

// A ready film gives up its chunk files and, where the operator wants that, its source, before its
// pictures are made: they might wait for the space. What was made for them and is not listed yet stays.
func TestPicturesKeepOnlyWhatTheyMade(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) { c.Pictures, c.KeepSource = true, false })
	ctx := t.Context()
	p := servicetest.Plan("720p", "240p")
	p.Pictures = true
	v := b.Ready(p)
	staged := objects.StagedFile(v.Folder(), video.StoryboardFile)
	_, err := b.Blobs.PutFile(ctx, staged, b.File("WEBVTT"))
	b.Must(err)
	b.Must(b.Purge(ctx, v.ID))
	films := []string{objects.Playback(v, "240p.mp4"), objects.Playback(v, "720p.mp4")}
	if keys, want := b.Objects(), append(slices.Clone(films), staged); !slices.Equal(keys, want) {
		t.Errorf("objects before the pictures are made: %v; want %v", keys, want)
	}
	b.Must(b.Skip(ctx, queue.Task{Kind: queue.Pictures, Video: v.ID}))
	b.Must(b.Purge(ctx, v.ID))
	if keys := b.Objects(); !slices.Equal(keys, films) {
		t.Errorf("objects when there are no pictures: %v; want %v", keys, films)
	}
}

// Thumbnails in other formats are published for the resolutions that are still there when they are made,
// and by a task that is still wanted.
func TestThumbnailsInOtherFormats(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) { c.Pictures = true })
	ctx := t.Context()
	p := servicetest.Plan("720p", "240p")
	p.Pictures, p.Thumbnails = true, []video.Thumbnail{{}}
	v := b.Ready(p)
	task := queue.Task{Kind: queue.Pictures, Video: v.ID}
	poster := pipeline.NewFile{File: video.File{Name: "poster.webp", Kind: video.PosterKind}, Path: b.File("WEBP")}
	thumbnails := []pipeline.ThumbnailFile{
		{Rendition: v.Plan.RenditionOf("720p"), Format: video.WebP, Path: b.File("large")},
		{Rendition: v.Plan.RenditionOf("240p"), Format: video.WebP, Path: b.File("small")},
	}
	large, _ := v.Resolution("720p")
	b.Must(b.DeleteResolution(ctx, b.By, large.ID))
	b.Must(b.PublishPictures(ctx, task, v, []pipeline.NewFile{poster}, thumbnails))
	has := func(name string) bool { return slices.Contains(b.Objects(), objects.Playback(v, name)) }
	now := b.Video(v.ID)
	if _, listed := now.File("poster.webp"); !listed || !has("poster.webp") || !has("240p-0.webp") || has("720p-0.webp") {
		t.Errorf("objects are %v, files %v; want the poster and the thumbnail of the resolution that is left", b.Objects(), now.Files)
	}
	b.Must(b.Blobs.Delete(ctx, objects.Playback(v, "240p-0.webp")))
	thumbnails = []pipeline.ThumbnailFile{{Rendition: v.Plan.RenditionOf("240p"), Format: video.WebP, Path: b.File("small")}}
	b.Must(b.PublishPictures(ctx, task, v, nil, thumbnails)) // by a worker that slept
	if has("240p-0.webp") {
		t.Error("a task that is done has published something")
	}
	b.Must(b.Purge(ctx, v.ID))
	if keys := b.Objects(); slices.ContainsFunc(keys, objects.IsStagedFile) {
		t.Errorf("objects after the purge are %v", keys)
	}
}
