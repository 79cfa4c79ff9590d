package app_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/service/app"
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

// A purge, or a sweep, that looked at a video before another round began knows
// nothing of the objects of that round.
func TestALatePurgeLeavesTheNextRoundAlone(t *testing.T) {
	t.Parallel()
	for name, purge := range map[string]func(*bench, video.ID) error{
		"a purge": func(b *bench, id video.ID) error { return b.Purge(b.t.Context(), id) },
		"a sweep": func(b *bench, _ video.ID) error { _, err := b.Sweep(b.t.Context()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := new(slowStore)
			b := newBenchOn(t, func(s *disk.Store) blob.Store { slow.Store = s; return slow })
			b.must(b.Claim(t.Context()))
			v := b.processing(video.Draft{IsPublic: true, Resolutions: []video.Name{"720p"}})
			b.finish(v.ID)
			var before []string
			slow.listed = func(key string) {
				if strings.HasPrefix(key, "work/") {
					slow.listed = nil
					b.add(v.ID, "240p")
					b.transcode(v.ID, plan("240p"))
					before = b.keys()
				}
			}
			b.must(purge(b, v.ID))
			if after := b.keys(); !slices.Equal(after, before) {
				t.Errorf("of %v\nthere are left %v", before, after)
			}
			b.publish(v.ID, 1)
			b.must(purge(b, v.ID))
			if slices.ContainsFunc(b.keys(), func(key string) bool { return strings.HasPrefix(key, "work/") }) {
				t.Errorf("objects = %v; want no pieces when all is done", b.keys())
			}
		})
	}
}

// A deletion whose storage is slow must not take away the files of a resolution
// of the same name that was added meanwhile.
func TestALateDeletionLeavesWhatWasAddedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := b.processing(video.Draft{IsPublic: true, Resolutions: []video.Name{"720p", "240p"}})
	b.finish(v.ID)
	b.reached = func(p app.Point) {
		if p == app.ResolutionGone {
			b.add(v.ID, "240p")
			b.finish(v.ID)
		}
	}
	b.must(b.DeleteResolution(t.Context(), b.by, v.Resolutions[1].ID))
	b.wantStatuses(v.ID, "ready: 720p ready, 240p ready")
	if film := "public/" + string(v.ID) + "/240p.mp4"; !slices.Contains(b.keys(), film) {
		t.Errorf("objects = %v; want %s, which is ready", b.keys(), film)
	}
}

// Between the look for the source and the next round the source may be removed.
func TestAPurgeInTheLastMomentIsNoticed(t *testing.T) {
	t.Parallel()
	slow := new(slowStore)
	b := newBenchOn(t, func(s *disk.Store) blob.Store { slow.Store = s; return slow }, func(c *app.Config) { c.KeepSource = false })
	v := b.processing(video.Draft{Resolutions: []video.Name{"720p"}})
	b.finish(v.ID)
	slow.seen = func(string) {
		slow.seen = nil
		b.must(b.Purge(t.Context(), v.ID))
	}
	if _, err := b.AddResolution(t.Context(), b.by, v.ID, "240p"); codeOf(err) != "source_gone" {
		t.Errorf("AddResolution = %v; want source_gone", err)
	}
	b.wantStatuses(v.ID, "ready: 720p ready")
}
