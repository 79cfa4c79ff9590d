package janitor_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestDeleteVideoAtEveryStage(t *testing.T) {
	t.Parallel()
	stages := []struct {
		name  string
		reach func(b *servicetest.Rig) video.ID
	}{
		{"created", func(b *servicetest.Rig) video.ID { return b.Create(video.Draft{IsPublic: true}).Video.ID }},
		{"uploaded", func(b *servicetest.Rig) video.ID {
			up := b.Create(video.Draft{IsPublic: true})
			b.Put(up, servicetest.LikeVideo)
			return up.Video.ID
		}},
		{"accepted", func(b *servicetest.Rig) video.ID { return b.Processing(video.Draft{IsPublic: true}).ID }},
		{"encoded", func(b *servicetest.Rig) video.ID {
			v := b.Processing(video.Draft{IsPublic: true})
			b.Transcode(v.ID, servicetest.Plan("720p", "240p"))
			return v.ID
		}},
		{"half published", func(b *servicetest.Rig) video.ID {
			v := b.Processing(video.Draft{IsPublic: true})
			b.Transcode(v.ID, servicetest.Plan("720p", "240p"))
			b.Publish(v.ID, 0)
			return v.ID
		}},
	}
	for _, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := servicetest.New(t)
			id := s.reach(b)
			b.Must(b.DeleteVideo(t.Context(), b.By, id))

			_, err := b.Catalog.Public(t.Context(), b.By, id, servicetest.Base)
			servicetest.WantCode(t, err, video.NotFound, "video_not_found")
			_, err = b.OpenPublic(t.Context(), id, "720p.mp4")
			servicetest.WantCode(t, err, video.NotFound, "not_found")
			servicetest.WantCode(t, b.DeleteVideo(t.Context(), b.By, id), video.NotFound, "video_not_found")
			if keys := b.Objects(); len(keys) != 0 {
				t.Errorf("objects left: %v", keys)
			}
			if n := b.Waiting(); n[queue.Inspect]+n[queue.Encode]+n[queue.Audio]+n[queue.Assemble] != 0 {
				t.Errorf("tasks left: %v", n)
			}
		})
	}
}

func TestWorkThatEndsAfterADeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Processing(video.Draft{IsPublic: true})
	b.Must(b.StorePlan(ctx, v.ID, servicetest.Plan("720p", "240p")))
	v = b.Video(v.ID)
	b.Must(b.DeleteVideo(ctx, b.By, v.ID))

	b.Must(b.FinishChunk(ctx, queue.Task{Kind: queue.Encode, Video: v.ID}, v, []pipeline.ChunkFile{{Path: b.File("late"), Frames: 1}}))
	b.Must(b.FinishAudio(ctx, queue.Task{Kind: queue.Audio, Video: v.ID}, v, pipeline.AudioFile{Path: b.File("late"), Packets: 1}))
	b.Must(b.PublishRendition(ctx, v, 0, pipeline.RenditionFile{Path: b.File("late")}))
	b.Must(b.PublishThumbnails(ctx, v, []pipeline.ThumbnailFile{{Path: b.File("late")}}))
	b.Must(b.GiveUpVideo(ctx, v.ID, video.Failf(video.Corrupt, "Too late.")))
	if keys := b.Objects(); len(keys) != 0 {
		t.Errorf("objects left: %v", keys)
	}
	if wanted, err := b.Progress(ctx, queue.Task{Kind: queue.Encode, Video: v.ID}, 0.5); wanted || err != nil {
		t.Errorf("progress of a deleted video is wanted = %t, %v", wanted, err)
	}
}

// A deletion and a publication race: whoever comes first, no file can be played
// once the deletion has been confirmed.
func TestDeletionBeatsPublication(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	for range 20 {
		v := b.Processing(video.Draft{IsPublic: true})
		b.Transcode(v.ID, servicetest.Plan("720p", "240p"))
		rendition := pipeline.RenditionFile{Path: b.File(servicetest.Rendition)}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := b.PublishRendition(t.Context(), v, 0, rendition); err != nil && !strings.Contains(err.Error(), "no such file") {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := b.DeleteVideo(t.Context(), b.By, v.ID); err != nil {
				t.Error(err)
			}
			if o, err := b.OpenPublic(t.Context(), v.ID, "720p.mp4"); err == nil {
				o.Close()
				t.Error("the rendition can be played after its deletion")
			}
		})
		wg.Wait()
	}
	report, err := b.Sweep(t.Context())
	b.Must(err)
	if keys := b.Objects(); len(keys) != 0 {
		t.Errorf("after a sweep (%+v) objects are left: %v", report, keys)
	}
}

func TestInterruptedDeletionIsFinished(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"task", "housekeeping"} {
		b := servicetest.New(t)
		v := b.Processing(video.Draft{IsPublic: true})
		b.Transcode(v.ID, servicetest.Plan("720p", "240p"))
		b.Publish(v.ID, 0)
		// What a crash right after the first transaction leaves behind.
		b.Must(b.Store.InTx(t.Context(), func(tx *store.Tx) error { return tx.MarkDeleted(t.Context(), v.ID, b.Now()) }))
		_, err := b.Catalog.Public(t.Context(), b.By, v.ID, servicetest.Base)
		servicetest.WantCode(t, err, video.NotFound, "video_not_found")
		if how == "task" {
			b.Must(b.Purge(t.Context(), v.ID))
		} else {
			b.Must(b.FinishDeletions(t.Context()))
		}
		if keys := b.Objects(); len(keys) != 0 {
			t.Errorf("%s left %v", how, keys)
		}
		if _, err := b.Store.Video(context.Background(), v.ID); video.KindOf(err) != video.NotFound {
			t.Errorf("%s left the row: %v", how, err)
		}
	}
}

