package catalog_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// wantRepeated asks again with the same draft, and wants the same video.
func wantRepeated(b *servicetest.Rig, d video.Draft, first catalog.Upload) catalog.Upload {
	b.T.Helper()
	again := b.Create(d)
	if !again.Repeated || again.Video.ID != first.Video.ID || len(again.Video.Resolutions) != len(first.Video.Resolutions) {
		b.T.Errorf("asked again: %+v; want video %s", again, first.Video.ID)
	}
	return again
}

func wantAnew(b *servicetest.Rig, d video.Draft, first catalog.Upload) catalog.Upload {
	b.T.Helper()
	again := b.Create(d)
	if again.Repeated || again.Video.ID == first.Video.ID {
		b.T.Errorf("asked again: %+v; want a new video", again)
	}
	return again
}

func TestRepeatedRequestMakesOneVideo(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	draft := video.Draft{Key: "order 17", Metadata: json.RawMessage(`{"a": 1}`)}
	first := b.Create(draft)
	if first.Repeated {
		t.Error("the first request is taken for a repeated one")
	}
	b.Advance(30 * time.Minute)
	again := wantRepeated(b, draft, first)
	if want := first.Video.UploadExpiresAt.Add(30 * time.Minute); !again.Video.UploadExpiresAt.Equal(want) {
		t.Errorf("the address of the repeated request lives until %v; want %v", again.Video.UploadExpiresAt, want)
	}
	b.Advance(50 * time.Minute) // the first address is dead, the second lives
	b.Put(again, servicetest.LikeVideo)
	if _, err := b.Uploads.Complete(t.Context(), b.By, again.Video.ID); err != nil {
		t.Fatal(err)
	}
	late := wantRepeated(b, draft, first)
	if late.Video.Status != video.Processing {
		t.Errorf("the repeated request shows status %s; want processing", late.Video.Status)
	}
	wantAnew(b, video.Draft{Key: "order 18", Metadata: draft.Metadata}, first)
}

func TestRepeatedRequestIsForgotten(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	draft := video.Draft{Key: "k"}
	first := b.Create(draft)
	if err := b.DeleteVideo(t.Context(), b.By, first.Video.ID); err != nil {
		t.Fatal(err)
	}
	second := wantAnew(b, draft, first) // the video is gone, and may be made again
	wantRepeated(b, draft, second)
	b.Advance(25 * time.Hour)
	third := wantAnew(b, draft, second)
	wantRepeated(b, draft, third)
}

func TestKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	draft := video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"720p"}, Key: "k"}
	first := b.Create(draft)
	other := draft
	other.IsPublic = true
	_, err := b.Catalog.Create(t.Context(), b.By, other, servicetest.Base)
	servicetest.WantCode(t, err, video.Conflict, "idempotency_conflict")
	wantRepeated(b, draft, first)

	stranger := b.By
	stranger.Tenant = "somebody else"
	up, err := b.Catalog.Create(t.Context(), stranger, other, servicetest.Base)
	if err != nil || up.Repeated || up.Video.ID == first.Video.ID {
		t.Errorf("another tenant's request with the same key: %+v, %v; want a video of its own", up, err)
	}
}

func TestRepeatedRequestsAtOnce(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	var mu sync.Mutex
	made := map[video.ID]int{}
	firsts := 0
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			up, err := b.Catalog.Create(t.Context(), b.By, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"720p"}, Key: "k"}, servicetest.Base)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			made[up.Video.ID]++
			if !up.Repeated {
				firsts++
			}
		})
	}
	clients.Wait()
	if len(made) != 1 || firsts != 1 {
		t.Errorf("8 requests made %v, %d of them as the first; want one video", made, firsts)
	}
}
