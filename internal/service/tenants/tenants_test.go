package tenants_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// size is that of the file which a rig uploads.
var size = int64(len(servicetest.LikeVideo))

// limit sets the limits of the rig's tenant.
func limit(b *servicetest.Rig, l video.Limits) {
	b.T.Helper()
	_, err := b.Tenants.SetLimits(b.T.Context(), b.By.Tenant, func(now *video.Limits) { *now = l })
	b.Must(err)
}

// uses checks what the rig's tenant uses, beside film.
func uses(b *servicetest.Rig, videos, bytes, inWork int64) {
	b.T.Helper()
	u, err := b.Tenants.Usage(b.T.Context(), b.By)
	if err != nil || u.Videos != videos || u.Bytes != bytes || u.InWork != inWork {
		b.T.Errorf("the tenant uses %+v, %v; want %d videos, %d bytes, %d in work", u, err, videos, bytes, inWork)
	}
}

// refused checks that err is quota_exceeded and says this.
func refused(b *servicetest.Rig, err error, sentence string) {
	b.T.Helper()
	servicetest.WantCode(b.T, err, video.Forbidden, "quota_exceeded")
	if e, _ := errors.AsType[*video.Error](err); !strings.HasPrefix(e.Msg, sentence) {
		b.T.Errorf("the error says %q; want %q", e.Msg, sentence)
	}
}

func create(b *servicetest.Rig, key string) (catalog.Upload, error) {
	d := video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"240p"}, Key: key}
	return b.Catalog.Create(b.T.Context(), b.By, d, servicetest.Base)
}

func TestMaxVideos(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	limit(b, video.Limits{Videos: 2})
	first, err := create(b, "")
	b.Must(err)
	second, err := create(b, "same")
	b.Must(err)
	_, err = create(b, "")
	refused(b, err, "The limit max-videos is reached: 2 of 2 videos are used.")
	_, err = create(b, "other")
	refused(b, err, "The limit max-videos is reached")
	if again, err := create(b, "same"); err != nil || again.Video.ID != second.Video.ID {
		t.Errorf("a repeated request gets %s, %v; want the video that it made", again.Video.ID, err)
	}
	uses(b, 2, 0, 0)
	b.Must(b.DeleteVideo(t.Context(), b.By, first.Video.ID))
	uses(b, 1, 0, 0)
	_, err = create(b, "other") // what was refused left nothing
	b.Must(err)

	other := b.Actor(auth.Key{Tenant: "acme"})
	if _, err := b.Catalog.Create(t.Context(), other, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"240p"}}, servicetest.Base); err != nil {
		t.Errorf("another tenant is refused: %v", err)
	}
}

func TestAFailedUploadGivesItsPlaceBack(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	limit(b, video.Limits{Videos: 1})
	up, err := create(b, "")
	b.Must(err)
	_, err = b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	servicetest.WantCode(t, err, video.Unprocessable, "upload_missing")
	uses(b, 0, 0, 0)
	_, err = create(b, "")
	b.Must(err)
	b.Put(up, servicetest.LikeVideo) // now the first would be the second
	_, err = b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	refused(b, err, "The limit max-videos is exceeded: there are 2 videos with this one, and 1 are allowed.")
	uses(b, 1, size, 0)
	b.Advance(26 * time.Hour) // both addresses are dead, and a day is over
	_, err = b.ExpireUploads(t.Context())
	b.Must(err)
	_, err = b.Sweep(t.Context())
	b.Must(err)
	uses(b, 0, 0, 0)
	if keys := b.Objects(); len(keys) > 0 {
		t.Errorf("left are %v", keys)
	}
}

func TestMaxBytes(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	limit(b, video.Limits{Bytes: 2*size - 1})
	first, second := b.Create(video.Draft{}), b.Create(video.Draft{})
	b.Put(first, servicetest.LikeVideo)
	b.Put(first, servicetest.LikeVideo) // takes the place of the one before
	uses(b, 2, size, 0)
	in := b.Incoming(second, servicetest.LikeVideo)
	_, err := b.Uploads.Receive(t.Context(), in)
	refused(b, err, "The limit max-bytes would be exceeded: 424 of 847 bytes are used, and this file has 424.")
	in = b.Incoming(second, servicetest.LikeVideo)
	in.Length = -1
	_, err = b.Uploads.Receive(t.Context(), in)
	refused(b, err, "The limit max-bytes would be exceeded")
	uses(b, 2, size, 0)

	limit(b, video.Limits{Bytes: size})
	_, err = create(b, "")
	refused(b, err, "The limit max-bytes is reached: 424 of 424 bytes are used.")
	_, err = b.Uploads.Complete(t.Context(), b.By, first.Video.ID) // its own file is counted
	b.Must(err)
	uses(b, 2, size, 1)
	b.Must(b.DeleteVideo(t.Context(), b.By, first.Video.ID))
	uses(b, 1, 0, 0)
	b.Put(second, servicetest.LikeVideo)
}

