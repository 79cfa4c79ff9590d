package imports

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// noon is a time that the store can keep exactly.
var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func TestRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *store.Store)
	}{
		{"what a try has shown is there for the next", triesAreStored},
		{"progress is stored while the file is fetched", progressIsStored},
		{"fails and is tried again", importFails},
		{"ends with its video", importEnds},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, tt.run)
		})
	}
}

func TestRowsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	storetest.WantIndexes(t, func(tx *store.Tx) error {
		ctx := t.Context()
		v := newVideo()
		if err := tx.InsertVideo(ctx, v); err != nil {
			return err
		}
		if err := insertRow(ctx, tx, v.ID, "https://example.com"); err != nil {
			return err
		}
		r, err := beginTry(ctx, tx, v.ID, noon)
		for _, change := range []func() error{
			func() error { return setVersion(ctx, tx, r) },
			func() error { return setTries(ctx, tx, r) },
			func() error { _, err := failVideo(ctx, tx, v.ID, refused, noon); return err },
			func() error { _, err := restart(ctx, tx, v.ID); return err },
			func() error { return finish(ctx, tx, v.ID) },
		} {
			if err == nil {
				err = change()
			}
		}
		return err
	})
}

// refused is why an import fails in these tests.
var refused = video.Failf(video.ImportRefused, "No.")

func newVideo() video.Video {
	id := video.ID(uuid.NewString())
	return video.Video{
		ID: id, Tenant: "a", Filename: "a.mp4", ContentType: "video/mp4", Status: video.PendingUpload, Imported: true,
		CreatedAt: noon, UploadExpiresAt: Forever,
		Resolutions: []video.Resolution{{ID: video.ResolutionID("r" + id), VideoID: id, Name: "720p", Status: video.PendingUpload}},
	}
}

