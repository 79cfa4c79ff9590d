package storetest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func raceTests() []test {
	return []test{
		{"one of many accepts the upload", oneAccepts},
		{"an upload is accepted or refused, never both", acceptOrRefuse},
		{"one of many expires the upload", oneExpires},
		{"one of many finishes the step", oneFinishes},
		{"one of many is the last one out", lastOneOut},
		{"no fault is lost", noFaultIsLost},
		{"one of many removes the resolution", oneRemoves},
		{"one of many deletes the video", oneDeletes},
		{"one of many names the database", oneNames},
		{"a read never shows half a transaction", readsAreWhole},
		{"readers and writers do not disturb each other", readersAndWriters},
	}
}

// racers is how many goroutines try the same thing at once.
const racers = 8

// race runs f in racers transactions at once and returns how many of them
// committed with true.
func race(t *testing.T, st *store.Store, f func(ctx context.Context, tx *store.Tx, racer int) (bool, error)) int {
	t.Helper()
	var won atomic.Int64
	var racing sync.WaitGroup
	start := make(chan struct{})
	for i := range racers {
		racing.Go(func() {
			<-start
			var ok bool
			err := st.InTx(t.Context(), func(tx *store.Tx) (err error) {
				ok, err = f(t.Context(), tx, i)
				return err
			})
			if err != nil {
				t.Errorf("racer %d: %v", i, err)
			} else if ok {
				won.Add(1)
			}
		})
	}
	close(start)
	racing.Wait()
	return int(won.Load())
}

func wantOne(t *testing.T, winners int) {
	t.Helper()
	if winners != 1 {
		t.Errorf("%d of %d won, want one", winners, racers)
	}
}

func oneAccepts(t *testing.T, st *store.Store) {
	v := Stored(t, st, video.PendingUpload, "720p", "144p")
	wantOne(t, race(t, st, func(ctx context.Context, tx *store.Tx, _ int) (bool, error) {
		return tx.AcceptUpload(ctx, v.ID, someSource, noon)
	}))
	wantVideo(t, st, accepted(v))
}

func acceptOrRefuse(t *testing.T, st *store.Store) {
	v := Stored(t, st, video.PendingUpload, "720p")
	f := video.Failf(video.UploadExpired, "Too late.")
	race(t, st, func(ctx context.Context, tx *store.Tx, racer int) (bool, error) {
		if racer%2 == 0 {
			return tx.AcceptUpload(ctx, v.ID, someSource, noon)
		}
		return tx.RefuseUpload(ctx, v.ID, f)
	})
	wantVideo(t, st, accepted(v)) // an accepted upload stays accepted, in either order
}

func oneExpires(t *testing.T, st *store.Store) {
	v := expired(t, st, video.PendingUpload, "720p", "144p")
	wantOne(t, race(t, st, func(ctx context.Context, tx *store.Tx, _ int) (bool, error) {
		return tx.ExpireUpload(ctx, v.ID, noon, tooLate)
	}))
	wantVideo(t, st, refused(v, tooLate))
}

func oneFinishes(t *testing.T, st *store.Store) {
	id := planned(t, st, encodeSteps(1)...)
	var frames atomic.Int64
	wantOne(t, race(t, st, func(ctx context.Context, tx *store.Tx, racer int) (bool, error) {
		done, err := tx.FinishStep(ctx, id, store.Step{Kind: "encode", Frames: int64(racer)}, noon)
		if done {
			frames.Store(int64(racer))
		}
		return done, err
	}))
	want := encodeSteps(1)
	want[0].Done, want[0].Progress, want[0].Frames = true, 1, frames.Load()
	wantSteps(t, st, id, want...)
}

// lastOneOut checks that exactly one worker learns that it finished the last step, since it has to go on.
func lastOneOut(t *testing.T, st *store.Store) {
	id := planned(t, st, encodeSteps(racers)...)
	wantOne(t, race(t, st, func(ctx context.Context, tx *store.Tx, racer int) (bool, error) {
		if err := tx.Lock(ctx, id); err != nil {
			return false, err
		}
		if done, err := tx.FinishStep(ctx, id, store.Step{Kind: "encode", Number: racer, Frames: 1}, noon); err != nil || !done {
			return false, err
		}
		steps, err := tx.Steps(ctx, id)
		for _, s := range steps {
			if !s.Done {
				return false, err
			}
		}
		return true, err
	}))
}

