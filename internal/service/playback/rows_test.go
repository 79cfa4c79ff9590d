package playback

import (
	"os"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func TestTheVersionChangesWithWhatIsDoneAndDeleted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		ctx, noon := t.Context(), time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
		id := storetest.Stored(t, st, video.Processing, "720p").ID
		read := func() version {
			t.Helper()
			v, err := versionOf(ctx, st.Queries, id)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		change := func(f func(tx *store.Tx) error) version {
			t.Helper()
			storetest.Change(t, st, f)
			return read()
		}
		before := change(func(tx *store.Tx) error {
			return tx.InsertSteps(ctx, id, []store.Step{{Kind: "encode", Weight: 1}, {Kind: "encode", Number: 1, Weight: 1}})
		})
		if _, err := st.SetProgress(ctx, id, "encode", 0, 0.5); err != nil {
			t.Fatal(err)
		}
		if again := read(); again != before || before.Steps != 2 || before.Done != 0 || before.Resolutions != 1 {
			t.Errorf("the version is %+v, and was %+v", again, before)
		}
		done := change(func(tx *store.Tx) error {
			_, err := tx.FinishStep(ctx, id, store.Step{Kind: "encode", Frames: 720}, noon)
			return err
		})
		if done.Done != 1 {
			t.Errorf("with a step done, the version is %+v", done)
		}
		if v := change(func(tx *store.Tx) error { return tx.SetFindings(ctx, id, store.Findings{Playable: noon}) }); v.PlayableAt != noon.UnixMilli() {
			t.Errorf("since it is playable, the version is %+v", v)
		}
		if v := change(func(tx *store.Tx) error { return tx.MarkDeleted(ctx, id, noon) }); !v.Deleted {
			t.Errorf("of a deleted video, the version is %+v", v)
		}
		storetest.Change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, id) })
		if _, err := versionOf(ctx, st.Queries, id); video.KindOf(err) != video.NotFound {
			t.Errorf("of no video, the version is %v", err)
		}
	})
}
