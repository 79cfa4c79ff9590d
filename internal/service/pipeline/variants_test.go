package pipeline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// inTwoCodecs makes a video that is ready and lacks AV1.
func inTwoCodecs(b *servicetest.Rig, names ...video.Name) video.Video {
	b.T.Helper()
	v := b.Processing(video.Draft{IsPublic: true, Resolutions: names, Codecs: []video.Codec{video.AV1}})
	b.Transcode(v.ID, servicetest.Plan(names...))
	for n := range names {
		b.Publish(v.ID, n)
	}
	return b.Video(v.ID)
}

// finishVariantChunks plays the part of the workers up to the joining.
func finishVariantChunks(b *servicetest.Rig, v video.Video) {
	b.T.Helper()
	for n := range v.Plan.Chunks {
		var files []pipeline.ChunkFile
		for _, r := range v.Wanted(video.AV1) {
			files = append(files, pipeline.ChunkFile{Rendition: r, Path: b.File("chunk"), Frames: 5})
		}
		b.Must(b.FinishChunk(b.T.Context(), queue.Task{Kind: queue.AV1, Video: v.ID, Number: n}, v, files))
	}
}

func joined(b *servicetest.Rig, id video.ID, rendition int) {
	b.T.Helper()
	joinedWith(b, b.Video(id), rendition, 50)
}

// joinedWith joins a rendition whose picture has so many hundredths of the bytes of its H.264 picture. v is the video as it was when
// the task began.
func joinedWith(b *servicetest.Rig, v video.Video, rendition int, hundredths int64) {
	b.T.Helper()
	task := queue.Task{Kind: queue.AV1Join, Video: v.ID, Number: rendition}
	f := pipeline.RenditionFile{Path: b.File("in AV1"), Duration: time.Second}
	b.Must(b.PublishVariant(b.T.Context(), task, v, pipeline.VariantFile{RenditionFile: f, Picture: 10 * hundredths, H264: 1000}))
}

// wantVariants compares the statuses of a video in AV1, in the order of its resolutions.
func wantVariants(b *servicetest.Rig, id video.ID, want string) {
	b.T.Helper()
	v := b.Video(id)
	var got []string
	for _, r := range v.Resolutions {
		for _, x := range v.Variants(r) {
			got = append(got, string(x.Status))
		}
	}
	if all := strings.Join(got, " "); all != want || v.Status != video.Ready {
		b.T.Errorf("the video is %s, and in AV1 %s; want it ready, and %s", v.Status, all, want)
	}
}

func countAV1(objects []string) (n int) {
	for _, key := range objects {
		if strings.Contains(key, "av1-") {
			n++
		}
	}
	return n
}

// AV1 begins when a video is ready, is joined after its last chunk, and leaves nothing but its files.
func TestAnotherCodecFollowsTheVideo(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := inTwoCodecs(b, "720p", "240p")
	wantVariants(b, v.ID, "processing processing")
	if w := b.Waiting(); w[queue.AV1] != len(v.Plan.Chunks) || w[queue.AV1Join] != 0 {
		t.Errorf("waiting are %v; want the chunks alone", w)
	}
	finishVariantChunks(b, v)
	if w := b.Waiting(); w[queue.AV1Join] != 2 {
		t.Errorf("waiting are %v; want two files to be joined", w)
	}
	joined(b, v.ID, 0)
	wantVariants(b, v.ID, "ready processing")
	joined(b, v.ID, 1)
	joined(b, v.ID, 1) // by a worker that was late
	wantVariants(b, v.ID, "ready ready")
	b.Must(b.Purge(t.Context(), v.ID))
	if n := countAV1(b.Objects()); n != 2 {
		t.Errorf("left are %v; want two files in AV1", b.Objects())
	}
	if got := b.Video(v.ID).Files; len(got) != 2 || got[0].Name != "av1-720p.mp4" {
		t.Errorf("listed are %+v", got)
	}

	b.Must(b.DeleteResolution(t.Context(), b.By, v.Resolutions[0].ID))
	wantVariants(b, v.ID, "ready")
	if slices.Contains(b.Objects(), "public/"+string(v.ID)+"/av1-720p.mp4") || len(b.Video(v.ID).Files) != 1 {
		t.Errorf("after the deletion of 720p there are %v", b.Objects())
	}
}

