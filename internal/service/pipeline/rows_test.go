package pipeline

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/storetest"
	"github.com/spool-video/spool/internal/video"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func TestRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(*testing.T, *store.Store)
	}{
		{"executions read back as stored", executionsReadBack},
		{"executions beyond the limit are only counted", executionsAreBounded},
		{"the cost begins with the earliest execution", costBegins},
		{"the end of the work is stored", endIsRemembered},
		{"an execution needs its video", executionNeedsItsVideo},
		{"executions are deleted with their video", executionsGoWithTheirVideo},
		{"a quality score is stored with its resolution", qualityScoreIsStored},
		{"ready videos are found that lack a variant, or have open steps", variantsAreLacking},
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
		if _, err := processingVideos(ctx, tx.Queries, "a", 100); err != nil {
			return err
		}
		_, err := lackingVariants(ctx, tx.Queries, "a", 100)
		return err
	})
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
		storetest.Change(t, st, func(tx *store.Tx) error { return addExecution(t.Context(), tx, id, r, most) })
	}
}

func wantExecutions(t *testing.T, st *store.Store, id video.ID, want ...video.Execution) {
	t.Helper()
	got, err := ExecutionsOf(t.Context(), st.Queries, id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("executions (-want +got):\n%s", diff)
	}
}

func wantCost(t *testing.T, st *store.Store, id video.ID, want video.Cost) {
	t.Helper()
	got, err := CostOf(t.Context(), st.Queries, id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cost (-want +got):\n%s", diff)
	}
}

func executionsReadBack(t *testing.T, st *store.Store) {
	v, other := storetest.Stored(t, st, video.Processing), storetest.Stored(t, st, video.Processing)
	wantExecutions(t, st, v.ID)
	wantCost(t, st, v.ID, video.Cost{})
	first, second := anExecution(noon), video.Execution{Task: "inspect", Program: "ffprobe", StartedAt: noon.Add(time.Minute), Result: video.ExecutionOK}
	addExecutions(t, st, v.ID, 10, first, second)
	addExecutions(t, st, other.ID, 10, second)
	wantExecutions(t, st, v.ID, first, second)
	wantExecutions(t, st, other.ID, second)
	wantCost(t, st, v.ID, video.Cost{Executions: 2, Wall: first.Wall, CPU: first.CPU, BeganAt: noon})
}

func executionsAreBounded(t *testing.T, st *store.Store) {
	v := storetest.Stored(t, st, video.Processing)
	var runs []video.Execution
	for i := range 5 {
		r := anExecution(noon.Add(time.Duration(i) * time.Second))
		r.Number = i
		runs = append(runs, r)
	}
	addExecutions(t, st, v.ID, 2, runs[:4]...)
	addExecutions(t, st, v.ID, 3, runs[4]) // one that matters more
	wantExecutions(t, st, v.ID, runs[0], runs[1], runs[4])
	wantCost(t, st, v.ID, video.Cost{Executions: 5, Wall: 5 * runs[0].Wall, CPU: 5 * runs[0].CPU, BeganAt: noon})
}

func costBegins(t *testing.T, st *store.Store) {
	v := storetest.Stored(t, st, video.Processing)
	late, early := anExecution(noon.Add(time.Hour)), anExecution(noon)
	addExecutions(t, st, v.ID, 10, late, early, late) // a long run that began first ends last
	wantCost(t, st, v.ID, video.Cost{Executions: 3, Wall: 3 * late.Wall, CPU: 3 * late.CPU, BeganAt: noon})
}

