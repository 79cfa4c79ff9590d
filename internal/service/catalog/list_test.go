package catalog_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func list(b *servicetest.Rig, f video.Filter, limit int) catalog.Page {
	b.T.Helper()
	page, err := b.Catalog.List(b.T.Context(), b.By, f, video.Cursor{}, limit)
	b.Must(err)
	return page
}

// TestAListAgreesWithReads holds every entry of a list against the read of
// its video, in all states.
func TestAListAgreesWithReads(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	b.Create(video.Draft{Metadata: json.RawMessage(`{"a":1}`)})
	b.Advance(time.Second)
	b.Processing(video.Draft{})
	b.Advance(time.Second)
	atWork := b.Processing(video.Draft{})
	b.Transcode(atWork.ID, servicetest.Plan("720p", "240p"))
	b.Publish(atWork.ID, 1)
	b.Advance(time.Second)
	b.Ready(servicetest.Plan("720p", "240p"))
	b.Advance(time.Second)
	failed := b.Processing(video.Draft{})
	b.Must(b.GiveUpVideo(t.Context(), failed.ID, video.Failf(video.Corrupt, "It is damaged.")))

	page := list(b, video.Filter{}, 100)
	if len(page.Videos) != 5 || page.Next != (video.Cursor{}) {
		t.Fatalf("%d videos, next %v; want 5 and none", len(page.Videos), page.Next)
	}
	var ids []video.ID
	for _, listed := range page.Videos {
		ids = append(ids, listed.Video.ID)
	}
	states, err := b.Catalog.States(t.Context(), ids)
	b.Must(err)
	for _, listed := range page.Videos {
		if diff := cmp.Diff(listed, states[listed.Video.ID]); diff != "" {
			t.Errorf("a video that is %s (-listed +told to those who follow it):\n%s", listed.Video.Status, diff)
		}
		read, err := b.Catalog.State(t.Context(), b.By, listed.Video.ID)
		b.Must(err)
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
	if r := half.Resolutions; r[0].Width != 1440 || r[0].Height != 720 || r[1].Width != 2 || r[1].Height != 2 {
		t.Errorf("its resolutions are listed as %+v; want the planned size of one and the real one of the other", r)
	}
	if r := page.Videos[3].Resolutions[0]; r.Width != 0 || r.Height != 0 {
		t.Errorf("before the inspection, a resolution has the size %d × %d", r.Width, r.Height)
	}
	if n := len(list(b, video.Filter{Status: video.Fail}, 100).Videos); n != 1 {
		t.Errorf("%d failed videos are listed, want 1", n)
	}
}

func TestAListIsForThoseWhoMayRead(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{})
	for _, scope := range []auth.Scope{auth.Write, auth.Delete} {
		by := b.Actor(auth.Key{Scopes: []auth.Scope{scope}})
		_, err := b.Catalog.List(t.Context(), by, video.Filter{}, video.Cursor{}, 1)
		servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
		_, err = b.Catalog.State(t.Context(), by, up.Video.ID)
		servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
	}
	stranger := b.Actor(auth.Key{Tenant: "acme"})
	if page, err := b.Catalog.List(t.Context(), stranger, video.Filter{}, video.Cursor{}, 1); err != nil || len(page.Videos) > 0 {
		t.Errorf("another tenant is told %v, %v", page, err)
	}
	_, err := b.Catalog.State(t.Context(), stranger, up.Video.ID)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
	b.Must(b.DeleteVideo(t.Context(), b.By, up.Video.ID))
	if page := list(b, video.Filter{}, 1); len(page.Videos) > 0 {
		t.Errorf("a deleted video is listed: %v", page)
	}
	_, err = b.Catalog.State(t.Context(), b.By, up.Video.ID)
	servicetest.WantCode(t, err, video.NotFound, "video_not_found")
}

// Of two videos that wait, the one whose file came first is processed first. Another tenant's does not count.
func TestPlacesOfVideosThatWait(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	up := b.Create(video.Draft{}) // first, but its file comes later
	late := up.Video.ID
	b.Advance(time.Second)
	first := b.Processing(video.Draft{}).ID
	b.Advance(time.Second)
	b.Put(up, servicetest.LikeVideo)
	_, err := b.Uploads.Complete(t.Context(), b.By, late)
	b.Must(err)
	want := func(id video.ID, place int) {
		t.Helper()
		s, err := b.Catalog.State(t.Context(), b.By, id)
		b.Must(err)
		if s.Ahead == nil {
			t.Errorf("it does not wait, want %d ahead", place)
		} else if *s.Ahead != place {
			t.Errorf("%d videos are ahead, want %d", *s.Ahead, place)
		}
	}
	want(first, 0)
	want(late, 1)
	b.Must(b.GiveUpVideo(t.Context(), first, video.Failf(video.Corrupt, "It is damaged.")))
	want(late, 0)
	b.Transcode(late, servicetest.Plan("720p"))
	if s, err := b.Catalog.State(t.Context(), b.By, late); err != nil || s.Ahead != nil {
		t.Errorf("a video whose work has begun has %v ahead, %v", s.Ahead, err)
	}
}
