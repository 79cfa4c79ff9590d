package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func transactionTests() []test {
	return []test{
		{"an error undoes everything", errorUndoes},
		{"a panic undoes everything and goes on", panicUndoes},
		{"a cancelled transaction undoes everything", cancelUndoes},
		{"nothing is seen before the commit", nothingBeforeCommit},
		{"functions run after the commit, in order", onCommitRuns},
		{"functions do not run without a commit", onCommitWaits},
		{"a transaction may follow from a commit", transactionAfterCommit},
		{"a lock makes the next one wait", lockWaits},
		{"a lock finds no video that is gone", lockFindsNothing},
		{"a lock ends with its transaction", lockEnds},
	}
}

func errorUndoes(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v, w := Stored(t, st, video.Processing, "720p"), NewVideo("144p")
	sad := errors.New("sad")
	err := st.InTx(ctx, func(tx *store.Tx) error {
		return errors.Join(
			tx.InsertVideo(ctx, w), tx.MoveVideo(ctx, v.ID, video.Ready, nil), tx.RemoveResolution(ctx, v.Resolutions[0].ID),
			tx.InsertSteps(ctx, v.ID, encodeSteps(1)), sad)
	})
	if !errors.Is(err, sad) || err.Error() != "sad" {
		t.Errorf("InTx = %v, want the error of the function and no other", err)
	}
	wantVideo(t, st, v)
	wantNoVideo(t, st, w.ID)
	wantSteps(t, st, v.ID)
}

func panicUndoes(t *testing.T, st *store.Store) {
	v := NewVideo("720p")
	func() {
		defer func() {
			if got := recover(); got != "boom" {
				t.Errorf("recovered %v, want the panic of the function", got)
			}
		}()
		_ = st.InTx(t.Context(), func(tx *store.Tx) error {
			tx.OnCommit(func() { t.Error("a function ran though nothing was committed") })
			if err := tx.InsertVideo(t.Context(), v); err != nil {
				t.Error(err)
			}
			panic("boom")
		})
	}()
	wantNoVideo(t, st, v.ID)
	insert(t, st, v) // the store can be written to as before
	wantVideo(t, st, v)
}

func cancelUndoes(t *testing.T, st *store.Store) {
	v := NewVideo("720p")
	ctx, cancel := context.WithCancel(t.Context())
	err := st.InTx(ctx, func(tx *store.Tx) error {
		tx.OnCommit(func() { t.Error("a function ran though nothing was committed") })
		err := tx.InsertVideo(ctx, v)
		cancel()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("InTx = %v, want %v", err, context.Canceled)
	}
	err = st.InTx(ctx, func(*store.Tx) error { t.Error("a transaction began in vain"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("InTx = %v, want %v", err, context.Canceled)
	}
	if _, err = st.Video(ctx, v.ID); !errors.Is(err, context.Canceled) {
		t.Errorf("Video = %v, want %v", err, context.Canceled)
	}
	wantNoVideo(t, st, v.ID)
	insert(t, st, v) // the store can be written to as before
	wantVideo(t, st, v)
}

func nothingBeforeCommit(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v, w := Stored(t, st, video.Processing, "720p"), NewVideo("144p")
	Change(t, st, func(tx *store.Tx) error {
		err := errors.Join(tx.InsertVideo(ctx, w), tx.MoveVideo(ctx, v.ID, video.Ready, nil), tx.InsertSteps(ctx, v.ID, encodeSteps(2)))
		if got, err := tx.Video(ctx, v.ID); err != nil || got.Status != video.Ready {
			t.Errorf("inside: status %s, %v; want what was written", got.Status, err)
		}
		if steps, err := tx.Steps(ctx, v.ID); err != nil || len(steps) != 2 {
			t.Errorf("inside: %d steps, %v; want what was written", len(steps), err)
		}
		wantVideo(t, st, v)
		wantNoVideo(t, st, w.ID)
		wantSteps(t, st, v.ID)
		return err
	})
	v.Status = video.Ready
	wantVideo(t, st, v)
	wantVideo(t, st, w)
	wantSteps(t, st, v.ID, encodeSteps(2)...)
}

func onCommitRuns(t *testing.T, st *store.Store) {
	v := NewVideo("720p")
	var ran []int
	Change(t, st, func(tx *store.Tx) error {
		for i := range 3 {
			tx.OnCommit(func() {
				ran = append(ran, i)
				wantVideo(t, st, v)
			})
		}
		err := tx.InsertVideo(t.Context(), v)
		if ran != nil {
			t.Error("a function ran before the commit")
		}
		return err
	})
	if !slices.Equal(ran, []int{0, 1, 2}) {
		t.Errorf("functions ran: %v, want each once and in order", ran)
	}
}

func onCommitWaits(t *testing.T, st *store.Store) {
	sad := errors.New("sad")
	err := st.InTx(t.Context(), func(tx *store.Tx) error {
		tx.OnCommit(func() { t.Error("a function ran though nothing was committed") })
		return sad
	})
	if !errors.Is(err, sad) {
		t.Errorf("InTx = %v, want %v", err, sad)
	}
}

func transactionAfterCommit(t *testing.T, st *store.Store) {
	v := NewVideo("720p")
	Change(t, st, func(tx *store.Tx) error {
		tx.OnCommit(func() { insert(t, st, v) })
		return nil
	})
	wantVideo(t, st, v)
}

// quietTime is how long a test waits for what must not happen.
const quietTime = 50 * time.Millisecond

func lockWaits(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := Stored(t, st, video.Processing, "720p")
	locked, ended := make(chan struct{}), make(chan error, 1)
	Change(t, st, func(tx *store.Tx) error {
		if err := tx.Lock(ctx, v.ID); err != nil {
			return err
		}
		go func() {
			ended <- st.InTx(ctx, func(tx *store.Tx) error {
				if err := tx.Lock(ctx, v.ID); err != nil {
					return err
				}
				close(locked)
				steps, err := tx.Steps(ctx, v.ID)
				if len(steps) != 1 {
					t.Errorf("the second holder of the lock sees %d steps, want the first holder's one", len(steps))
				}
				return err
			})
		}()
		select {
		case <-locked:
			t.Error("two transactions hold the lock of one video")
		case <-time.After(quietTime):
		}
		return tx.InsertSteps(ctx, v.ID, encodeSteps(1))
	})
	if err := <-ended; err != nil {
		t.Error(err)
	}
	wantVideo(t, st, v)
}

func lockFindsNothing(t *testing.T, st *store.Store) {
	ctx := t.Context()
	lock := func(id video.ID) error {
		return st.InTx(ctx, func(tx *store.Tx) error { return tx.Lock(ctx, id) })
	}
	v := Stored(t, st, video.Processing, "720p")
	if err := lock(v.ID); err != nil {
		t.Error(err)
	}
	Change(t, st, func(tx *store.Tx) error { return tx.MarkDeleted(ctx, v.ID, noon) })
	wantCode(t, lock(v.ID), video.NotFound, "video_not_found")
	Change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(ctx, v.ID) })
	wantCode(t, lock(v.ID), video.NotFound, "video_not_found")
}

func lockEnds(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := Stored(t, st, video.Processing, "720p")
	for _, end := range []error{nil, errors.New("sad"), nil} {
		err := st.InTx(ctx, func(tx *store.Tx) error { return errors.Join(tx.Lock(ctx, v.ID), end) })
		if !errors.Is(err, end) || (err != nil) != (end != nil) {
			t.Errorf("InTx = %v, want %v", err, end)
		}
	}
}
