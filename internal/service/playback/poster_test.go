package playback_test

import (
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func posterPlan(names ...video.Name) *video.Plan {
	p := servicetest.Plan(names...)
	p.Poster = &video.Poster{Width: 2, Height: 2, Frames: []video.PosterFrame{{Seek: video.NoSeek}}}
	return p
}

// finishPass plays the part of the workers, but for the poster.
func finishPass(b *servicetest.Rig, id video.ID, poster func(queue.Task) error) {
	b.T.Helper()
	v := b.Video(id)
	p := posterPlan(v.Unplanned()...)
	b.Transcode(id, p)
	b.Must(poster(queue.Task{Kind: queue.Poster, Video: id}))
	for n := range p.Renditions {
		b.Publish(id, b.Video(id).Plan.First+n)
	}
}

// A poster is announced from the start, and is not ready until it is made or given up.
func TestThePosterOfAVideo(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	check := func(id video.ID, when, code string, told bool) {
		t.Helper()
		o, err := b.OpenPublic(ctx, id, video.PosterFile)
		if err == nil {
			servicetest.ReadAll(t, o)
		}
		if got := servicetest.CodeOf(err); got != code {
			t.Errorf("%s, the poster answers %q; want %q", when, got, code)
		}
		v := b.Video(id)
		want := ""
		if told {
			want = "http://x/v/" + string(id) + "/" + video.PosterFile
		}
		got := ""
		for _, f := range playback.PublicURLs(v, playback.NewBase("http://x", "")).Files {
			if f.Name == video.PosterFile {
				got += f.URL
			}
		}
		if got != want {
			t.Errorf("%s, its address is %q; want %q", when, got, want)
		}
	}
	up := b.Create(video.Draft{IsPublic: true})
	check(up.Video.ID, "before the upload", "not_ready", true)
	b.Put(up, servicetest.LikeVideo)
	_, err := b.Uploads.Complete(ctx, b.By, up.Video.ID)
	b.Must(err)
	id := up.Video.ID
	check(id, "before the inspection", "not_ready", true)
	finishPass(b, id, func(task queue.Task) error {
		check(id, "before it is made", "not_ready", true)
		b.Must(b.Skip(ctx, task))
		check(id, "after it was given up", "not_found", true)
		return nil
	})
	check(id, "without one", "not_found", false)

	b.Add(id, "480p") // another pass tries again
	check(id, "before another pass", "not_ready", true)
	finishPass(b, id, func(task queue.Task) error {
		return b.PublishFiles(ctx, task, b.Video(id), []pipeline.NewFile{{File: video.File{Name: video.PosterFile, Kind: video.PosterKind}, Path: b.File("jpeg")}})
	})
	check(id, "when it is made", "", true)

	b.Add(id, "360p") // one that is there stays
	b.Must(b.StorePlan(ctx, id, posterPlan("360p")))
	if _, wanted, err := b.LoadTask(ctx, queue.Task{Kind: queue.Poster, Video: id}); wanted || err != nil {
		t.Errorf("another poster is wanted: %t, %v", wanted, err)
	}
	check(id, "in another pass", "", true)
	b.Must(b.DeleteVideo(ctx, b.By, id))
	_, err = b.OpenPublic(ctx, id, video.PosterFile)
	servicetest.WantCode(t, err, video.NotFound, "not_found")
	_, err = b.OpenPublic(ctx, b.Create(video.Draft{}).Video.ID, video.PosterFile) // of a private video
	servicetest.WantCode(t, err, video.NotFound, "not_found")
}