// What cannot be encoded in AV1 is told with the variant, and nowhere else.
func TestTheFailureOfAnotherCodecIsNoFailureOfTheVideo(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := inTwoCodecs(b, "720p", "240p")
	f := video.Failf(video.LimitMemory, "Too much.")
	b.Must(b.GiveUp(t.Context(), queue.Task{Kind: queue.AV1, Video: v.ID, Number: 1}, f))
	wantVariants(b, v.ID, "fail fail")
	if w := b.Waiting(); w[queue.AV1]+w[queue.AV1Join] != 0 {
		t.Errorf("waiting are %v; want nothing", w)
	}
	if got, _ := b.Video(v.ID).Resolutions[1].Variant(video.AV1); got.Failure == nil || got.Failure.Code != video.LimitMemory {
		t.Errorf("240p in AV1 is %+v", got)
	}
	steps, err := b.Store.Steps(t.Context(), v.ID)
	if err != nil || len(steps) != 0 {
		t.Errorf("open are %v, %v", steps, err)
	}

	v = inTwoCodecs(b, "720p", "240p")
	finishVariantChunks(b, v)
	b.Must(b.GiveUp(t.Context(), queue.Task{Kind: queue.AV1Join, Video: v.ID, Number: 1}, f))
	joined(b, v.ID, 0)
	wantVariants(b, v.ID, "ready fail")
}

// A resolution that is added meanwhile stops AV1, which then starts again for all that lack it. What a
// worker made for the first start is not taken for a part of the second.
func TestAPassStopsAnotherCodecAndStartsItAgain(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := inTwoCodecs(b, "720p")
	b.Add(v.ID, "240p")
	if n := b.Waiting()[queue.AV1]; n != 0 {
		t.Errorf("%d chunks wait although a pass has begun", n)
	}
	b.Finish(v.ID)
	wantVariants(b, v.ID, "processing processing")
	old := queue.Task{Kind: queue.AV1, Video: v.ID}
	b.Must(b.FinishChunk(t.Context(), old, v, []pipeline.ChunkFile{{Path: b.File("old"), Frames: 5}}))
	if _, wanted, err := b.LoadTask(t.Context(), old); err != nil || !wanted {
		t.Errorf("after a late result of the first start, the chunk is wanted: %t, %v", wanted, err)
	}
	now := b.Video(v.ID)
	finishVariantChunks(b, now)
	joined(b, v.ID, 0)
	joined(b, v.ID, 1)
	wantVariants(b, v.ID, "ready ready")
}

// The source is kept for AV1 even if it is not kept for ever.
func TestTheSourceIsKeptForAnotherCodec(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t, func(c *servicetest.Config) { c.KeepSource = false })
	v := inTwoCodecs(b, "720p")
	has := func() bool {
		b.Must(b.Purge(t.Context(), v.ID))
		return slices.Contains(b.Objects(), v.Source.Key)
	}
	if !has() {
		t.Fatal("the source is gone before AV1 was made")
	}
	finishVariantChunks(b, v)
	joined(b, v.ID, 0)
	if has() {
		t.Error("the source is still there")
	}
}

// loseTasks plays the part of an older version that finishes a video, or gives it up: it leaves no tasks
// and no steps of another codec.
func loseTasks(b *servicetest.Rig) {
	b.T.Helper()
	for _, table := range []string{"task", "step"} {
		if _, err := b.Store.Writer().ExecContext(b.T.Context(), `DELETE FROM `+table); err != nil {
			b.T.Fatal(err)
		}
	}
}

