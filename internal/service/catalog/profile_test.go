package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

var course = video.Profile{Name: "course", Preset: "slow", MaxFPS: 15, Sizes: map[video.Name]video.ProfileSize{"720p": {CRF: 27}, "240p": {CRF: 28}}}

// A video keeps the values that its profile had, for a new file, too.
func TestAVideoKeepsItsProfile(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) {
		c.Profiles, c.MaxImports = []video.Profile{course, {Name: "archive"}}, 1
	})
	name, address := course.Name, "https://example.com/a.mp4"
	film := b.Processing(video.Draft{Profile: &name, Resolutions: []video.Name{"480p"}})
	b.Transcode(film.ID, servicetest.Plan("480p"))
	b.Publish(film.ID, 0)
	if diff := cmp.Diff(&course, b.Video(film.ID).Profile); diff != "" {
		t.Errorf("the profile of the video: %s", diff)
	}
	tests := []struct {
		name  string
		draft video.Draft
		want  *video.Profile
		sizes []video.Name
	}{
		{"without resolutions it has the sizes of the profile", video.Draft{Filename: "a.mp4", Profile: &name}, &course, []video.Name{"720p", "240p"}},
		{"or the usual ones, if the profile has none", video.Draft{Filename: "a.mp4", Profile: new("archive")}, &video.Profile{Name: "archive"}, []video.Name{"1080p", "720p", "480p"}},
		{"those that are asked for go before", video.Draft{Filename: "a.mp4", Profile: &name, Resolutions: []video.Name{"4k"}}, &course, []video.Name{"4k"}},
		{"an empty name is none", video.Draft{Filename: "a.mp4", Profile: new(""), Resolutions: []video.Name{"4k"}}, nil, []video.Name{"4k"}},
		{"an import", video.Draft{SourceURL: &address, Profile: &name}, &course, []video.Name{"720p", "240p"}},
		{"a clip", video.Draft{Clip: &video.Clip{Video: film.ID, Start: 1, End: 2}, Profile: &name}, &course, []video.Name{"720p", "240p"}},
	}
	for _, tt := range tests {
		up, err := b.Catalog.Create(t.Context(), b.By, tt.draft, servicetest.Base)
		b.Must(err)
		v := up.Video
		var sizes []video.Name
		for _, r := range v.Resolutions {
			sizes = append(sizes, r.Name)
		}
		if diff := cmp.Diff(tt.want, b.Video(v.ID).Profile); diff != "" || !slices.Equal(sizes, tt.sizes) {
			t.Errorf("%s: %v %s", tt.name, sizes, diff)
		}
	}
	for want, chosen := range map[*video.Profile]*string{&course: nil, nil: new("")} {
		up, err := b.Catalog.Replace(t.Context(), b.By, film.ID, video.Draft{Filename: "b.mp4", Profile: chosen}, servicetest.Base)
		b.Must(err)
		if diff := cmp.Diff(want, up.Video.Profile); diff != "" || len(up.Video.Resolutions) != 1 {
			t.Errorf("a new file has the profile %s and %+v", diff, up.Video.Resolutions)
		}
		b.Must(b.GiveUpReplace(t.Context(), b.By, film.ID))
	}
	_, err := b.Catalog.Create(t.Context(), b.By, video.Draft{Filename: "a.mp4", Profile: new("corse")}, servicetest.Base)
	e, ok := errors.AsType[*video.Error](err)
	if !ok || len(e.Faults) != 1 || !strings.Contains(e.Faults[0].Message, "course, archive") {
		t.Errorf("an unknown profile is %v", err)
	}
}
