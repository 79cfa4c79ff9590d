package catalog_test

import (
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// The pictures of a film are made when it is ready. Their addresses are told from the start until it
// is known that there are none, and each answers not_ready until it is made.
func TestPicturesAreAnnouncedUntilTheyAreMade(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) { c.Pictures = true })
	ctx := t.Context()
	check := func(id video.ID, when, code string, want ...string) {
		t.Helper()
		info, err := b.Catalog.Public(ctx, b.By, id, servicetest.Base)
		b.Must(err)
		page, err := b.Catalog.List(ctx, b.By, video.Filter{}, video.Cursor{}, 1)
		b.Must(err)
		for how, files := range map[string][]string{"read": names(info.URLs.Files), "list": names(b.Catalog.FileURLs(page.Videos[0].Video, servicetest.Base))} {
			for _, name := range []string{video.StoryboardFile, video.PreviewFile} {
				if got := slices.Contains(files, name); got != slices.Contains(want, name) {
					t.Errorf("%s, a %s tells of %v; want %v", when, how, files, want)
				}
			}
		}
		o, err := b.OpenPublic(ctx, id, video.StoryboardFile)
		if err == nil {
			servicetest.ReadAll(t, o)
		}
		if got := servicetest.CodeOf(err); got != code {
			t.Errorf("%s, the storyboard answers %q; want %q", when, got, code)
		}
	}
	both := []string{video.StoryboardFile, video.PreviewFile}
	plan := func() *video.Plan {
		p := servicetest.Plan("720p", "240p")
		p.Pictures = true
		return p
	}
	task := func(id video.ID) queue.Task { return queue.Task{Kind: queue.Pictures, Video: id} }

	id := b.Processing(video.Draft{IsPublic: true}).ID
	check(id, "while it is processed", "not_ready", both...)
	id = b.Ready(plan()).ID
	check(id, "before they are made", "not_ready", both...)
	b.Must(b.PublishFiles(ctx, task(id), b.Video(id), []pipeline.NewFile{{File: video.File{Name: video.StoryboardFile, Kind: video.StoryboardKind}, Path: b.File("WEBVTT")}}))
	check(id, "when one of them is made", "", video.StoryboardFile)

	id = b.Ready(plan()).ID
	b.Must(b.Skip(ctx, task(id)))
	check(id, "when none could be made", "not_found")
	id = b.Ready(servicetest.Plan("720p", "240p")).ID
	check(id, "of a film that is older", "not_found")
}

func names(files []playback.FileURL) []string {
	var all []string
	for _, f := range files {
		all = append(all, f.Name)
	}
	return all
}
