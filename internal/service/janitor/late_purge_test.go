package janitor_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// slowStore is a storage in which something happens while it is read.
type slowStore struct {
	*disk.Store
	listed func(key string) // after each object
	seen   func(key string) // after an object was looked for
}

func (s *slowStore) Stat(ctx context.Context, key string) (blob.Info, error) {
	info, err := s.Store.Stat(ctx, key)
	if seen := s.seen; seen != nil {
		seen(key)
	}
	return info, err
}

func (s *slowStore) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		for info, err := range s.Store.List(ctx, prefix) {
			listed := s.listed
			if !yield(info, err) {
				return
			}
			if listed != nil {
				listed(info.Key)
			}
		}
	}
}

// A purge, or a sweep, that looked at a video before another pass began knows
// nothing of the objects of that pass.
func TestALatePurgeLeavesTheNextPassAlone(t *testing.T) {
	t.Parallel()
	for name, purge := range map[string]func(*servicetest.Rig, video.ID) error{
		"a purge": func(b *servicetest.Rig, id video.ID) error { return b.Purge(b.T.Context(), id) },
		"a sweep": func(b *servicetest.Rig, _ video.ID) error { _, err := b.Sweep(b.T.Context()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := new(slowStore)
			b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { slow.Store = s; return slow })
			b.Must(b.Marker.Write(t.Context()))
			v := b.Processing(video.Draft{IsPublic: true, Resolutions: []video.Name{"720p"}})
			b.Finish(v.ID)
			var before []string
			slow.listed = func(key string) {
				if strings.HasPrefix(key, "work/") {
					slow.listed = nil
					b.Add(v.ID, "240p")
					b.Transcode(v.ID, servicetest.Plan("240p"))
					before = b.Objects()
				}
			}
			b.Must(purge(b, v.ID))
			if after := b.Objects(); !slices.Equal(after, before) {
				t.Errorf("of %v\nthere are left %v", before, after)
			}
			b.Publish(v.ID, 1)
			b.Must(purge(b, v.ID))
			if slices.ContainsFunc(b.Objects(), func(key string) bool { return strings.HasPrefix(key, "work/") }) {
				t.Errorf("objects = %v; want no chunk files when all is done", b.Objects())
			}
		})
	}
}

// A deletion whose storage is slow must not take away the files of a resolution
// of the same name that was added meanwhile.
func TestALateDeletionLeavesWhatWasAddedAgain(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := b.Processing(video.Draft{IsPublic: true, Resolutions: []video.Name{"720p", "240p"}})
	b.Finish(v.ID)
	b.OnPoint = func(p failpoint.Point) {
		if p == failpoint.ResolutionGone {
			b.Add(v.ID, "240p")
			b.Finish(v.ID)
		}
	}
	b.Must(b.DeleteResolution(t.Context(), b.By, v.Resolutions[1].ID))
	b.WantStatuses(v.ID, "ready: 720p ready, 240p ready")
	if rendition := "public/" + string(v.ID) + "/240p.mp4"; !slices.Contains(b.Objects(), rendition) {
		t.Errorf("objects = %v; want %s, which is ready", b.Objects(), rendition)
	}
}

// The source may be removed between the check for it and the next pass.
func TestAPurgeInTheLastMomentIsNoticed(t *testing.T) {
	t.Parallel()
	slow := new(slowStore)
	b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { slow.Store = s; return slow }, func(c *servicetest.Config) { c.KeepSource = false })
	v := b.Processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.Finish(v.ID)
	slow.seen = func(string) {
		slow.seen = nil
		b.Must(b.Purge(t.Context(), v.ID))
	}
	if _, err := b.Catalog.AddResolution(t.Context(), b.By, v.ID, "240p"); servicetest.CodeOf(err) != "source_gone" {
		t.Errorf("AddResolution = %v; want source_gone", err)
	}
	b.WantStatuses(v.ID, "ready: 720p ready")
}
