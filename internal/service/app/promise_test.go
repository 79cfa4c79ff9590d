package app_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

// wantRepeated asks again with the same draft, and wants the same video.
func (b *bench) wantRepeated(d video.Draft, first app.Upload) app.Upload {
	b.t.Helper()
	again := b.create(d)
	if !again.Repeated || again.Video.ID != first.Video.ID || len(again.Video.Resolutions) != len(first.Video.Resolutions) {
		b.t.Errorf("asked again: %+v; want video %s", again, first.Video.ID)
	}
	return again
}

func (b *bench) wantAnew(d video.Draft, first app.Upload) app.Upload {
	b.t.Helper()
	again := b.create(d)
	if again.Repeated || again.Video.ID == first.Video.ID {
		b.t.Errorf("asked again: %+v; want a new video", again)
	}
	return again
}

func TestRepeatedRequestMakesOneVideo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := video.Draft{Key: "order 17", Metadata: json.RawMessage(`{"a": 1}`)}
	first := b.create(draft)
	if first.Repeated {
		t.Error("the first request is taken for a repeated one")
	}
	b.pass(30 * time.Minute)
	again := b.wantRepeated(draft, first)
	if want := first.Video.UploadExpiresAt.Add(30 * time.Minute); !again.Video.UploadExpiresAt.Equal(want) {
		t.Errorf("the address of the repeated request lives until %v; want %v", again.Video.UploadExpiresAt, want)
	}
	b.pass(50 * time.Minute) // the first address is dead, the second lives
	b.put(again, beginsLikeVideo)
	if _, err := b.CompleteUpload(t.Context(), b.by, again.Video.ID); err != nil {
		t.Fatal(err)
	}
	late := b.wantRepeated(draft, first)
	if late.Video.Status != video.Processing {
		t.Errorf("the repeated request shows status %s; want processing", late.Video.Status)
	}
	b.wantAnew(video.Draft{Key: "order 18", Metadata: draft.Metadata}, first)
}

func TestRepeatedRequestIsForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := video.Draft{Key: "k"}
	first := b.create(draft)
	if err := b.DeleteVideo(t.Context(), b.by, first.Video.ID); err != nil {
		t.Fatal(err)
	}
	second := b.wantAnew(draft, first) // the video is gone, and may be made again
	b.wantRepeated(draft, second)
	b.pass(25 * time.Hour)
	third := b.wantAnew(draft, second)
	b.wantRepeated(draft, third)
}

func TestKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	draft := video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"720p"}, Key: "k"}
	first := b.create(draft)
	other := draft
	other.IsPublic = true
	_, err := b.CreateVideo(t.Context(), b.by, other, base)
	wantCode(t, err, video.Conflict, "idempotency_conflict")
	b.wantRepeated(draft, first)

	stranger := b.by
	stranger.Tenant = "somebody else"
	up, err := b.CreateVideo(t.Context(), stranger, other, base)
	if err != nil || up.Repeated || up.Video.ID == first.Video.ID {
		t.Errorf("another tenant's request with the same key: %+v, %v; want a video of its own", up, err)
	}
}

func TestRepeatedRequestsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var mu sync.Mutex
	made := map[video.ID]int{}
	firsts := 0
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			up, err := b.CreateVideo(t.Context(), b.by, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"720p"}, Key: "k"}, base)
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