// TestMaxBytesOfFilesAtOnce has two files that fit each, and not both.
func TestMaxBytesOfFilesAtOnce(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Resumable)
	limit(b, video.Limits{Bytes: size})
	first, second := b.Create(video.Draft{}), b.Create(video.Draft{})
	resumable, err := b.Uploads.OpenResumable(t.Context(), servicetest.TusToken(second), second.Video.ID)
	b.Must(err)
	b.Must(b.Uploads.BeginResumable(t.Context(), resumable, size))
	b.Put(first, servicetest.LikeVideo)
	err = b.Uploads.FinishResumable(t.Context(), second.Video.ID, b.File(string(servicetest.LikeVideo)))
	refused(b, err, "The limit max-bytes would be exceeded: 424 of 424 bytes are used, and this file has 424.")
	if keys := b.Objects(); len(keys) != 1 {
		t.Errorf("stored are %v; want the first file", keys)
	}
	uses(b, 2, size, 0)
	resumable, err = b.Uploads.OpenResumable(t.Context(), servicetest.TusToken(second), second.Video.ID)
	b.Must(err)
	refused(b, b.Uploads.BeginResumable(t.Context(), resumable, 1), "The limit max-bytes would be exceeded")

	// A storage that clients reach by themselves knows of a file when it is completed.
	_, err = b.Blobs.Put(t.Context(), resumable.Key, strings.NewReader(string(servicetest.LikeVideo)))
	b.Must(err)
	_, err = b.Uploads.Complete(t.Context(), b.By, second.Video.ID)
	refused(b, err, "The limit max-bytes would be exceeded")
	b.WantStatuses(second.Video.ID, "pending_upload: 720p pending_upload, 240p pending_upload")
	limit(b, video.Limits{})
	_, err = b.Uploads.Complete(t.Context(), b.By, second.Video.ID)
	b.Must(err)
	uses(b, 2, 2*size, 1)
}

func TestMaxInWork(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	limit(b, video.Limits{InWork: 1})
	waiting := b.Create(video.Draft{})
	b.Put(waiting, servicetest.LikeVideo)
	busy := b.Processing(video.Draft{})
	uses(b, 2, 2*size, 1)
	_, err := create(b, "")
	refused(b, err, "The limit max-in-work is reached: 1 of 1 videos are being processed.")
	_, err = b.Uploads.Complete(t.Context(), b.By, waiting.Video.ID)
	refused(b, err, "The limit max-in-work is reached: 1 of 1 videos are being processed. Try again when one of them is done.")
	if keys := b.Objects(); len(keys) != 2 {
		t.Errorf("stored are %v; want the source of one video and the upload of the other", keys)
	}
	b.Finish(busy.ID)
	uses(b, 2, 2*size, 0)
	_, err = b.Uploads.Complete(t.Context(), b.By, waiting.Video.ID)
	b.Must(err)
	_, err = b.Catalog.AddResolution(t.Context(), b.By, busy.ID, "144p")
	refused(b, err, "The limit max-in-work is reached")
	b.WantStatuses(busy.ID, "ready: 720p ready, 240p ready")
	b.Must(b.GiveUpVideo(t.Context(), waiting.Video.ID, video.Failf(video.Corrupt, "x")))
	uses(b, 2, 2*size, 0)
	b.Add(busy.ID, "144p")
	uses(b, 2, 2*size, 1)
}

