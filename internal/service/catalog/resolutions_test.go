package catalog_test

import (
	"testing"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// The response shows the state of the video, so both scopes are needed. A key that lacks one of
// them changes nothing.
func TestResolutionsNeedBothScopes(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.Must(b.GiveUpVideo(t.Context(), v.ID, video.Failf(video.InternalFailure, "The disk broke.")))
	const before = "fail: 720p fail"
	b.WantStatuses(v.ID, before)

	for _, scopes := range [][]auth.Scope{{auth.Write}, {auth.Read}, {auth.Write, auth.Delete}, {auth.Delete}} {
		by := b.Actor(auth.Key{Scopes: scopes})
		_, err := b.Catalog.AddResolution(t.Context(), by, v.ID, "240p")
		servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
		_, err = b.Catalog.RetryResolution(t.Context(), by, v.Resolutions[0].ID)
		servicetest.WantCode(t, err, video.Forbidden, "insufficient_scope")
		b.WantStatuses(v.ID, before)
	}

	by := b.Actor(auth.Key{Scopes: []auth.Scope{auth.Read, auth.Write}})
	_, err := b.Catalog.AddResolution(t.Context(), by, v.ID, "240p")
	b.Must(err)
	_, err = b.Catalog.RetryResolution(t.Context(), by, v.Resolutions[0].ID)
	b.Must(err)
	b.WantStatuses(v.ID, "processing: 720p processing, 240p processing")
}
