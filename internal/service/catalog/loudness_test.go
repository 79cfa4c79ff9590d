package catalog_test

import (
	"testing"

	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

func TestTheClientsChoiceOfLoudnessGoesBeforeTheServers(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) { c.Loudness = video.NormalizeLoudness })
	for asked, want := range map[video.Levelling]video.Levelling{"": video.NormalizeLoudness, video.KeepLoudness: video.KeepLoudness} {
		if got := b.Video(b.Create(video.Draft{Loudness: asked}).Video.ID).Loudness; got != want {
			t.Errorf("asked for %q, a video gets %q", asked, got)
		}
	}
}
