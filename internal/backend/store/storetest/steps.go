package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func stepTests() []test {
	return []test{
		{"steps are added up", stepsAreAddedUp},
		{"steps are listed by kind and number", stepsAreListed},
		{"a plan of a thousand steps is stored", thousandSteps},
		{"steps that are stored again keep what was done", stepsKeepProgress},
		{"a step is finished once", stepIsFinishedOnce},
		{"progress counts while somebody waits for it", progressIsWanted},
		{"faults are counted for each step", faultsAreCounted},
		{"a step needs its video", stepNeedsItsVideo},
		{"dropped steps are gone", stepsAreDropped},
	}
}

// encodeSteps returns n steps as they are before any work.
func encodeSteps(n int) []store.Step {
	steps := make([]store.Step, n)
	for i := range steps {
		steps[i] = store.Step{Kind: "encode", Number: i, Weight: float64(i) + 1.0/3}
	}
	return steps
}

func wantSteps(t *testing.T, st *store.Store, id video.ID, want ...store.Step) {
	t.Helper()
	got, err := st.Steps(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// planned stores a video with these steps.
func planned(t *testing.T, st *store.Store, steps ...store.Step) video.ID {
	t.Helper()
	v := Stored(t, st, video.Processing, "720p")
	Change(t, st, func(tx *store.Tx) error { return tx.InsertSteps(t.Context(), v.ID, steps) })
	return v.ID
}

// finish calls FinishStep and checks its answer.
func finish(t *testing.T, st *store.Store, id video.ID, number int, frames int64, want bool) {
	t.Helper()
	Change(t, st, func(tx *store.Tx) error {
		got, err := tx.FinishStep(t.Context(), id, store.Step{Kind: "encode", Number: number, Frames: frames, Run: "one"}, noon)
		if got != want {
			t.Errorf("FinishStep(%d) = %t, want %t", number, got, want)
		}
		return err
	})
}

// progress calls SetProgress and checks its answer.
func progress(t *testing.T, st *store.Store, id video.ID, kind string, number int, done float64, want bool) {
	t.Helper()
	got, err := st.SetProgress(t.Context(), id, kind, number, done)
	if err != nil || got != want {
		t.Errorf("SetProgress(%s, %d, %v) = %t, %v; want %t", kind, number, done, got, err, want)
	}
}

func stepsAreListed(t *testing.T, st *store.Store) {
	id := planned(t, st,
		store.Step{Kind: "encode", Number: 10, Weight: 0.1}, store.Step{Kind: "encode", Number: 9, Weight: 1e-9},
		store.Step{Kind: "audio", Weight: 3}, store.Step{Kind: "encode", Number: 0, Weight: 1e9}, store.Step{Kind: "assemble", Number: 1})
	planned(t, st, encodeSteps(3)...)
	wantSteps(t, st, id,
		store.Step{Kind: "assemble", Number: 1}, store.Step{Kind: "audio", Weight: 3}, store.Step{Kind: "encode", Number: 0, Weight: 1e9},
		store.Step{Kind: "encode", Number: 9, Weight: 1e-9}, store.Step{Kind: "encode", Number: 10, Weight: 0.1})
}

func thousandSteps(t *testing.T, st *store.Store) {
	for _, n := range []int{0, 1, 99, 100, 101, 1000} {
		var want []store.Step
		if n > 0 {
			want = encodeSteps(n)
		}
		wantSteps(t, st, planned(t, st, want...), want...)
	}
}

func stepsKeepProgress(t *testing.T, st *store.Store) {
	id := planned(t, st, encodeSteps(3)...)
	finish(t, st, id, 0, 250, true)
	progress(t, st, id, "encode", 1, 0.25, true)
	Change(t, st, func(tx *store.Tx) error { return tx.InsertSteps(t.Context(), id, encodeSteps(4)) })
	want := encodeSteps(4)
	want[0].Done, want[0].Progress, want[0].Frames, want[0].Run = true, 1, 250, "one"
	want[1].Progress = 0.25
	wantSteps(t, st, id, want...)
}

func stepIsFinishedOnce(t *testing.T, st *store.Store) {
	id, other := planned(t, st, encodeSteps(2)...), planned(t, st, encodeSteps(2)...)
	finish(t, st, id, 1, 720, true)
	finish(t, st, id, 1, 719, false)
	finish(t, st, id, 2, 720, false)            // there is no such step
	finish(t, st, NewVideo().ID, 1, 720, false) // nor such a video
	want := encodeSteps(2)
	want[1].Done, want[1].Progress, want[1].Frames, want[1].Run = true, 1, 720, "one"
	wantSteps(t, st, id, want...)
	wantSteps(t, st, other, encodeSteps(2)...)
}

func progressIsWanted(t *testing.T, st *store.Store) {
	id := planned(t, st, encodeSteps(2)...)
	progress(t, st, id, "encode", 0, 0.5, true)
	progress(t, st, id, "encode", 0, 0.5, true) // the same again is still wanted
	progress(t, st, id, "encode", 0, 0.75, true)
	progress(t, st, id, "encode", 7, 0.5, false)
	want := encodeSteps(2)
	want[0].Progress = 0.75
	wantSteps(t, st, id, want...)

	finish(t, st, id, 0, 100, true)
	progress(t, st, id, "encode", 0, 0.8, false)
	want[0].Done, want[0].Progress, want[0].Frames, want[0].Run = true, 1, 100, "one"
	wantSteps(t, st, id, want...)

	Change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(t.Context(), id) })
	progress(t, st, id, "encode", 1, 0.5, false)
}

