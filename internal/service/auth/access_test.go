package auth_test

import (
	"testing"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestScopesAndTenants(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	up := b.Create(video.Draft{IsPublic: true})
	id, rid := up.Video.ID, up.Video.Resolutions[0].ID

	stranger := b.Actor(auth.Key{Tenant: "other"})
	reader := b.Actor(auth.Key{Scopes: []auth.Scope{auth.Read}})
	writer := b.Actor(auth.Key{Scopes: []auth.Scope{auth.Write, auth.Delete}})

	calls := []struct {
		name     string
		call     func(by auth.Actor) error
		lacking  auth.Actor
		notFound string
	}{
		{"create", func(by auth.Actor) error {
			_, err := b.Catalog.Create(ctx, by, video.Draft{}, servicetest.Base)
			return err
		}, reader, ""},
		{"complete", func(by auth.Actor) error { _, err := b.Uploads.Complete(ctx, by, id); return err }, reader, "video_not_found"},
		{"read", func(by auth.Actor) error { _, err := b.Catalog.Public(ctx, by, id, servicetest.Base); return err }, writer, "video_not_found"},
		{"delete", func(by auth.Actor) error { return b.DeleteVideo(ctx, by, id) }, reader, "video_not_found"},
		{"delete resolution", func(by auth.Actor) error { return b.DeleteResolution(ctx, by, rid) }, reader, "resolution_not_found"},
	}
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			servicetest.WantCode(t, c.call(c.lacking), video.Forbidden, "insufficient_scope")
			if c.notFound != "" {
				servicetest.WantCode(t, c.call(stranger), video.NotFound, c.notFound)
			}
		})
	}
}
