package catalog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestManyVideosAreChangedTogetherOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	a := b.Create(video.Draft{Tags: []string{"x", "y"}}).Video.ID
	c := b.Create(video.Draft{}).Video.ID
	edit := func(e video.ManyEdit, ids ...video.ID) ([]string, error) {
		states, err := b.Catalog.EditMany(t.Context(), b.By, ids, e)
		var got []string
		for _, s := range states {
			got = append(got, strings.Join(s.Video.Tags, ","))
		}
		return got, err
	}
	got, err := edit(video.ManyEdit{AddTags: []string{" z ", "x"}, RemoveTags: []string{"y", "none"}, ExpiresAt: new(b.Now().Add(time.Hour))}, c, a, c)
	if text := fmt.Sprint(got); err != nil || text != "[z,x x,z]" || b.Video(a).ExpiresAt.IsZero() || !b.Video(a).ExpiryTold {
		t.Errorf("the videos have the tags %s, %v, and expire at %s", text, err, b.Video(a).ExpiresAt)
	}
	untouched := func(what string, err error, kind video.Kind, code string) {
		t.Helper()
		servicetest.WantCode(t, err, kind, code)
		if tags := strings.Join(b.Video(a).Tags, ","); tags != "x,z" {
			t.Errorf("%s: the tags are %s", what, tags)
		}
	}
	more := video.ManyEdit{AddTags: []string{"more"}}
	const unknown = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	_, err = edit(more, a, unknown)
	untouched("an unknown one", err, video.NotFound, "video_not_found")
	if !strings.Contains(err.Error(), unknown) {
		t.Errorf("the error does not name the video: %v", err)
	}
	foreign := b.Actor(auth.Key{Tenant: "other"})
	_, err = b.Catalog.EditMany(t.Context(), foreign, []video.ID{a}, more)
	untouched("another tenant's", err, video.NotFound, "video_not_found")
	_, err = b.Catalog.EditMany(t.Context(), b.Actor(auth.Key{Scopes: []auth.Scope{auth.Write}}), []video.ID{a}, more)
	untouched("a key without read", err, video.Forbidden, "insufficient_scope")

	var many []string
	for i := range video.MaxTags {
		many = append(many, fmt.Sprint("t", i))
	}
	full := b.Create(video.Draft{Tags: many}).Video.ID
	_, err = edit(more, a, full)
	untouched("too many tags", err, video.Conflict, "limit_reached")
	_, err = edit(video.ManyEdit{ExpiresAt: new(b.Now())}, a)
	untouched("a time that is over", err, video.Invalid, "invalid_request")
	_, err = edit(video.ManyEdit{}, a)
	untouched("nothing", err, video.Invalid, "invalid_request")

	if got, err = edit(video.ManyEdit{ExpiresAt: new(time.Time), RemoveTags: []string{"x", "z"}}, a); err != nil || len(b.Video(a).Tags) > 0 || !b.Video(a).ExpiresAt.IsZero() {
		t.Errorf("the tags are %v, %v, and the video expires at %s", got, err, b.Video(a).ExpiresAt)
	}
}