func endIsRemembered(t *testing.T, st *store.Store) {
	v := storetest.Stored(t, st, video.Processing)
	storetest.Change(t, st, func(tx *store.Tx) error { return markEnded(t.Context(), tx, v.ID, noon) })
	wantCost(t, st, v.ID, video.Cost{EndedAt: noon})
	r := anExecution(noon.Add(time.Second)) // measuring comes after the end
	addExecutions(t, st, v.ID, 10, r)
	want := video.Cost{Executions: 1, Wall: r.Wall, CPU: r.CPU, BeganAt: r.StartedAt, EndedAt: noon}
	wantCost(t, st, v.ID, want)
	storetest.Change(t, st, func(tx *store.Tx) error { return markEnded(t.Context(), tx, v.ID, noon.Add(time.Hour)) })
	want.EndedAt = noon.Add(time.Hour)
	wantCost(t, st, v.ID, want)
}

func executionNeedsItsVideo(t *testing.T, st *store.Store) {
	ctx, id := t.Context(), storetest.NewVideo().ID
	if err := st.InTx(ctx, func(tx *store.Tx) error { return addExecution(ctx, tx, id, anExecution(noon), 10) }); err == nil {
		t.Error("AddExecution stored an execution of a video that is not there")
	}
	wantExecutions(t, st, id)
	wantCost(t, st, id, video.Cost{})
}

func executionsGoWithTheirVideo(t *testing.T, st *store.Store) {
	v, other := storetest.Stored(t, st, video.Ready, "720p"), storetest.Stored(t, st, video.Ready, "720p")
	for _, id := range []video.ID{v.ID, other.ID} {
		addExecutions(t, st, id, 10, anExecution(noon), anExecution(noon))
	}
	storetest.Change(t, st, func(tx *store.Tx) error { return tx.RemoveVideo(t.Context(), v.ID) })
	wantExecutions(t, st, v.ID)
	wantCost(t, st, v.ID, video.Cost{})
	wantExecutions(t, st, other.ID, anExecution(noon), anExecution(noon))
}

func qualityScoreIsStored(t *testing.T, st *store.Store) {
	ctx := t.Context()
	v := storetest.Stored(t, st, video.Ready, "720p", "144p")
	want := video.QualityScore{SSIM: 0.987654321, PSNR: 41.25, NoBetterThan: "144p"}
	storetest.Change(t, st, func(tx *store.Tx) error {
		if err := setQualityScore(ctx, tx, "unknown", want); err != nil {
			return err
		}
		return setQualityScore(ctx, tx, v.Resolutions[1].ID, want)
	})
	got, err := st.Video(ctx, v.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*video.QualityScore{nil, &want}, []*video.QualityScore{got.Resolutions[0].Quality, got.Resolutions[1].Quality}); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

func variantsAreLacking(t *testing.T, st *store.Store) {
	ctx := t.Context()
	made := []video.Variant{{Codec: video.AV1, Status: video.Fail}}
	add := func(s video.Status, codecs []video.Codec, variants []video.Variant, steps ...store.Step) video.ID {
		v := storetest.NewVideo("720p")
		v.Codecs, v.Status, v.Resolutions[0].Status = codecs, s, s
		r := v.Resolutions[0]
		r.Variants = variants
		storetest.Change(t, st, func(tx *store.Tx) error {
			if err := tx.InsertVideo(ctx, v); err != nil {
				return err
			}
			if err := tx.SetOutput(ctx, r); err != nil {
				return err
			}
			return tx.InsertSteps(ctx, v.ID, steps)
		})
		return v.ID
	}
	av1 := []video.Codec{video.AV1}
	want := []video.ID{
		add(video.Ready, av1, nil), add(video.Ready, av1, made, store.Step{Kind: "av1join"}), add(video.Ready, av1, nil, store.Step{Kind: "av1"}),
	}
	add(video.Ready, av1, made)
	add(video.Ready, nil, nil, store.Step{Kind: "measure"})
	add(video.Processing, av1, nil)
	add(video.Fail, av1, nil)
	slices.Sort(want)
	var got []video.ID
	for after := video.ID(""); ; after = got[len(got)-1] { // in pages of one
		page, err := lackingVariants(ctx, st.Queries, after, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lacking (-want +got):\n%s", diff)
	}
}
