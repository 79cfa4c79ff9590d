package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestTitleFollowsTheFilenameUnlessGiven(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Create(video.Draft{Filename: "holiday.MOV", Metadata: json.RawMessage(`{"a": 1}`)}).Video
	titled := b.Create(video.Draft{Filename: "holiday.MOV", Title: "Our holiday"}).Video
	edit := func(e video.Edit) video.Video {
		t.Helper()
		s, err := b.Catalog.Edit(t.Context(), b.By, v.ID, e)
		b.Must(err)
		return s.Video
	}
	none, object := json.RawMessage(nil), json.RawMessage(`{"b": [1, 2]}`)
	for _, step := range []struct{ got, want string }{
		{v.Title, "holiday"}, {titled.Title, "Our holiday"},
		{edit(video.Edit{Title: new("Another")}).Title, "Another"},
		{string(edit(video.Edit{Metadata: &object}).Metadata), `{"b":[1,2]}`},
		{b.Video(v.ID).Title, "Another"},
		{edit(video.Edit{Title: new("")}).Title, "holiday"},
		{string(b.Video(v.ID).Metadata), `{"b":[1,2]}`},
		{string(edit(video.Edit{Metadata: &none}).Metadata), ""},
		{b.Video(titled.ID).Title, "Our holiday"},
	} {
		if step.got != step.want {
			t.Errorf("got %q, want %q", step.got, step.want)
		}
	}
}

// Metadata takes disk space as well: the videos of a full disk must not grow.
func TestNothingIsEditedOnAFullDisk(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Create(video.Draft{}).Video
	b.Reserve = diskspace.NewReserve(b.Blobs, 1<<60)
	object := json.RawMessage(`{"a": 1}`)
	_, err := b.Catalog.Edit(t.Context(), b.By, v.ID, video.Edit{Metadata: &object})
	servicetest.WantCode(t, err, video.InsufficientStorage, "insufficient_storage")
	if got := b.Video(v.ID).Metadata; got != nil {
		t.Errorf("the metadata is %s", got)
	}
}

func TestEditIsRefused(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Create(video.Draft{}).Video
	edit := func(by auth.Actor) error {
		_, err := b.Catalog.Edit(t.Context(), by, v.ID, video.Edit{Title: new("x")})
		return err
	}
	stranger := b.By
	stranger.Tenant = "somebody else"
	servicetest.WantCode(t, edit(stranger), video.NotFound, "video_not_found")
	for _, scopes := range [][]auth.Scope{{auth.Write}, {auth.Read, auth.Delete}} {
		servicetest.WantCode(t, edit(b.Actor(auth.Key{Scopes: scopes})), video.Forbidden, "insufficient_scope")
	}
	if got := b.Video(v.ID).Title; got != "film" {
		t.Errorf("the title is %q", got)
	}
	b.Must(b.DeleteVideo(t.Context(), b.By, v.ID))
	servicetest.WantCode(t, edit(b.By), video.NotFound, "video_not_found")
}