func inTx(t *testing.T, st *store.Store, f func(tx *store.Tx) error) {
	t.Helper()
	if err := st.InTx(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// importing stores a video whose file is to be fetched.
func importing(t *testing.T, st *store.Store) video.ID {
	t.Helper()
	v := newVideo()
	inTx(t, st, func(tx *store.Tx) error {
		if err := tx.InsertVideo(t.Context(), v); err != nil {
			return err
		}
		return insertRow(t.Context(), tx, v.ID, "https://example.com/a.mp4")
	})
	return v.ID
}

func read(t *testing.T, st *store.Store, id video.ID) video.Video {
	t.Helper()
	v, err := st.Video(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// begun is the row at the beginning of a try.
func begun(t *testing.T, st *store.Store, id video.ID, at time.Time) (r row) {
	t.Helper()
	inTx(t, st, func(tx *store.Tx) (err error) {
		r, err = beginTry(t.Context(), tx, id, at)
		return err
	})
	return r
}

// wantEnded wants no try to begin.
func wantEnded(t *testing.T, st *store.Store, id video.ID) {
	t.Helper()
	inTx(t, st, func(tx *store.Tx) error {
		if r, err := beginTry(t.Context(), tx, id, noon); video.KindOf(err) != video.NotFound {
			t.Errorf("a try begins with %+v, %v; want none", r, err)
		}
		return nil
	})
}

func triesAreStored(t *testing.T, st *store.Store) {
	id := importing(t, st)
	r := begun(t, st, id, noon)
	if want := (row{video: id, url: "https://example.com/a.mp4", startedAt: noon}); r != want {
		t.Errorf("the first try begins with %+v; want %+v", r, want)
	}
	r.etag, r.modified, r.tries, r.troubleAt, r.peak = `"e"`, "yesterday", 3, noon.Add(time.Second), 99
	inTx(t, st, func(tx *store.Tx) error {
		if err := setVersion(t.Context(), tx, r); err != nil {
			return err
		}
		return setTries(t.Context(), tx, r)
	})
	if got := begun(t, st, id, noon.Add(time.Hour)); got != r {
		t.Errorf("the second try begins with %+v; want %+v", got, r)
	}
}

func progressIsStored(t *testing.T, st *store.Store) {
	id := importing(t, st)
	progress := func(p float64) {
		inTx(t, st, func(tx *store.Tx) error { return tx.SetImportProgress(t.Context(), id, p) })
	}
	progress(0.25)
	if got := read(t, st, id); got.ImportProgress != 0.25 || !got.Imported {
		t.Errorf("the progress is %g; want a quarter", got.ImportProgress)
	}
	inTx(t, st, func(tx *store.Tx) error { return finish(t.Context(), tx, id) })
	progress(0.5)
	if got := read(t, st, id); got.ImportProgress != 1 {
		t.Errorf("after the end, the progress is %g; want 1", got.ImportProgress)
	}
}

func importFails(t *testing.T, st *store.Store) {
	ctx, id := t.Context(), importing(t, st)
	restarted := func() (ok bool) {
		inTx(t, st, func(tx *store.Tx) (err error) {
			ok, err = restart(ctx, tx, id)
			return err
		})
		return ok
	}
	if restarted() {
		t.Error("an import that goes on was restarted")
	}
	r := begun(t, st, id, noon)
	r.tries, r.troubleAt, r.peak, r.etag = 2, noon, 5, `"e"`
	inTx(t, st, func(tx *store.Tx) error {
		failed, err := failVideo(ctx, tx, id, refused, noon)
		if err != nil || !failed {
			t.Errorf("an import does not fail: %v", err)
		}
		return setVersion(ctx, tx, r)
	})
	got := read(t, st, id)
	if got.Status != video.Fail || got.Failure.Code != video.ImportRefused || got.Resolutions[0].Status != video.Fail || !got.UploadExpiresAt.Equal(noon) {
		t.Errorf("after its import has failed, the video is %+v", got)
	}
	wantEnded(t, st, id)
	if !restarted() {
		t.Error("a failed import was not restarted")
	}
	got = read(t, st, id)
	if got.Status != video.PendingUpload || got.Failure != nil || got.Resolutions[0].Status != video.PendingUpload || !got.UploadExpiresAt.Equal(Forever) || got.ImportProgress != 0 {
		t.Errorf("after its import was restarted, the video is %+v", got)
	}
	again := begun(t, st, id, noon.Add(time.Hour))
	if want := (row{video: id, url: "https://example.com/a.mp4", startedAt: noon.Add(time.Hour), etag: `"e"`}); again != want {
		t.Errorf("the restarted import begins with %+v; want %+v", again, want)
	}
}

func importEnds(t *testing.T, st *store.Store) {
	ctx := t.Context()
	accepted, deleted, removed := importing(t, st), importing(t, st), importing(t, st)
	inTx(t, st, func(tx *store.Tx) error {
		if _, err := tx.AcceptUpload(ctx, accepted, video.Source{Key: "k", Size: 1}, noon); err != nil {
			return err
		}
		if err := finish(ctx, tx, accepted); err != nil {
			return err
		}
		if err := tx.MarkDeleted(ctx, deleted, noon); err != nil {
			return err
		}
		if err := Forget(ctx, tx, deleted); err != nil {
			return err
		}
		return tx.RemoveVideo(ctx, removed)
	})
	for _, id := range []video.ID{accepted, deleted, removed} {
		wantEnded(t, st, id)
		inTx(t, st, func(tx *store.Tx) error {
			if failed, err := failVideo(ctx, tx, id, refused, noon); failed || err != nil {
				t.Errorf("a video without an import fails: %t, %v", failed, err)
			}
			return nil
		})
	}
	if got := read(t, st, accepted); got.ImportProgress != 1 || got.Status != video.Processing {
		t.Errorf("after its import, the video is %s at %g", got.Status, got.ImportProgress)
	}
	waits := importing(t, st)
	ids, err := st.AbandonedUploads(ctx, noon.Add(1000*24*time.Hour), 10)
	if err != nil || len(ids) > 0 {
		t.Errorf("imports that wait are abandoned: %v, %v (%s)", ids, err, waits)
	}
}

// A deletion changes the video first and its import then. Whatever changed them in the other order could
// wait for it while it waits for that.
func TestTheVideoIsLockedFirst(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(ctx context.Context, f *fetch) error{
		"a try ends": func(ctx context.Context, f *fetch) error {
			return f.change(ctx, func(tx *store.Tx) error { return setTries(ctx, tx, f.row) })
		},
		"it fails": func(ctx context.Context, f *fetch) error {
			return f.store.InTx(ctx, func(tx *store.Tx) error { _, err := failVideo(ctx, tx, f.row.video, refused, noon); return err })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := store.OpenPostgres(t.Context(), pgtest.Fresh(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { st.Close() })
			f := &fetch{Service: &Service{store: st}, row: row{video: importing(t, st)},
				lease: uploads.Lease{Hold: func(context.Context, *store.Tx) (bool, error) { return true, nil }}}
			done := make(chan error, 1)
			inTx(t, st, func(tx *store.Tx) error {
				if _, err := tx.ExecContext(t.Context(), `SELECT 1 FROM video_import FOR UPDATE`); err != nil {
					return err
				}
				go func() { done <- change(t.Context(), f) }()
				waitForVideo(t, st)
				return nil
			})
			if err := <-done; err != nil {
				t.Logf("after it waited for long: %v", err)
			}
		})
	}
}

// waitForVideo waits until a transaction has locked the video.
func waitForVideo(t *testing.T, st *store.Store) {
	t.Helper()
	const free = `SELECT count(*) FROM (SELECT 1 FROM video FOR NO KEY UPDATE SKIP LOCKED) AS v`
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		n := 0
		inTx(t, st, func(tx *store.Tx) error { return tx.QueryRowContext(t.Context(), free).Scan(&n) })
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("after a minute, the video is not locked")
		}
	}
}