// A variant is not processing for ever, whatever was lost.
func TestLostVariantsAreQueuedAgain(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := inTwoCodecs(b, "720p", "240p")
	chunks := len(v.Plan.Chunks)
	wantReconciled(b, map[queue.Kind]int{queue.AV1: chunks})
	finishVariantChunks(b, v)
	wantReconciled(b, map[queue.Kind]int{queue.AV1Join: 2})

	loseTasks(b)
	if n, err := b.Passes.Reconcile(t.Context()); n != chunks || err != nil || b.Waiting()[queue.AV1] != chunks {
		t.Errorf("reconciled are %d, %v, and waiting %v; want %d chunks", n, err, b.Waiting(), chunks)
	}
	wantReconciled(b, map[queue.Kind]int{queue.AV1: chunks})
	finishVariantChunks(b, v)
	joined(b, v.ID, 0)
	joined(b, v.ID, 1)
	wantVariants(b, v.ID, "ready ready")
	wantReconciled(b, map[queue.Kind]int{})

	v = inTwoCodecs(b, "720p")
	loseTasks(b)
	b.Must(b.Blobs.Delete(t.Context(), v.Source.Key))
	wantReconciled(b, map[queue.Kind]int{})
	wantVariants(b, v.ID, "fail")
	if got, _ := b.Video(v.ID).Resolutions[0].Variant(video.AV1); got.Failure == nil || got.Failure.Message == "" {
		t.Errorf("720p in AV1 is %+v; want it to say why", got)
	}
}

// Retrying a ready resolution makes its failed variants again, and nothing else.
func TestRetryOfAVariant(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := inTwoCodecs(b, "720p", "240p")
	retry := func(i int) {
		t.Helper()
		if _, err := b.Passes.RetryResolution(t.Context(), b.By, v.Resolutions[i].ID); err != nil {
			t.Fatal(err)
		}
	}
	finishVariantChunks(b, v)
	b.Must(b.GiveUp(t.Context(), queue.Task{Kind: queue.AV1Join, Video: v.ID, Number: 1}, video.Failf(video.LimitMemory, "Too much.")))
	wantVariants(b, v.ID, "processing fail")
	before := b.Video(v.ID)
	retry(0) // which did not fail
	if w, err := b.Store.Steps(t.Context(), v.ID); err != nil || !slices.ContainsFunc(w, func(s store.Step) bool { return s.Done }) {
		t.Errorf("steps are %v, %v; want the chunks still done", w, err)
	}
	retry(1)
	wantVariants(b, v.ID, "processing processing")

	late := queue.Task{Kind: queue.AV1, Video: v.ID}
	b.Must(b.FinishChunk(t.Context(), late, before, []pipeline.ChunkFile{{Path: b.File("late"), Frames: 5}}))
	if _, wanted, err := b.LoadTask(t.Context(), late); err != nil || !wanted {
		t.Errorf("after a late chunk without the resolution, the chunk is wanted: %t, %v", wanted, err)
	}
	finishVariantChunks(b, v)
	joined(b, v.ID, 0)
	joined(b, v.ID, 1)
	wantVariants(b, v.ID, "ready ready")
	retry(1)
	wantVariants(b, v.ID, "ready ready")
}

// inTwoCodecsWithCRF is inTwoCodecs with a CRF in the plan, as an inspection leaves it.
func inTwoCodecsWithCRF(b *servicetest.Rig, names ...video.Name) video.Video {
	b.T.Helper()
	v := b.Processing(video.Draft{IsPublic: true, Resolutions: names, Codecs: []video.Codec{video.AV1}})
	p := servicetest.Plan(names...)
	for i := range p.Renditions {
		p.Renditions[i].CRF = map[video.Codec]float64{video.H264: 24, video.AV1: 40}
	}
	b.Transcode(v.ID, p)
	for n := range names {
		b.Publish(v.ID, n)
	}
	return b.Video(v.ID)
}

// openSteps counts what is still to be done of a kind.
func openSteps(b *servicetest.Rig, id video.ID, kind queue.Kind) (n int) {
	b.T.Helper()
	steps, err := b.Store.Steps(b.T.Context(), id)
	b.Must(err)
	for _, s := range steps {
		if s.Kind == string(kind) && !s.Done {
			n++
		}
	}
	return n
}