func faultsAreCounted(t *testing.T, st *store.Store) {
	id, other := planned(t, st, encodeSteps(2)...), planned(t, st, encodeSteps(2)...)
	finish(t, st, id, 1, 100, true)
	for _, tt := range []struct {
		id     video.ID
		kind   string
		number int
		want   int
	}{
		{id, "encode", 0, 1}, {id, "encode", 0, 2}, {id, "encode", 1, 1}, {other, "encode", 0, 1},
		{id, "inspect", 0, 1}, {id, "inspect", 0, 2}, {id, "encode", 0, 3},
	} {
		Change(t, st, func(tx *store.Tx) error {
			got, err := tx.CountFault(t.Context(), tt.id, tt.kind, tt.number)
			if got != tt.want {
				t.Errorf("CountFault(%s %d) = %d, want %d", tt.kind, tt.number, got, tt.want)
			}
			return err
		})
	}
	want := append(encodeSteps(2), store.Step{Kind: "inspect"}) // the counted step has no weight of its own
	want[1].Done, want[1].Progress, want[1].Frames, want[1].Run = true, 1, 100, "one"
	wantSteps(t, st, id, want...)
	wantSteps(t, st, other, encodeSteps(2)...)
}

func stepNeedsItsVideo(t *testing.T, st *store.Store) {
	ctx, id := t.Context(), NewVideo().ID
	if err := st.InTx(ctx, func(tx *store.Tx) error { return tx.InsertSteps(ctx, id, encodeSteps(1)) }); err == nil {
		t.Error("InsertSteps stored a step of a video that is not there")
	}
	err := st.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.CountFault(ctx, id, "inspect", 0)
		return err
	})
	if err == nil {
		t.Error("CountFault made a step of a video that is not there")
	}
	wantSteps(t, st, id)
}

func stepsAreDropped(t *testing.T, st *store.Store) {
	ctx := t.Context()
	id, other := planned(t, st, encodeSteps(3)...), planned(t, st, encodeSteps(3)...)
	finish(t, st, id, 0, 100, true)
	for range 2 { // the second time there is nothing to drop
		Change(t, st, func(tx *store.Tx) error { return tx.DropSteps(ctx, id) })
		wantSteps(t, st, id)
	}
	wantSteps(t, st, other, encodeSteps(3)...)
	Change(t, st, func(tx *store.Tx) error {
		done, err := tx.FinishStep(ctx, id, store.Step{Kind: "encode", Number: 1, Frames: 100}, noon.Add(time.Second))
		if done {
			t.Error("a dropped step was finished")
		}
		return err
	})
}

func stepsAreAddedUp(t *testing.T, st *store.Store) {
	ctx := t.Context()
	var ids []video.ID
	for i := range 11 {
		v := Stored(t, st, video.Processing, "720p")
		ids = append(ids, v.ID)
		steps := []store.Step{{Kind: "assemble", Number: 0, Weight: 1}, {Kind: "assemble", Number: 1, Weight: 2}, {Kind: "measure"},
			{Kind: "encode", Number: 0, Weight: 1}, {Kind: "encode", Number: 1, Weight: 3}}
		Change(t, st, func(tx *store.Tx) error { return tx.InsertSteps(ctx, v.ID, steps) })
		progress(t, st, v.ID, "assemble", 1, 0.5, true)
		progress(t, st, v.ID, "encode", 1, float64(i)/16, true)
	}
	sums, err := st.StepTotals(ctx, append(ids, NewVideo().ID), "assemble")
	if err != nil || len(sums) != len(ids) {
		t.Fatalf("sums of %d videos, %v; want %d", len(sums), err, len(ids))
	}
	for i, id := range ids {
		want := []store.Step{{Kind: "assemble", Weight: 1}, {Kind: "assemble", Number: 1, Weight: 2, Progress: 0.5},
			{Kind: "encode", Weight: 4, Progress: 3 * float64(i) / 64}, {Kind: "measure"}}
		got := slices.SortedFunc(slices.Values(sums[id]), func(a, b store.Step) int {
			return slices.Compare([]string{a.Kind, fmt.Sprint(a.Number)}, []string{b.Kind, fmt.Sprint(b.Number)})
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sums (-want +got):\n%s", diff)
		}
	}
	if sums, err := st.StepTotals(ctx, nil, "assemble"); err != nil || len(sums) != 0 {
		t.Errorf("sums of no videos = %v, %v", sums, err)
	}
}
