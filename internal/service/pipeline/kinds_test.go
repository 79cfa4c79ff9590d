package pipeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// Every row of the table says all that others rely on.
func TestTheTableOfKindsIsComplete(t *testing.T) {
	t.Parallel()
	seen := map[queue.Kind]bool{}
	var starts, assembles int
	for _, k := range kinds {
		if k.Name == "" || seen[k.Name] {
			t.Errorf("%q has no name of its own", k.Name)
		}
		seen[k.Name] = true
		if k.Priority == nil {
			t.Errorf("%s has no priority", k.Name)
		}
		if !slices.Contains([]Stage{Inspect, Make, Assemble, After, Purge}, k.Stage) {
			t.Errorf("%s has no stage", k.Name)
		}
		if inPass := k.Stage == Make || k.Stage == Assemble; (k.Numbers != nil) != (inPass || k.Stage == After) || (k.Weight != nil) != (inPass || k.Codec != "") {
			t.Errorf("%s: the tasks of a plan have numbers, and a place in the pass with a weight, or one after it", k.Name)
		}
		if k.Codec != "" && (k.Stage != After || k.Priority(0) < queue.Spare) {
			t.Errorf("%s makes another codec than H.264, but others wait for it", k.Name)
		}
		for _, name := range k.Publishes {
			if f, ok := objects.ParseFile(name); !ok || f.Listed == "" {
				t.Errorf("%s publishes %q, which is no name of a file", k.Name, name)
			}
		}
		if k.Optional && k.Stage != Make {
			t.Errorf("%s is optional, but nothing goes on when it is skipped", k.Name)
		}
		if joins := slices.ContainsFunc(kinds, func(o Kind) bool { return o.Then == k.Name }); k.waits() != (joins || k.Stage == Assemble) {
			t.Errorf("%s waits: %t; want it if others enqueue it", k.Name, k.waits())
		}
		starts += countIf(k.Stage == Inspect)
		assembles += countIf(k.Stage == Assemble)
	}
	if starts != 1 || assembles != 1 {
		t.Errorf("%d kinds start a pass and %d assemble renditions; want one of each", starts, assembles)
	}
}

// What a kind means must not change by accident: the database of an older version has such steps.
func TestKindsKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	all := []queue.Kind{queue.Inspect, queue.Encode, queue.Audio, queue.Thumbnails, queue.Assemble, queue.Measure, queue.Purge}
	for _, k := range all {
		if !slices.Contains(Kinds(), k) {
			t.Errorf("there is no kind %s any more", k)
		}
	}
	may := kindsThat(Kind.maySkip)
	if want := []queue.Kind{queue.Audio, queue.Thumbnails, queue.Poster, queue.Captions, queue.Pictures, queue.AV1, queue.AV1Join, queue.HEVC, queue.HEVCJoin, queue.Sound, queue.Remix, queue.Texts, queue.Measure, queue.Replace}; !slices.Equal(may, want) {
		t.Errorf("the video goes on without %v; want %v", may, want)
	}
	if got := surviving(); !slices.Equal(got, []queue.Kind{queue.Purge}) {
		t.Errorf("%v survive a cancelled pass; want the purge alone", got)
	}
	if got := DelayNoPurge(true); !slices.Equal(got, []queue.Kind{queue.Texts, queue.Measure, queue.Replace, queue.Purge}) {
		t.Errorf("the purge of a deleted video does not wait for %v; want texts, measure, replace and purge", got)
	}
	if got := DelayNoPurge(false); !slices.Equal(got, []queue.Kind{queue.AV1, queue.AV1Join, queue.HEVC, queue.HEVCJoin, queue.Texts, queue.Measure, queue.Replace, queue.Purge}) {
		t.Errorf("a purge after a pass does not wait for %v; want other codecs, texts, measure, replace and purge", got)
	}
	if got := PerRendition(); got != string(queue.Assemble) {
		t.Errorf("%s has a step for each rendition", got)
	}
	ofAPass := Kept{Work: true, Source: true}
	for kind, want := range map[queue.Kind]Kept{
		queue.Inspect: ofAPass, queue.Encode: ofAPass, queue.Assemble: ofAPass, "of a newer version": ofAPass,
		queue.Measure: {Source: true}, queue.Pictures: {Staged: true}, queue.Sound: {Staged: true}, queue.Remix: {Staged: true}, queue.Purge: {},
		queue.AV1: {Variants: true, Source: true}, queue.AV1Join: {Variants: true},
	} {
		if got := Keeps([]store.Step{{Kind: string(kind)}, {Kind: string(queue.Encode), Done: true}}); got != want {
			t.Errorf("an open step %s keeps %+v; want %+v", kind, got, want)
		}
	}
}