func noFaultIsLost(t *testing.T, st *store.Store) {
	id := planned(t, st)
	var seen [racers + 1]atomic.Int64
	race(t, st, func(ctx context.Context, tx *store.Tx, _ int) (bool, error) {
		n, err := tx.CountFault(ctx, id, "inspect", 0)
		if err == nil && n <= racers {
			seen[n].Add(1)
		}
		return true, err
	})
	for n := 1; n <= racers; n++ {
		if got := seen[n].Load(); got != 1 {
			t.Errorf("fault number %d was counted %d times", n, got)
		}
	}
}

func oneRemoves(t *testing.T, st *store.Store) {
	v := Stored(t, st, video.Ready, "720p", "144p")
	wantOne(t, race(t, st, func(ctx context.Context, tx *store.Tx, _ int) (bool, error) {
		err := tx.RemoveResolution(ctx, v.Resolutions[0].ID)
		if video.KindOf(err) == video.NotFound {
			return false, nil
		}
		return err == nil, err
	}))
	v.Resolutions = v.Resolutions[1:]
	wantVideo(t, st, v)
}

func oneDeletes(t *testing.T, st *store.Store) {
	v := Stored(t, st, video.Ready, "720p")
	wantOne(t, race(t, st, func(ctx context.Context, tx *store.Tx, _ int) (bool, error) {
		if err := tx.Lock(ctx, v.ID); video.KindOf(err) == video.NotFound {
			return false, nil
		} else if err != nil {
			return false, err
		}
		return true, tx.MarkDeleted(ctx, v.ID, noon)
	}))
}

// readsAreWhole checks that a reader sees a video and its resolutions, which are in two
// tables, as of the same moment: never a video in processing with all resolutions ready,
// nor a video without resolutions while it is being removed.
func readsAreWhole(t *testing.T, st *store.Store) {
	ctx := t.Context()
	for range 15 {
		v := Stored(t, st, video.Processing, "720p")
		var writing sync.WaitGroup
		writing.Go(func() {
			change := func(f func(*store.Tx) error) {
				if err := st.InTx(ctx, f); err != nil {
					t.Error(err)
				}
			}
			change(func(tx *store.Tx) error {
				if err := tx.MoveResolution(ctx, v.Resolutions[0].ID, video.Ready, nil); err != nil {
					return err
				}
				return tx.MoveVideo(ctx, v.ID, video.Ready, nil)
			})
			change(func(tx *store.Tx) error { return tx.RemoveVideo(ctx, v.ID) })
		})
		for {
			got, err := st.Video(ctx, v.ID)
			if video.KindOf(err) == video.NotFound {
				break
			}
			if err != nil || len(got.Resolutions) != 1 || got.Resolutions[0].Status != got.Status {
				t.Errorf("read %s with %+v, %v", got.Status, got.Resolutions, err)
				break
			}
		}
		writing.Wait()
	}
}

func readersAndWriters(t *testing.T, st *store.Store) {
	ctx, rounds := t.Context(), 10
	var working sync.WaitGroup
	for range racers {
		working.Go(func() {
			for range rounds {
				v := NewVideo("720p", "144p")
				err := st.InTx(ctx, func(tx *store.Tx) error { return tx.InsertVideo(ctx, v) })
				if err != nil {
					t.Errorf("write: %v", err)
				}
				if got, err := st.Video(ctx, v.ID); err != nil || len(got.Resolutions) != 2 {
					t.Errorf("read own write: %d resolutions, %v", len(got.Resolutions), err)
				}
				if _, err := st.Video(ctx, video.ID(uuid.NewString())); video.KindOf(err) != video.NotFound {
					t.Errorf("read: %v", err)
				}
			}
		})
	}
	working.Wait()
	ids, err := st.AbandonedUploads(ctx, noon.AddDate(1, 0, 0), 1000)
	if err != nil || len(ids) != racers*rounds {
		t.Errorf("%d videos, %v; want %d", len(ids), err, racers*rounds)
	}
}

func oneNames(t *testing.T, st *store.Store) {
	var naming sync.WaitGroup
	names := make([]string, racers)
	for i := range names {
		naming.Go(func() {
			var err error
			if names[i], err = st.Identity(t.Context(), uuid.NewString()); err != nil {
				t.Errorf("racer %d: %v", i, err)
			}
		})
	}
	naming.Wait()
	if names = slices.Compact(names); len(names) != 1 || names[0] == "" {
		t.Errorf("the database is called %q; want one name", names)
	}
}
