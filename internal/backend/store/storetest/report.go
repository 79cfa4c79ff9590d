package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

func reportTests() []test {
	return []test{
		{"runs come back as they were", runsComeBack},
		{"runs beyond the limit are counted only", runsAreBounded},
		{"the effort begins with the earliest run", effortBegins},
		{"the end of the work is remembered", endIsRemembered},
		{"a run needs its video", runNeedsItsVideo},
		{"runs go with their video", runsGoWithTheirVideo},
		{"a likeness is stored with its resolution", likenessIsStored},
	}
}

// aRun returns a run in which no field has its zero value.
func aRun(at time.Time) video.Execution {
	return video.Execution{
		Task: "encode", Number: 3, Attempt: 2, Program: "ffmpeg", Arguments: []string{"-i", "source", "", "é\"'\\\n", "out/v0.mp4"},
		StartedAt: at, Wall: 1500 * time.Microsecond, CPU: 3 * time.Second, Memory: 1 << 33, Result: "exit status 1",
	}
}

// addRuns stores runs of which most are kept.
func addRuns(t *testing.T, st *store.Store, id video.ID, most int, runs ...video.Execution) {
	t.Helper()
	for _, r := range runs {
		change(t, st, func(tx *store.Tx) error { return tx.AddExecution(t.Context(), id, r, most) })
	}
}

func wantRuns(t *testing.T, st *store.Store, id video.ID, want ...video.Execution) {
	t.Helper()
	got, err := st.Executions(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func wantEffort(t *testing.T, st *store.Store, id video.ID, want video.Cost) {
	t.Helper()
	got, err := st.Cost(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effort (-want +got):\n%s", diff)
	}
}

func runsComeBack(t *testing.T, st *store.Store) {
	v, other := stored(t, st, video.Processing), stored(t, st, video.Processing)
	wantRuns(t, st, v.ID)
	wantEffort(t, st, v.ID, video.Cost{})
	first, second := aRun(noon), video.Execution{Task: "inspect", Program: "ffprobe", StartedAt: noon.Add(time.Minute), Result: video.ExecutionOK}
	addRuns(t, st, v.ID, 10, first, second)
	addRuns(t, st, other.ID, 10, second)
	wantRuns(t, st, v.ID, first, second)
	wantRuns(t, st, other.ID, second)
	wantEffort(t, st, v.ID, video.Cost{Executions: 2, Wall: first.Wall, CPU: first.CPU, BeganAt: noon})
}

func runsAreBounded(t *testing.T, st *store.Store) {
	v := stored(t, st, video.Processing)
	var runs []video.Execution
	for i := range 5 {
		r := aRun(noon.Add(time.Duration(i) * time.Second))
		r.Number = i
		runs = append(runs, r)
	}
	addRuns(t, st, v.ID, 2, runs[:4]...)
	addRuns(t, st, v.ID, 3, runs[4]) // one that matters more
	wantRuns(t, st, v.ID, runs[0], runs[1], runs[4])
	wantEffort(t, st, v.ID, video.Cost{Executions: 5, Wall: 5 * runs[0].Wall, CPU: 5 * runs[0].CPU, BeganAt: noon})
}

func effortBegins(t *testing.T, st *store.Store) {
	v := stored(t, st, video.Processing)
	late, early := aRun(noon.Add(time.Hour)), aRun(noon)
	addRuns(t, st, v.ID, 10, late, early, late) // a long run that began first ends last
	wantEffort(t, st, v.ID, video.Cost{Executions: 3, Wall: 3 * late.Wall, CPU: 3 * late.CPU, BeganAt: noon})
}

func endIsRemembered(t *testing.T, st *store.Store) {
	v := stored(t, st, video.Processing)
	change(t, st, func(tx *store.Tx) error { return tx.MarkEnded(t.Context(), v.ID, noon) })
	wantEffort(t, st, v.ID, video.Cost{EndedAt: noon})
	r := aRun(noon.Add(time.Second)) // measuring comes after the end
	addRuns(t, st, v.ID, 10, r)
	want := video.Cost{Executions: 1, Wall: r.Wall, CPU: r.CPU, BeganAt: r.StartedAt, EndedAt: noon}
	wantEffort(t, st, v.ID, want)
	change(t, st, func(tx *store.Tx) error { return tx.MarkEnded(t.Context(), v.ID, noon.Add(time.Hour)) })
	want.EndedAt = noon.Add(time.Hour)
	wantEffort(t, st, v.ID, want)
}

func runNeedsItsVideo(t *testing.T, st *store.Store) {
	ctx, id := t.Context(), newVideo().ID
	if err := st.InTx(ctx, func(tx *store.Tx) error { return tx.AddExecution(ctx, id, aRun(noon), 10) }); err == nil {
		t.Error("AddRun stored a run of a video that is not there")
	}
	wantRuns(t, st, id)
	wantEffort(t, st, id, video.Cost{})
}

func runsGoWithTheirVideo(t *testing.T, st *store.Store) {
	v, other := stored(t, st, video.Ready, "720p"), stored(t, st, video.Ready, "720p")
	for _, id := range []video.ID{v.ID, other.ID} {
		addRuns(t, st, id, 10, aRun(noon), aRun(noon))
	}
	change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(t.Context(), v.ID) })
	wantRuns(t, st, v.ID)
	wantEffort(t, st, v.ID, video.Cost{})
	wantRuns(t, st, other.ID, aRun(noon), aRun(noon))
}

func likenessIsStored(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := stored(t, st, video.Ready, "720p", "144p")
	want := video.QualityScore{SSIM: 0.987654321, PSNR: 41.25}
	change(t, st, func(tx *store.Tx) error {
		if err := tx.SetQualityScore(ctx, "of nobody", want); err != nil {
			return err
		}
		return tx.SetQualityScore(ctx, v.Resolutions[1].ID, want)
	})
	v.Resolutions[1].Quality = &want
	wantVideo(t, st, v)
}