// A variant that saves too little is made again with a higher CRF, once and alone; then it is not kept.
func TestAVariantThatIsTooLargeIsMadeAgainOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		again int64
		want  string
	}{
		{"the second one is small enough", 84, "ready ready"},
		{"the second one is too large, too", 86, "ready fail"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := servicetest.New(t)
			v := inTwoCodecsWithCRF(b, "720p", "240p")
			finishVariantChunks(b, v)
			before := b.Video(v.ID)
			joinedWith(b, before, 1, 100)
			wantVariants(b, v.ID, "processing processing")
			if n := openSteps(b, v.ID, queue.AV1); n != 0 {
				t.Errorf("%d chunks are open; want none before the other file is joined", n)
			}
			joinedWith(b, before, 0, 85)
			wantVariants(b, v.ID, "ready processing")
			v = b.Video(v.ID)
			if n := openSteps(b, v.ID, queue.AV1); n != len(v.Plan.Chunks) || openSteps(b, v.ID, queue.AV1Join) != 1 || !slices.Equal(v.Wanted(video.AV1), []int{1}) {
				t.Fatalf("%d chunks are open, for the renditions %v; want all of the second rendition", n, v.Wanted(video.AV1))
			}
			if crf := v.Plan.Renditions[1].CRF[video.AV1]; crf <= 40 || v.Plan.Renditions[0].CRF[video.AV1] != 40 {
				t.Errorf("made again with CRF %g; want more than 40", crf)
			}
			// Workers that were late finish what they began before.
			b.Must(b.FinishChunk(t.Context(), queue.Task{Kind: queue.AV1, Video: v.ID}, before, []pipeline.ChunkFile{{Rendition: 1, Path: b.File("old"), Frames: 5}}))
			joinedWith(b, before, 1, 100)
			if _, wanted, err := b.LoadTask(t.Context(), queue.Task{Kind: queue.AV1, Video: v.ID}); err != nil || !wanted {
				t.Errorf("after a late result the chunk is wanted: %t, %v", wanted, err)
			}
			wantVariants(b, v.ID, "ready processing")

			finishVariantChunks(b, v)
			joinedWith(b, v, 1, tt.again)
			wantVariants(b, v.ID, tt.want)
			if steps, err := b.Store.Steps(t.Context(), v.ID); err != nil || len(steps) != 0 {
				t.Errorf("open are %v, %v", steps, err)
			}
			b.Must(b.Purge(t.Context(), v.ID))
			if n := countAV1(b.Objects()); n != strings.Count(tt.want, "ready") {
				t.Errorf("left are %v", b.Objects())
			}
			if x, _ := b.Video(v.ID).Resolutions[1].Variant(video.AV1); x.Failure != nil && (x.Failure.Code != video.NotSmaller || !strings.Contains(x.Failure.Message, "again")) {
				t.Errorf("the second is not kept because %+v", x.Failure)
			}
		})
	}
}

// A pass that begins before the second try ends it; afterwards the try goes on with the higher CRF, and it is the last one.
func TestTheSecondTrySurvivesAPass(t *testing.T) {
	t.Parallel()
	b := servicetest.New(t)
	v := inTwoCodecsWithCRF(b, "720p")
	finishVariantChunks(b, v)
	joinedWith(b, b.Video(v.ID), 0, 100)
	crf := b.Video(v.ID).Plan.Renditions[0].CRF[video.AV1]
	b.Add(v.ID, "240p")
	b.Finish(v.ID)
	now := b.Video(v.ID)
	if got := now.Plan.Renditions[0].CRF[video.AV1]; got != crf || crf <= 40 {
		t.Errorf("the CRF is %g after the pass, and was %g", got, crf)
	}
	finishVariantChunks(b, now)
	joinedWith(b, now, 0, 100)
	joinedWith(b, now, 1, 50)
	wantVariants(b, v.ID, "fail ready")
}
