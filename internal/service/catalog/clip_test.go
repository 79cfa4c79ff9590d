package catalog_test

import (
	"bytes"
	"testing"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/watermarks"
	"github.com/spool-video/spool/internal/video"
)

// clipOf is the draft of a clip of a video.
func clipOf(v video.Video, from, to float64) video.Draft {
	return video.Draft{Resolutions: []video.Name{"240p"}, Clip: &video.Clip{Video: v.ID, Start: from, End: to}}
}

// wantNoClip wants a clip to be refused, and no video to be left of it.
func wantNoClip(b *servicetest.Rig, by auth.Actor, d video.Draft, kind video.Kind, code string) {
	b.T.Helper()
	count := func() int64 {
		usage, err := b.Tenants.Usage(b.T.Context(), b.By)
		b.Must(err)
		return usage.Videos
	}
	before := count()
	_, err := b.Catalog.Create(b.T.Context(), by, d, servicetest.Base)
	servicetest.WantCode(b.T, err, kind, code)
	if got := count(); got != before {
		b.T.Errorf("a clip that is refused leaves %d videos, before there were %d", got, before)
	}
}

func TestWhoMayMakeClips(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	film := b.Ready(servicetest.Plan("720p", "240p"))
	wantNoClip(b, b.Actor(auth.Key{Scopes: []auth.Scope{auth.Write}}), clipOf(film, 1, 2), video.Forbidden, "insufficient_scope")
	wantNoClip(b, b.Actor(auth.Key{Scopes: []auth.Scope{auth.Read}}), clipOf(film, 1, 2), video.Forbidden, "insufficient_scope")
	wantNoClip(b, b.Actor(auth.Key{Tenant: "acme"}), clipOf(film, 1, 2), video.NotFound, "video_not_found")
	wantNoClip(b, b.By, clipOf(film, 1, 40.2), video.Invalid, "invalid_request")
	wantNoClip(b, b.By, clipOf(b.Processing(video.Draft{}), 1, 2), video.Conflict, "not_clippable") // not inspected yet

	_, err := b.Tenants.SetLimits(t.Context(), b.By.Tenant, func(l *video.Limits) { l.Bytes = 2*film.Source.Size + 1 })
	b.Must(err)
	wantNoClip(b, b.By, clipOf(film, 1, 2), video.Forbidden, "quota_exceeded")
}

// A clip has a file of its own, so that its original can be deleted while the clip waits. A request that is repeated
// afterwards has the same answer.
func TestAClipOutlivesItsOriginal(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	film := b.Processing(video.Draft{Filename: "Film.mov", Title: "A film"}) // private
	b.Transcode(film.ID, servicetest.Plan("720p", "240p"))
	draft := clipOf(film, 1, 2)
	draft.Key = "clip 1"
	first, err := b.Catalog.Create(t.Context(), b.By, draft, servicetest.Base)
	b.Must(err)
	v := b.Video(first.Video.ID)
	if v.Status != video.Processing || first.URL != "" || v.Filename != "Film.mov" || v.Title != "A film" || *v.Trim != (video.Trim{Start: 1, End: 2}) {
		t.Errorf("the clip is %+v with the part %v, to be uploaded to %q", v, v.Trim, first.URL)
	}
	b.Must(b.DeleteVideo(t.Context(), b.By, film.ID))
	o, err := b.Blobs.Open(t.Context(), v.Source.Key)
	b.Must(err)
	defer o.Close()
	if got := servicetest.ReadAll(t, o); !bytes.Equal([]byte(got), servicetest.LikeVideo) {
		t.Errorf("when its original is deleted, the file of the clip has %d bytes", len(got))
	}
	again, err := b.Catalog.Create(t.Context(), b.By, draft, servicetest.Base)
	if err != nil || !again.Repeated || again.Video.ID != v.ID {
		t.Errorf("asked again, the answer is %+v, %v; want the clip", again, err)
	}
	other := draft
	other.IsPublic = true
	wantNoClip(b, b.By, other, video.Conflict, "idempotency_conflict")
	b.Must(b.DeleteVideo(t.Context(), b.By, v.ID))
	wantNoClip(b, b.By, draft, video.NotFound, "video_not_found")
}

// A clip looks like its original, also where the watermark of that is in the only file that is left.
func TestTheWatermarkOfAClip(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	mark, err := b.Watermarks.Add(t.Context(), b.By, "", watermarks.Picture{PNG: []byte("png"), Width: 2, Height: 1})
	b.Must(err)
	film := b.Processing(video.Draft{Watermark: &video.WatermarkChoice{ID: mark.ID, Width: new(0.5)}})
	b.Transcode(film.ID, servicetest.Plan("720p", "240p"))
	for n := range 2 {
		b.Publish(film.ID, n)
	}
	film = b.Video(film.ID)
	clip := clipOf(film, 1, 2)
	if got := b.Create(clip).Video.Watermark; got == nil || *got != *film.Watermark {
		t.Errorf("a clip has the watermark %+v; want %+v", got, film.Watermark)
	}
	b.Must(b.Blobs.Delete(t.Context(), film.Source.Key))
	if got := b.Create(clip).Video.Watermark; got != nil {
		t.Errorf("a clip of a rendition has the watermark %+v once more", got)
	}
	clip.Watermark = &video.WatermarkChoice{ID: mark.ID}
	if got := b.Create(clip).Video.Watermark; got == nil || got.Width != 0.15 {
		t.Errorf("a clip that chooses one has the watermark %+v", got)
	}
}

// Without its source, a video is clipped from its largest file, which begins where the video does.
func TestAClipOfAFileWithoutASource(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	plan := servicetest.Plan("720p", "240p")
	plan.FirstPTS, plan.Part = 5000, &video.Part{Origin: 1000, Until: 9000}
	film := b.Ready(plan)
	if v := b.Create(clipOf(film, 1, 2)).Video; *v.Trim != (video.Trim{Start: 5, End: 6}) {
		t.Errorf("a clip of a part that begins at 4 s is %v of its file", v.Trim)
	}
	b.Must(b.Blobs.Delete(t.Context(), film.Source.Key))
	v := b.Create(clipOf(film, 1, 2)).Video
	if *v.Trim != (video.Trim{Start: 1, End: 2}) || b.Video(v.ID).Source.Size != int64(len(servicetest.Rendition)) {
		t.Errorf("without the source it is %v of a file of %d bytes", v.Trim, b.Video(v.ID).Source.Size)
	}
}