func TestDeleteResolution(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Processing(video.Draft{IsPublic: true})
	b.Transcode(v.ID, servicetest.Plan("720p", "240p"))
	b.Publish(v.ID, 0)

	// 240p is unfinished: without it, all that is left is ready.
	b.Must(b.DeleteResolution(ctx, b.By, v.Resolutions[1].ID))
	w, err := b.Catalog.Public(ctx, b.By, v.ID, servicetest.Base)
	b.Must(err)
	if w.Video.Status != video.Ready || len(w.Resolutions) != 1 {
		t.Fatalf("video = %s with %d resolutions; want ready with 720p", w.Video.Status, len(w.Resolutions))
	}
	b.Must(b.PublishRendition(ctx, v, 1, pipeline.RenditionFile{Path: b.File("late")})) // its worker was just about to finish
	_, err = b.OpenPublic(ctx, v.ID, "240p.mp4")
	servicetest.WantCode(t, err, video.NotFound, "not_found")
	servicetest.WantCode(t, b.DeleteResolution(ctx, b.By, v.Resolutions[1].ID), video.NotFound, "resolution_not_found")

	b.Must(b.DeleteResolution(ctx, b.By, v.Resolutions[0].ID))
	w, err = b.Catalog.Public(ctx, b.By, v.ID, servicetest.Base)
	b.Must(err)
	if w.Video.Status != video.Ready || len(w.Resolutions) != 0 {
		t.Errorf("video = %s with %d resolutions; want ready with none", w.Video.Status, len(w.Resolutions))
	}
	b.Must(b.Purge(ctx, v.ID))
	if keys := b.Objects(); !slices.Equal(keys, []string{b.Video(v.ID).Source.Key}) {
		t.Errorf("objects = %v; want the source alone", keys)
	}
}

func TestDeletingEveryProcessingResolutionEndsTheWork(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true})
	b.Must(b.StorePlan(t.Context(), v.ID, servicetest.Plan("720p", "240p")))
	for _, r := range v.Resolutions {
		b.Must(b.DeleteResolution(t.Context(), b.By, r.ID))
	}
	if got := b.Video(v.ID); got.Status != video.Fail || got.Failure == nil {
		t.Errorf("video = %s %v; want fail with a reason", got.Status, got.Failure)
	}
	if n := b.Waiting(); n[queue.Encode]+n[queue.Audio] != 0 {
		t.Errorf("tasks left: %v", n)
	}
}

// A client that leaves in the middle of a deletion does not stop it.
func TestADeletionGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		b := servicetest.New(t)
		v := b.Processing(video.Draft{IsPublic: true, Resolutions: []video.Name{"240p"}})
		b.Transcode(v.ID, servicetest.Plan("240p"))
		b.Publish(v.ID, 0)
		ctx, leave := context.WithCancel(t.Context())
		b.OnPoint = func(p failpoint.Point) {
			if p == failpoint.VideoDeleted || p == failpoint.ResolutionGone {
				leave()
			}
		}
		if whole {
			b.Must(b.DeleteVideo(ctx, b.By, v.ID))
		} else {
			b.Must(b.DeleteResolution(ctx, b.By, v.Resolutions[0].ID))
		}
		if ctx.Err() == nil {
			t.Fatal("the client has not left")
		}
		_, err := b.OpenPublic(t.Context(), v.ID, "240p.mp4")
		servicetest.WantCode(t, err, video.NotFound, "not_found")
	}
}

// The rows of a video stay until its objects are removed, which may take long. What searches find, and a URL that may
// hold a password, go at once.
func TestADeletionTakesLabelsAndURLsAtOnce(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Create(video.Draft{Metadata: []byte(`{"album":"holiday"}`)}).Video
	b.Must(b.Store.InTx(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "insert import", `INSERT INTO video_import (video_id, url) VALUES ($1, 'https://user:secret@example.com')`, v.ID)
		return err
	}))
	left := -1
	b.OnPoint = func(p failpoint.Point) {
		if p == failpoint.VideoDeleted {
			b.Must(b.Store.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM metadata_index) + (SELECT count(*) FROM video_import)`).Scan(&left))
		}
	}
	b.Must(b.DeleteVideo(t.Context(), b.By, v.ID))
	if left != 0 {
		t.Errorf("after the deletion was committed there are %d labels and URLs", left)
	}
}

func TestADeletionTakesThePartsOfAnUpload(t *testing.T) {
	t.Parallel()
	p := &partly{}
	b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { p.Store = s; return p }, servicetest.Resumable)
	up := b.Create(video.Draft{})
	p.parts = map[string]time.Time{"upload/" + string(up.Video.ID) + "/file": b.Now()}
	stopped := make(chan struct{})
	lease, err := b.Leases.Acquire(t.Context(), up.Video.ID, func() { close(stopped) })
	b.Must(err)
	defer lease.Release()
	b.Must(b.DeleteVideo(t.Context(), b.By, up.Video.ID))
	<-stopped
	if len(p.parts) > 0 {
		t.Errorf("after the deletion there are the parts %v", p.parts)
	}
}
