package uploads_test

import (
	"testing"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestUploadsAtATime(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, servicetest.Resumable, func(c *servicetest.Config) { c.Uploads.Concurrency = 2 })
	first, second, third := b.Create(video.Draft{}), b.Create(video.Draft{}), b.Create(video.Draft{})
	put := newHanging(10)
	ended := put.begin(b, b.Incoming(first, nil))
	resumable := func(id video.ID, token string) (func(), error) {
		r, err := b.Uploads.OpenResumable(t.Context(), token, id)
		b.Must(err)
		return r.Enter()
	}
	leave, err := resumable(second.Video.ID, servicetest.TusToken(second))
	b.Must(err)
	_, err = resumable(third.Video.ID, servicetest.TusToken(third))
	servicetest.WantCode(t, err, video.RateLimited, "rate_limited")
	_, err = b.Uploads.Receive(t.Context(), b.Incoming(third, servicetest.LikeVideo))
	servicetest.WantCode(t, err, video.RateLimited, "rate_limited")

	// Another tenant has slots of its own. Another key of the same tenant has none.
	busy, err := b.Catalog.Create(t.Context(), b.Actor(auth.Key{}), video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"240p"}}, servicetest.Base)
	b.Must(err)
	_, err = b.Uploads.Receive(t.Context(), b.Incoming(busy, servicetest.LikeVideo))
	servicetest.WantCode(t, err, video.RateLimited, "rate_limited")
	other := b.Actor(auth.Key{Tenant: "other"})
	up, err := b.Catalog.Create(t.Context(), other, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"240p"}}, servicetest.Base)
	b.Must(err)
	b.Put(up, servicetest.LikeVideo)

	b.Put(first, servicetest.LikeVideo) // takes the place of the one before
	servicetest.WantCode(t, <-ended, video.Conflict, "upload_replaced")
	b.Put(third, servicetest.LikeVideo)
	again, err := resumable(second.Video.ID, servicetest.TusToken(second))
	b.Must(err)
	leave()
	again()
	b.Put(second, servicetest.LikeVideo)
}