func TestMaxMinutesPerDay(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) { c.KeepSource = false })
	limit(b, video.Limits{MinutesPerDay: 0.5})
	up := b.Create(video.Draft{})
	b.Put(up, servicetest.LikeVideo)
	first, late := b.Processing(video.Draft{}), b.Processing(video.Draft{})
	b.Finish(first.ID) // 40 s: more than there was, but there was some
	b.Add(first.ID, "144p")
	b.Finish(first.ID) // the same film
	u, err := b.Tenants.Usage(t.Context(), b.By)
	if err != nil || u.LengthToday != 40*time.Second {
		t.Errorf("the tenant used %s, %v; want 40 s", u.LengthToday, err)
	}
	const reached = "The limit max-minutes-per-day is reached: 0.67 of 0.5 minutes of video are used today (UTC)."
	_, err = create(b, "")
	refused(b, err, reached)
	_, err = b.Uploads.Complete(t.Context(), b.By, up.Video.ID)
	refused(b, err, reached)

	// It was accepted before the length of the first was known.
	err = b.StorePlan(t.Context(), late.ID, servicetest.Plan("720p", "240p"))
	f, failed := errors.AsType[*video.Failure](err)
	if !failed || f.Code != video.QuotaExceeded {
		t.Fatalf("the plan of a film too much is %v; want a failure", err)
	}
	b.Must(b.GiveUpVideo(t.Context(), late.ID, f))
	b.Must(b.Purge(t.Context(), late.ID)) // sources are not kept, but this one is still needed
	b.Advance(12 * time.Hour)             // midnight
	_, err = b.Catalog.RetryResolution(t.Context(), b.By, late.Resolutions[0].ID)
	b.Must(err)
	b.Finish(late.ID)
	b.WantStatuses(late.ID, "ready: 720p ready, 240p fail")
	b.Must(b.Purge(t.Context(), late.ID))
	_, err = b.Catalog.RetryResolution(t.Context(), b.By, late.Resolutions[1].ID)
	b.Must(err)
	b.Finish(late.ID)
	b.WantStatuses(late.ID, "ready: 720p ready, 240p ready")
	b.Must(b.Purge(t.Context(), late.ID))
	if source := b.Video(late.ID).Source.Key; slices.Contains(b.Objects(), source) {
		t.Errorf("%s is kept although nothing waits for it", source)
	}
	if u, err = b.Tenants.Usage(t.Context(), b.By); err != nil || u.LengthToday != 40*time.Second {
		t.Errorf("on the next day the tenant used %s, %v; want 40 s", u.LengthToday, err)
	}
}

func TestSetLimits(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	for _, l := range []video.Limits{{Videos: -1}, {Bytes: -1}, {InWork: -1}, {MinutesPerDay: -0.5}, {MinutesPerDay: math.NaN()}, {MinutesPerDay: math.Inf(1)}} {
		_, err := b.Tenants.SetLimits(t.Context(), "acme", func(now *video.Limits) { *now = l })
		servicetest.WantCode(t, err, video.Invalid, "invalid_request")
	}
	_, err := b.Tenants.SetLimits(t.Context(), " ", func(*video.Limits) {})
	servicetest.WantCode(t, err, video.Invalid, "invalid_request")
	set := func(change func(*video.Limits)) {
		_, err := b.Tenants.SetLimits(t.Context(), "acme", change)
		b.Must(err)
	}
	set(func(l *video.Limits) { l.Videos = 3 })
	set(func(l *video.Limits) { l.InWork = 4 })
	all, err := b.Tenants.List(t.Context())
	if err != nil || len(all) != 2 || all[0].Name != "acme" || all[0].Limits != (video.Limits{Videos: 3, InWork: 4}) || all[1].Name != "default" {
		t.Errorf("List = %+v, %v", all, err)
	}
	_, err = b.Tenants.Usage(t.Context(), b.Actor(auth.Key{Scopes: []auth.Scope{auth.Write}}))
	servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
}

func TestTheOperatorSeesAllTenants(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	acme := b.Actor(auth.Key{Tenant: "acme"})
	b.Actor(auth.Key{Tenant: "zoo"})
	limit(b, video.Limits{Videos: 7})
	b.Create(video.Draft{})
	for _, limit := range []int{1, 2, 3, 50} {
		var got []string
		var after video.Tenant
		for {
			page, err := b.Tenants.Page(ctx, b.By, after, limit)
			b.Must(err)
			if len(page.Tenants) > limit {
				t.Errorf("a page of at most %d has %d tenants", limit, len(page.Tenants))
			}
			for _, one := range page.Tenants {
				got = append(got, fmt.Sprintf("%s has %d of %d", one.Name, one.Videos, one.Limits.Videos))
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if want := []string{"acme has 0 of 0", "default has 1 of 7", "zoo has 0 of 0"}; !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %q, want %q", limit, got, want)
		}
	}
	_, err := b.Tenants.Page(ctx, acme, "", 10)
	servicetest.WantCode(t, err, video.Forbidden, "operator_only")
	_, err = b.Tenants.Page(ctx, b.Actor(auth.Key{Scopes: []auth.Scope{auth.Read}}), "", 10)
	servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
}
