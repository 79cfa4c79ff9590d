package janitor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// The objects of a video whose file was replaced lie in another folder than the one that has its name.
func TestObjectsInAnotherFolder(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	v := b.Ready(servicetest.Plan("720p", "240p"))
	other := b.Ready(servicetest.Plan("720p", "240p")).ID
	b.Must(b.Purge(ctx, v.ID))
	b.Must(b.Purge(ctx, other))
	b.Must(b.Store.InTx(ctx, func(tx *store.Tx) error { // as if other had been made to replace the file of v
		if _, err := tx.Exec(ctx, "move", `UPDATE video SET objects_in = $1 WHERE id = $2`, other, v.ID); err != nil {
			return err
		}
		return tx.RemoveVideo(ctx, other)
	}))
	b.Must(b.Purge(ctx, other)) // of the video that is gone, which has nothing any more
	_, err := b.Sweep(ctx)
	b.Must(err)
	if keys := b.Objects(); !slices.Equal(keys, []string{"public/" + string(other) + "/240p.mp4", "public/" + string(other) + "/720p.mp4"}) {
		t.Errorf("after a sweep there are %v", keys)
	}
	b.Must(b.DeleteVideo(ctx, b.By, v.ID))
	if keys := b.Objects(); len(keys) > 0 {
		t.Errorf("%v are left of a deleted video", keys)
	}
}

func TestSweepRemovesOrphansAndNothingElse(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	ctx := t.Context()
	up := b.Create(video.Draft{})
	b.Put(up, servicetest.LikeVideo)
	v := b.Processing(video.Draft{IsPublic: true, Thumbnails: []float64{0}})
	b.Transcode(v.ID, servicetest.Plan("720p", "240p"))
	b.Publish(v.ID, 0)
	owned := b.Objects()

	gone := "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	orphans := []string{
		"upload/" + gone + "/file", "source/" + gone + "/x", "work/" + gone + "/chunk-0-0.mp4", "public/" + gone + "/720p.mp4", "private/" + gone + "/720p.mp4",
		"upload/" + string(v.ID) + "/file",      // completed: nobody reads it again
		"source/" + string(v.ID) + "/other",     // a copy whose complete-upload lost the race
		"public/" + string(v.ID) + "/1080p.mp4", // a resolution that was deleted
		"public/" + string(v.ID) + "/720p-1.jpg",
		"private/" + string(v.ID) + "/720p.mp4", // the wrong side
	}
	for _, key := range orphans {
		_, err := b.Blobs.Put(ctx, key, strings.NewReader("x"))
		b.Must(err)
	}
	report, err := b.Sweep(ctx)
	b.Must(err)
	if report.Removed != len(orphans) || !slices.Equal(b.Objects(), owned) {
		t.Errorf("sweep %+v left %v; want %v", report, b.Objects(), owned)
	}
	counted := map[string]int64{}
	for _, c := range report.Stored {
		counted[c.Area] = c.Bytes
	}
	for _, area := range []string{"upload", "source", "work", "public", "private"} {
		var want int64
		for info, err := range b.Blobs.List(ctx, area+"/") {
			b.Must(err)
			want += info.Size
		}
		if got, ok := counted[area]; !ok || got != want {
			t.Errorf("%s has %d bytes, and the sweep counted %d", area, want, got)
		}
	}
}

// partly is a store that says which unfinished objects it was told to drop. As
// MinIO does it, it knows the prefixes of whole keys only.
type partly struct {
	blob.Store
	parts map[string]time.Time
}

func (p *partly) AbortUnfinished(_ context.Context, prefix string, drop func(string, time.Time) (bool, error)) (int, error) {
	n := 0
	for key, begun := range p.parts {
		gone, err := drop(key, begun)
		if err != nil {
			return n, err
		}
		if gone && (prefix == "" || key == prefix) {
			delete(p.parts, key)
			n++
		}
	}
	return n, nil
}

func TestPartsOfUploadsLiveAsLongAsTheirVideoWaits(t *testing.T) {
	t.Parallel()
	p := &partly{parts: map[string]time.Time{}}
	b := servicetest.NewOn(t, func(s *disk.Store) blob.Store { p.Store = s; return p }, servicetest.Resumable)
	b.Must(b.Marker.Write(t.Context()))
	up := b.Create(video.Draft{})
	b.BeginUpload(up)
	mine, stranger, rendition := "upload/"+string(up.Video.ID)+"/file", "upload/01a1e15d-3d49-796c-86d0-1f68082947f4/file", "public/x/720p.mp4"
	p.parts = map[string]time.Time{mine: b.Now(), stranger: b.Now(), rendition: b.Now()}
	for _, step := range []struct {
		after   time.Duration
		aborted int
		left    string
	}{
		{time.Minute, 1, mine + " " + rendition},
		{50 * time.Hour, 1, mine}, // a rendition takes no two days
		{24 * time.Hour, 1, ""},
	} {
		b.Advance(step.after)
		n, err := b.AbortUnfinished(t.Context())
		if err != nil || n != step.aborted {
			t.Errorf("%s later AbortUnfinished = %d, %v; want %d", step.after, n, err, step.aborted)
		}
		for key := range p.parts {
			if !strings.Contains(step.left, key) {
				t.Errorf("%s later the parts of %s are left", step.after, key)
			}
		}
	}
}

// lockedStore does not remove some objects, as a bucket with a legal hold does.
type lockedStore struct {
	*disk.Store
	locked func(key string) bool
}

func (s lockedStore) Delete(ctx context.Context, keys ...string) error {
	if slices.ContainsFunc(keys, s.locked) {
		return errors.New("the object is locked")
	}
	return s.Store.Delete(ctx, keys...)
}

func TestSweepPassesObjectsThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	const objects = 30
	tests := []struct {
		name    string
		locked  string // what the keys of those begin with
		removed int
	}{
		{"one is locked", "public/00000000-0000-4000-8000-000000000000/", objects - 1},
		{"the storage removes nothing", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := servicetest.NewOn(t, func(s *disk.Store) blob.Store {
				return lockedStore{s, func(key string) bool { return strings.HasPrefix(key, tt.locked) }}
			})
			for i := range objects {
				_, err := b.Blobs.Put(t.Context(), fmt.Sprintf("public/00000000-0000-4000-8000-%012d/144p.mp4", i), strings.NewReader("nobody's"))
				b.Must(err)
			}
			r, err := b.Sweep(t.Context())
			if err == nil || r.Removed != tt.removed {
				t.Errorf("the sweep removed %d objects, %v; want %d and an error", r.Removed, err, tt.removed)
			}
			if tt.removed == 0 && r.Objects > objects/2 {
				t.Errorf("the sweep tried %d objects of a storage that removes none", r.Objects)
			}
		})
	}
}
