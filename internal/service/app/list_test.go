package app_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

func (b *bench) list(f video.Filter, limit int) app.Page {
	b.t.Helper()
	page, err := b.ListVideos(b.t.Context(), b.by, f, video.Cursor{}, limit)
	b.must(err)
	return page
}

// TestAListTellsWhatReadsTell holds every entry of a list against the read of
// its video, in all states.
func TestAListTellsWhatReadsTell(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(video.Draft{Metadata: json.RawMessage(`{"a":1}`)})
	b.pass(time.Second)
	b.processing(video.Draft{})
	b.pass(time.Second)
	atWork := b.processing(video.Draft{})
	b.transcode(atWork.ID, plan("720p", "240p"))
	b.publish(atWork.ID, 1)
	b.pass(time.Second)
	b.ready(plan("720p", "240p"))
	b.pass(time.Second)
	failed := b.processing(video.Draft{})
	b.must(b.GiveUp(t.Context(), failed.ID, video.Failf(video.Corrupt, "It is damaged.")))

	page := b.list(video.Filter{}, 100)
	if len(page.Videos) != 5 || page.Next != (video.Cursor{}) {
		t.Fatalf("%d videos, next %v; want 5 and none", len(page.Videos), page.Next)
	}
	var ids []video.ID
	for _, listed := range page.Videos {
		ids = append(ids, listed.Video.ID)
	}
	states, err := b.VideoStates(t.Context(), ids)
	b.must(err)
	for _, listed := range page.Videos {
		if diff := cmp.Diff(listed, states[listed.Video.ID]); diff != "" {
			t.Errorf("a video that is %s (-listed +told to those who follow it):\n%s", listed.Video.Status, diff)
		}
		read, err := b.VideoState(t.Context(), b.by, listed.Video.ID)
		b.must(err)
		if read.Video.Status != video.Processing {
			read.Video.Plan = nil // is not listed
		}
		if diff := cmp.Diff(read, listed); diff != "" {
			t.Errorf("a video that is %s (-read +listed):\n%s", read.Video.Status, diff)
		}
	}
	half := page.Videos[2]
	if half.Video.ID != atWork.ID || half.Progress <= 0.5 || half.Progress >= 1 || half.Resolutions[0].Progress >= 1 || half.Resolutions[1].Progress != 1 {
		t.Errorf("a video with one of two resolutions is listed as %+v", half)
	}
	if n := len(b.list(video.Filter{Status: video.Fail}, 100).Videos); n != 1 {
		t.Errorf("%d failed videos are listed, want 1", n)
	}
}

func TestAListIsForThoseWhoMayRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	up := b.create(video.Draft{})
	for _, scope := range []app.Scope{app.Write, app.Delete} {
		by := b.actor(app.Key{Scopes: []app.Scope{scope}})
		_, err := b.ListVideos(t.Context(), by, video.Filter{}, video.Cursor{}, 1)
		wantCode(t, err, video.Forbidden, "insufficient_scope")
		_, err = b.VideoState(t.Context(), by, up.Video.ID)
		wantCode(t, err, video.Forbidden, "insufficient_scope")
	}
	stranger := b.actor(app.Key{Tenant: "acme"})
	if page, err := b.ListVideos(t.Context(), stranger, video.Filter{}, video.Cursor{}, 1); err != nil || len(page.Videos) > 0 {
		t.Errorf("another tenant is told %v, %v", page, err)
	}
	_, err := b.VideoState(t.Context(), stranger, up.Video.ID)
	wantCode(t, err, video.NotFound, "video_not_found")
	b.must(b.DeleteVideo(t.Context(), b.by, up.Video.ID))
	if page := b.list(video.Filter{}, 1); len(page.Videos) > 0 {
		t.Errorf("a deleted video is listed: %v", page)
	}
	_, err = b.VideoState(t.Context(), b.by, up.Video.ID)
	wantCode(t, err, video.NotFound, "video_not_found")
}
