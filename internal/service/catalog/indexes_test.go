package catalog

import (
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

func TestListsUseIndexes(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, func(tx *store.Tx) error {
		ctx, r, now := t.Context(), reader{tx.Queries}, time.Now()
		labels := []video.Label{{Key: "k", Value: "v"}, {Key: "l", Value: "v"}, {Key: "m", Value: "v"}}
		for _, f := range []video.Filter{{}, {Status: video.PendingUpload}, {Labels: labels[:1]}, {Labels: labels}, {Labels: labels[:1], Status: video.PendingUpload},
			{Tags: []string{"a"}}, {Tags: []string{"a", "b"}, Labels: labels}} {
			_, _, _ = r.list(ctx, "", f, video.Cursor{CreatedAt: now.Add(time.Second), ID: "a"}, 10)
		}
		_, _, _ = r.videosByID(ctx, []video.ID{"a", "b"})
		for _, f := range []video.Filter{{Words: []string{"a"}}, {Words: []string{"a"}, Status: video.Fail}, {Words: []string{"a"}, Order: video.Order{Ascending: true}}, {Order: video.Order{Ascending: true}}} {
			_, _, _ = r.list(ctx, "t", f, video.Cursor{}, 10)
		}
		for by := range orderColumns {
			for _, o := range []video.Order{{By: by}, {By: by, Ascending: true}} {
				for _, f := range []video.Filter{{}, {Status: video.Fail}, {Words: []string{"a"}}, {Public: new(true), CreatedFrom: now, CreatedBefore: now}, {Labels: labels, Status: video.Fail}} {
					f.Order = o
					_, _, _ = r.list(ctx, "t", f, video.Cursor{}, 10)
					_, _, _ = r.list(ctx, "t", f, placeOf(video.Video{ID: "a", CreatedAt: now}, o), 10)
				}
			}
		}
		_ = describe(ctx, tx, video.Video{ID: "a", Metadata: []byte(`{"a":1}`), Tags: []string{"a"}})
		_, _ = pageOfTags(ctx, tx.Queries, "t", "a", 10)
		return nil
	})
}
