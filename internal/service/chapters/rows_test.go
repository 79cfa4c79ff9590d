package chapters

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func TestChaptersOfTheFileGiveWayToTheClients(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		id := storetest.Stored(t, st, video.Processing, "720p").ID
		one, two := []video.Chapter{{Start: 0, Title: "One"}}, []video.Chapter{{Start: time.Millisecond, Title: "日本 <b>\"'"}}
		for _, step := range []struct {
			source    video.FileSource
			set, want []video.Chapter
		}{
			{video.Embedded, one, one},
			{video.Embedded, two, two}, // of another file
			{video.Uploaded, one, one},
			{video.Embedded, two, one},
			{video.Uploaded, nil, []video.Chapter{}},
			{video.Embedded, two, []video.Chapter{}},
			{video.Uploaded, two, two},
		} {
			storetest.Change(t, st, func(tx *store.Tx) error {
				if step.source == video.Embedded {
					return Embed(ctx, tx, id, &video.Plan{Chapters: step.set})
				}
				return put(ctx, tx, id, step.source, step.set)
			})
			got, err := Of(ctx, st.Queries, id)
			if diff := cmp.Diff(step.want, got); err != nil || diff != "" {
				t.Errorf("after %v of %s: %v (-want +got):\n%s", step.set, step.source, err, diff)
			}
		}
		storetest.Change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, id) })
		if got, err := Of(ctx, st.Queries, id); err != nil || got != nil {
			t.Errorf("a removed video has %v, %v", got, err)
		}
	})
}

func TestOnlyViewersOfTheVideoSeeItsChapters(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx := t.Context()
		id := storetest.Stored(t, st, video.Processing, "720p").ID // private
		storetest.Change(t, st, func(tx *store.Tx) error {
			err := tx.SetFindings(ctx, id, store.Findings{Plan: &video.Plan{Duration: 10 * time.Second}})
			return errors.Join(err, put(ctx, tx, id, video.Uploaded, []video.Chapter{{Start: 0, Title: "One"}, {Start: 4 * time.Second, Title: "Two"}, {Start: 10 * time.Second, Title: "Late"}}))
		})
		want := []video.ChapterSpan{{Chapter: video.Chapter{Title: "One"}, End: 4 * time.Second}, {Chapter: video.Chapter{Start: 4 * time.Second, Title: "Two"}, End: 10 * time.Second}}
		if got, err := Published(ctx, st.Queries, id, false); err != nil || !slices.Equal(got, want) {
			t.Errorf("viewers see %v, %v; want %v", got, err, want)
		}
		if got, err := Published(ctx, st.Queries, id, true); err != nil || got != nil {
			t.Errorf("at its public address, a private video has %v, %v", got, err)
		}
		storetest.Change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(ctx, id, time.Now()) })
		if got, err := Published(ctx, st.Queries, id, false); err != nil || got != nil {
			t.Errorf("a deleted video has %v, %v", got, err)
		}
	})
}

func TestChaptersAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, func(tx *store.Tx) error {
		_, errOf := Of(t.Context(), tx.Queries, "a")
		_, errPublished := Published(t.Context(), tx.Queries, "a", true)
		return errors.Join(errOf, errPublished)
	})
}
