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
		{"executions read back as stored", executionsReadBack},
		{"executions beyond the limit are only counted", executionsAreBounded},
		{"the cost begins with the earliest execution", costBegins},
		{"the end of the work is stored", endIsRemembered},
		{"an execution needs its video", executionNeedsItsVideo},
		{"executions are deleted with their video", executionsGoWithTheirVideo},
		{"a quality score is stored with its resolution", qualityScoreIsStored},
	}
}

// anExecution returns one in which no field has its zero value.
func anExecution(at time.Time) video.Execution {
	return video.Execution{
		Task: "encode", Number: 3, Attempt: 2, Program: "ffmpeg", Arguments: []string{"-i", "source", "", "é\"'\\\n", "out/v0.mp4"},
		StartedAt: at, Wall: 1500 * time.Microsecond, CPU: 3 * time.Second, Memory: 1 << 33, Result: "exit status 1",
	}
}

// addExecutions stores executions and keeps at most most of them.
func addExecutions(t *testing.T, st *store.Store, id video.ID, most int, runs ...video.Execution) {
	t.Helper()
	for _, r := range runs {
		change(t, st, func(tx *store.Tx) error { return tx.AddExecution(t.Context(), id, r, most) })
	}
}

func wantExecutions(t *testing.T, st *store.Store, id video.ID, want ...video.Execution) {
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

func executionsReadBack(t *testing.T, st *store.Store) {
	v, other := stored(t, st, video.Processing), stored(t, st, video.Processing)
	wantExecutions(t, st, v.ID)
	wantEffort(t, st, v.ID, video.Cost{})
	first, second := anExecution(noon), video.Execution{Task: "inspect", Program: "ffprobe", StartedAt: noon.Add(time.Minute), Result: video.ExecutionOK}
	addExecutions(t, st, v.ID, 10, first, second)
	addExecutions(t, st, other.ID, 10, second)
	wantExecutions(t, st, v.ID, first, second)
	wantExecutions(t, st, other.ID, second)
	wantEffort(t, st, v.ID, video.Cost{Executions: 2, Wall: first.Wall, CPU: first.CPU, BeganAt: noon})
}

func executionsAreBounded(t *testing.T, st *store.Store) {
	v := stored(t, st, video.Processing)
	var runs []video.Execution
	for i := range 5 {
		r := anExecution(noon.Add(time.Duration(i) * time.Second))
		r.Number = i
		runs = append(runs, r)
	}
	addExecutions(t, st, v.ID, 2, runs[:4]...)
	addExecutions(t, st, v.ID, 3, runs[4]) // one that matters more
	wantExecutions(t, st, v.ID, runs[0], runs[1], runs[4])
	wantEffort(t, st, v.ID, video.Cost{Executions: 5, Wall: 5 * runs[0].Wall, CPU: 5 * runs[0].CPU, BeganAt: noon})
}

func costBegins(t *testing.T, st *store.Store) {
	v := stored(t, st, video.Processing)
	late, early := anExecution(noon.Add(time.Hour)), anExecution(noon)
	addExecutions(t, st, v.ID, 10, late, early, late) // a long run that began first ends last
	wantEffort(t, st, v.ID, video.Cost{Executions: 3, Wall: 3 * late.Wall, CPU: 3 * late.CPU, BeganAt: noon})
}

func endIsRemembered(t *testing.T, st *store.Store) {
	v := stored(t, st, video.Processing)
	change(t, st, func(tx *store.Tx) error { return tx.MarkEnded(t.Context(), v.ID, noon) })
	wantEffort(t, st, v.ID, video.Cost{EndedAt: noon})
	r := anExecution(noon.Add(time.Second)) // measuring comes after the end
	addExecutions(t, st, v.ID, 10, r)
	want := video.Cost{Executions: 1, Wall: r.Wall, CPU: r.CPU, BeganAt: r.StartedAt, EndedAt: noon}
	wantEffort(t, st, v.ID, want)
	change(t, st, func(tx *store.Tx) error { return tx.MarkEnded(t.Context(), v.ID, noon.Add(time.Hour)) })
	want.EndedAt = noon.Add(time.Hour)
	wantEffort(t, st, v.ID, want)
}

func executionNeedsItsVideo(t *testing.T, st *store.Store) {
	ctx, id := t.Context(), newVideo().ID
	if err := st.InTx(ctx, func(tx *store.Tx) error { return tx.AddExecution(ctx, id, anExecution(noon), 10) }); err == nil {
		t.Error("AddExecution stored an execution of a video that is not there")
	}
	wantExecutions(t, st, id)
	wantEffort(t, st, id, video.Cost{})
}

func executionsGoWithTheirVideo(t *testing.T, st *store.Store) {
	v, other := stored(t, st, video.Ready, "720p"), stored(t, st, video.Ready, "720p")
	for _, id := range []video.ID{v.ID, other.ID} {
		addExecutions(t, st, id, 10, anExecution(noon), anExecution(noon))
	}
	change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(t.Context(), v.ID) })
	wantExecutions(t, st, v.ID)
	wantEffort(t, st, v.ID, video.Cost{})
	wantExecutions(t, st, other.ID, anExecution(noon), anExecution(noon))
}

func qualityScoreIsStored(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := stored(t, st, video.Ready, "720p", "144p")
	want := video.QualityScore{SSIM: 0.987654321, PSNR: 41.25, NoBetterThan: "144p"}
	change(t, st, func(tx *store.Tx) error {
		if err := tx.SetQualityScore(ctx, "unknown", want); err != nil {
			return err
		}
		return tx.SetQualityScore(ctx, v.Resolutions[1].ID, want)
	})
	v.Resolutions[1].Quality = &want
	wantVideo(t, st, v)
}