func TestExpandPlan(t *testing.T) {
	t.Parallel()
	p := &video.Plan{
		Input: video.Input{TimeBase: video.Ratio{Num: 1, Den: 1000}}, Duration: 40 * time.Second, First: 1,
		Chunks: []video.Chunk{{Start: 0, End: 20000}, {Start: 20000, End: video.Forever}},
		Audio:  &video.Audio{}, Thumbnails: []video.Thumbnail{{}}, Renditions: make([]video.Rendition, 3),
	}
	v := video.Video{ID: "v", Tenant: "t", Plan: p}
	steps, tasks := expand(Config{}, v, false)
	var numbers []string
	for _, s := range steps {
		if s.Weight <= 0 {
			t.Errorf("%+v has no weight", s)
		}
		numbers = append(numbers, queue.Task{Kind: queue.Kind(s.Kind), Number: s.Number}.String())
	}
	if want := []string{"encode//0", "encode//1", "audio//0", "thumbnails//0", "assemble//1", "assemble//2"}; !slices.Equal(numbers, want) {
		t.Errorf("steps are %v; want %v", numbers, want)
	}
	want := []queue.Task{
		{Kind: queue.Encode, Video: "v", Tenant: "t", Priority: 10}, {Kind: queue.Encode, Video: "v", Tenant: "t", Number: 1, Priority: 11},
		{Kind: queue.Audio, Video: "v", Tenant: "t", Priority: 3}, {Kind: queue.Thumbnails, Video: "v", Tenant: "t", Priority: 2},
	}
	if !slices.Equal(tasks, want) {
		t.Errorf("tasks are %v; want %v", tasks, want)
	}

	p.Samples = []video.Chunk{{}}
	if steps, _ := expand(Config{}, v, true); len(steps) != 0 {
		t.Errorf("steps after the pass are %v, though the operator wants none", steps)
	}
	steps, tasks = expand(Config{MeasureQuality: true}, v, true)
	if len(steps) != 1 || steps[0] != (store.Step{Kind: string(queue.Measure)}) || len(tasks) != 1 || tasks[0].Kind != queue.Measure {
		t.Errorf("steps and tasks after the pass are %v, %v; want to measure", steps, tasks)
	}
}

// The one chunk of a clip is not kept waiting by what can be done beside it, and the rest of a clip is not
// kept waiting by the chunks of others.
func TestTheOrderOfClips(t *testing.T) {
	t.Parallel()
	p := &video.Plan{Duration: 10 * time.Second, Chunks: make([]video.Chunk, 1), Audio: &video.Audio{}, Renditions: make([]video.Rendition, 1)}
	p.Thumbnails, p.Poster = make([]video.Thumbnail, 1), &video.Poster{}
	var tasks []queue.Task
	for _, id := range []video.ID{"a", "b"} {
		_, of := expand(Config{}, video.Video{ID: id, Plan: p}, false)
		tasks = append(tasks, of...)
	}
	tasks = append(tasks, newTask(queue.Purge, "c", "", 0))
	slices.SortStableFunc(tasks, func(a, b queue.Task) int { return a.Priority - b.Priority })
	var got []string
	for _, task := range tasks {
		got = append(got, string(task.Video)+" "+string(task.Kind))
	}
	want := []string{"c purge", "a encode", "a audio", "a thumbnails", "a poster", "b encode", "b audio", "b thumbnails", "b poster"}
	if !slices.Equal(got, want) {
		t.Errorf("the tasks run in the order %q; want %q", got, want)
	}
}

// What has to be there before anybody can watch a film comes first.
func TestTheOrderOfTheFirstTasks(t *testing.T) {
	t.Parallel()
	p := &video.Plan{Duration: 10 * time.Minute, Chunks: make([]video.Chunk, 8), Audio: &video.Audio{}, Renditions: make([]video.Rendition, 2)}
	p.Thumbnails, p.Poster = make([]video.Thumbnail, 1), &video.Poster{}
	p.Early = &video.Early{Large: 1, Pieces: []int64{1031, 5156}}
	_, tasks := expand(Config{}, video.Video{Plan: p}, false)
	slices.SortStableFunc(tasks, func(a, b queue.Task) int { return a.Priority - b.Priority })
	var got []string
	for _, task := range tasks[:13] {
		got = append(got, fmt.Sprintf("%s %d", task.Kind, task.Number))
	}
	want := []string{
		"encode 0", "audio 0", "poster 0", "encode 1", "thumbnails 0", "encode 2", "audio 1", "encode 3", "encode 4", "audio 2", "encode 5", "encode 6", "encode 7",
	}
	for _, tt := range []struct {
		kind queue.Kind
		n    int
		want float64
	}{
		{queue.Inspect, 0, 0}, {queue.Encode, 0, 0}, {queue.Audio, 0, 0}, {queue.Encode, 1, 1}, {queue.Audio, 1, 1}, {queue.Encode, 4, 1}, {queue.Large, 0, 1}, {queue.Poster, 0, 1}, {queue.AV1, 0, 1.5}, {queue.AV1Join, 1, 1.5},
	} {
		if got := Yield(p, queue.Task{Kind: tt.kind, Number: tt.n}); got != tt.want {
			t.Errorf("%s %d stands back by %g; want %g", tt.kind, tt.n, got, tt.want)
		}
	}
	if got := Yield(&video.Plan{}, queue.Task{Kind: queue.Encode}); got != 1 {
		t.Errorf("a clip stands back by %g", got)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the tasks run in the order %v; want %v", got, want)
	}
}
