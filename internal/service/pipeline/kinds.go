package pipeline

import (
	"context"
	"slices"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Kind is one kind of task: what it costs, what it needs, and what depends on it. A new kind is one
// row in the table below and one handler in package worker.
type Kind struct {
	Name queue.Kind

	// Priority returns the priority of task number n. Tenants take turns (package queue); among the tasks of one
	// tenant the smallest priority runs first.
	Priority func(n int) int
	// Numbers are the tasks of this kind that a video with a plan needs: from (included) to to
	// (excluded). nil: a plan asks for none.
	Numbers func(video.Video) (from, to int)
	// Wants reports whether a video needs one of these; nil: it needs all.
	Wants func(v video.Video, n int) bool
	// Enabled reports whether the operator wants tasks of this kind; nil: always.
	Enabled func(Config) bool
	// Makes reports whether a rendition is made from what tasks of this kind write; nil: every one is.
	Makes func(p *video.Plan, rendition int) bool
	// Weight is the share of task number n in the progress of its video, in seconds of video; nil: the
	// video does not wait for it.
	Weight func(p *video.Plan, n int) float64
	// Reads is roughly how many bytes task number n fetches, of the source or of a rendition file; nil: none.
	Reads func(v video.Video, n int) int64
	// Writes is roughly how many bytes task number n writes; nil: none.
	Writes func(ctx context.Context, blobs blob.Store, v video.Video, n int) (int64, error)
	// Publishes are the names of the files that it adds to every video (see PublishFiles). Their
	// addresses are known from the start. Files whose names depend on the video are not among them.
	Publishes []string

	// Then is a kind whose tasks are enqueued when the last task of this one is done.
	Then queue.Kind
	// Stages says that its files wait to be published under other names than Publishes.
	Stages bool
	// Codec is set for kinds whose tasks encode a ready video in another codec than H.264.
	Codec video.Codec

	// Stage is when its tasks run; most of what others need to know follows from it.
	Stage Stage
	// Optional kinds of Make never fail the video: what cannot be made is left out. After a pass all are.
	Optional bool
	// KeepsSource says that the source is kept while a step is open, also after the pass.
	KeepsSource bool
}

// Stage is a part of the life of a video.
type Stage string

const (
	Inspect  Stage = "inspect"  // the first task of a pass, which makes the plan
	Make     Stage = "make"     // what the renditions of a pass are assembled from, or a ready video has
	Assemble Stage = "assemble" // a task for each rendition; the last one ends the pass
	After    Stage = "after"    // on a ready video: no status waits for it
	Purge    Stage = "purge"    // removes files, also of a failed or deleted video
)

// inPass reports whether a pass ends only after these tasks. Its chunk files and the source are kept while
// a step is open.
func (k Kind) inPass() bool { return k.Stage == Inspect || k.Stage == Make || k.Stage == Assemble }

// maySkip reports whether the video goes on without the result of a task.
func (k Kind) maySkip() bool { return k.Optional || k.Stage == After }

// waits reports whether the tasks are enqueued by those whose results they need.
func (k Kind) waits() bool { return k.Stage == Assemble || k.Codec != "" && k.Then == "" }

// keepsStaged reports whether files that wait to be published are kept while a step is open, though the
// pass has ended (see PublishFiles).
func (k Kind) keepsStaged() bool { return k.Stage == After && (len(k.Publishes) > 0 || k.Stages) }

// delaysPurge reports whether a purge waits while a task runs, which may still write objects.
func (k Kind) delaysPurge() bool { return k.inPass() || k.keepsStaged() }

// What makes a video visible sooner goes before what makes it longer, and the first chunks of a new
// video go before the late chunks of a long one, so that a clip never waits for a long video to end.
const (
	inspectPriority   = 0 // short, and everything else waits for it
	assemblePriority  = 1
	thumbnailPriority = 2
	audioPriority     = 3
	purgePriority     = 4
	encodePriority    = 10 // plus the number of the chunk, up to lateChunk
	lateChunk         = 50
	headPriority      = 1                          // what a video needs before it can be played while it is encoded
	largePriority     = encodePriority + lateChunk // after the small renditions of the same video
	measurePriority   = queue.Background           // after everything that a video's status waits for
	variantPriority   = queue.Spare + 1            // when there is nothing else to do
	joinPriority      = queue.Spare
)

// kinds is the table. The tasks of a plan are enqueued in its order.
var kinds = []Kind{
	{ // reads the source and makes the plan: streams, chunk borders, renditions
		Name: queue.Inspect, Stage: Inspect, Priority: always(inspectPriority), Reads: wholeSource,
	},
	{ // makes chunk n at every rendition, with one decode; at the small ones, if there is a set of large ones
		Name: queue.Encode, Priority: func(n int) int { return encodePriority + min(n, lateChunk) },
		Numbers: func(v video.Video) (int, int) { return 0, len(v.Plan.Chunks) },
		Makes:   func(p *video.Plan, rendition int) bool { return p.SetOf(rendition) == video.FirstSet },
		Weight:  chunkWeight(video.FirstSet),
		Reads:   chunkSource, Writes: estimated(chunkBytes(video.FirstSet)),
		Stage: Make,
	},
	{ // makes chunk n at the large renditions of a video that is played meanwhile
		Name: queue.Large, Priority: always(largePriority),
		Numbers: func(v video.Video) (int, int) {
			if v.Plan.Early == nil || v.Plan.Early.Large == 0 {
				return 0, 0
			}
			return 0, len(v.Plan.Chunks)
		},
		Makes:  func(p *video.Plan, rendition int) bool { return p.SetOf(rendition) == video.LargeSet },
		Weight: chunkWeight(video.LargeSet),
		Reads:  chunkSource, Writes: estimated(chunkBytes(video.LargeSet)),
		Stage: Make,
	},
	{ // makes chunk n at the rendition that was to be copied, when its picture has turned out to be no good
		Name: queue.Recode, Priority: always(largePriority),
		Numbers: func(v video.Video) (int, int) {
			if _, recoded := v.Plan.Only(video.RecodedSet); len(recoded) == 0 {
				return 0, 0
			}
			return 0, len(v.Plan.Chunks)
		},
		Makes:  func(p *video.Plan, rendition int) bool { return p.SetOf(rendition) == video.RecodedSet },
		Weight: chunkWeight(video.RecodedSet),
		Reads:  chunkSource, Writes: estimated(chunkBytes(video.RecodedSet)),
		Stage: Make,
	},
	{ // makes a whole sound track once, so that chunk borders are never heard, or a piece of it
		Name: queue.Audio, Priority: audioPriorities,
		Numbers: func(v video.Video) (int, int) { return 0, video.AudioTask(v.Plan.Sounds(), 0) },
		Wants:   wantsSound,
		Weight:  audioWeight,
		Reads:   wholeSource, Writes: estimated(audioBytes),
		Stage: Make, Optional: true,
	},
	{ // makes and publishes the thumbnails, so that a ready video has them
		Name: queue.Thumbnails, Priority: always(thumbnailPriority),
		Numbers: func(v video.Video) (int, int) { return 0, countIf(len(v.Plan.Thumbnails) > 0) },
		Weight:  func(p *video.Plan, _ int) float64 { return 0.1 * float64(len(p.Thumbnails)) },
		Reads:   wholeSource, Writes: estimated(thumbnailBytes),
		Stage: Make, Optional: true,
	},
	{ // chooses a telling frame and publishes it, likewise
		Name: queue.Poster, Priority: always(thumbnailPriority), Publishes: []string{video.PosterFile},
		Numbers: func(v video.Video) (int, int) { return 0, countIf(wantsPoster(v)) },
		Weight:  func(*video.Plan, int) float64 { return 0.1 },
		Reads:   wholeSource, Writes: estimated(func(video.Video, int) int64 { return thumbnailSize }),
		Stage: Make, Optional: true,
	},
	{ // publishes the text tracks of the source, in the pass that makes the video ready
		Name: queue.Captions, Priority: always(audioPriority),
		Numbers: func(v video.Video) (int, int) {
			made := slices.ContainsFunc(v.Resolutions, func(r video.Resolution) bool { return r.Status == video.Ready })
			return 0, countIf(v.Plan.MayHaveText() && !made)
		},
		Weight: func(p *video.Plan, _ int) float64 { return 0.01 * p.Duration.Seconds() },
		Reads:  wholeSource, Writes: estimated(func(v video.Video, _ int) int64 { return int64((1 + len(v.Plan.TextTracks())) * captionsSize) }),
		Stage: Make, Optional: true,
	},
	{ // joins the chunk files of rendition n and the audio to one MP4, and publishes it
		Name: queue.Assemble, Priority: always(assemblePriority),
		Numbers: func(v video.Video) (int, int) { return v.Plan.First, len(v.Plan.Renditions) },
		Weight:  func(p *video.Plan, _ int) float64 { return 0.05 + 0.005*p.Duration.Seconds() },
		Writes:  renditionBytes(""),
		Stage:   Assemble,
	},
	{ // makes and publishes the storyboard and the preview of a ready video, of its smallest file, and other
		// formats of the poster and the thumbnails, of their JPEGs
		Name: queue.Pictures, Priority: always(thumbnailPriority), Publishes: []string{video.StoryboardFile, video.PreviewFile},
		Numbers: func(v video.Video) (int, int) {
			_, made := v.File(video.StoryboardFile) // in an earlier pass
			return 0, countIf(v.Plan.Pictures && (!made || len(v.Plan.Thumbnails) > 0))
		},
		Enabled: func(c Config) bool { return c.Pictures },
		Reads:   smallRendition, Writes: estimated(func(v video.Video, n int) int64 { return picturesSize + 2*thumbnailBytes(v, n) }),
		Stage: After,
	},
	variantChunk(queue.AV1, video.AV1, queue.AV1Join), variantJoin(queue.AV1Join, video.AV1),
	variantChunk(queue.HEVC, video.HEVC, queue.HEVCJoin), variantJoin(queue.HEVCJoin, video.HEVC),
	{ // makes sound track n of a file that was uploaded for it, and publishes it
		Name: queue.Sound, Priority: always(audioPriority),
		Numbers: func(v video.Video) (int, int) { return 1, lastTrack(v) + 1 },
		Wants:   func(v video.Video, n int) bool { t, ok := v.Sound.Track(n); return ok && t.Waits() },
		Reads:   func(video.Video, int) int64 { return MaxTrackBytes }, Writes: estimated(trackBytes),
		Stage: After, Stages: true,
	},
	{ // makes the MP4 files again, with the sound track that is the default now
		Name: queue.Remix, Priority: always(assemblePriority),
		Numbers: func(v video.Video) (int, int) { return soundChanges(v), soundChanges(v) + countIf(v.LacksInFiles()) },
		Reads:   largestFile, Writes: estimated(largestFile),
		Stage: After, Stages: true,
	},
	{ // writes down what is said in a ready video, and translates it, by the operator's programs
		Name: queue.Texts, Priority: always(joinPriority),
		Numbers: func(v video.Video) (int, int) { return 0, countIf(v.Speech.IsOpen()) },
		Reads:   smallRendition, Writes: estimated(func(v video.Video, _ int) int64 { return video.SpeechBytes(v.Duration) + captionsSize }),
		Stage: After,
	},
	{ // compares a few frames of a ready video with its source, for the report
		Name: queue.Measure, Priority: always(measurePriority), Reads: wholeSource,
		Numbers: func(v video.Video) (int, int) { return 0, countIf(len(v.Plan.Samples) > 0) },
		Enabled: func(c Config) bool { return c.MeasureQuality },
		Stage:   After, KeepsSource: true,
	},
	{ // has a hidden video that is ready replace the file of another one; nothing else follows on it
		Name: queue.Replace, Priority: always(assemblePriority),
		Numbers: func(v video.Video) (int, int) { return 0, countIf(v.Replaces != "") },
		Stage:   After, KeepsSource: true,
	},
	{ // removes what a finished or deleted video does not need any more
		Name: queue.Purge, Priority: always(purgePriority),
		Stage: Purge,
	},
}

// variantChunk makes chunk n of a ready video in another codec, at every rendition, with one decode.
func variantChunk(name queue.Kind, codec video.Codec, then queue.Kind) Kind {
	return Kind{
		Name: name, Priority: always(variantPriority), Codec: codec, Then: then,
		Numbers: func(v video.Video) (int, int) { return 0, len(v.Plan.Chunks) },
		Wants:   func(v video.Video, _ int) bool { return len(v.Wanted(codec)) > 0 },
		Weight:  func(p *video.Plan, n int) float64 { return max(p.Length(n).Seconds(), 0.1) },
		Reads:   variantSource, Writes: estimated(variantBytes(codec)),
		Stage: After, KeepsSource: true,
	}
}

// variantJoin joins the chunk files of rendition n in another codec and the audio of its H.264 file, and publishes
// the result.
func variantJoin(name queue.Kind, codec video.Codec) Kind {
	return Kind{
		Name: name, Priority: always(joinPriority), Codec: codec,
		Numbers: func(v video.Video) (int, int) { return 0, len(v.Plan.Renditions) },
		Wants:   func(v video.Video, n int) bool { return slices.Contains(v.Wanted(codec), n) },
		Weight:  func(p *video.Plan, _ int) float64 { return 0.05 + 0.005*p.Duration.Seconds() },
		Writes:  renditionBytes(codec),
		Stage:   After,
	}
}

// unknown stands for a kind that is not in the table: a newer version may run beside this one. Its
// open steps are respected.
var unknown = Kind{Priority: always(measurePriority), Stage: Make}

// KindOf returns the row of a kind.
func KindOf(name queue.Kind) Kind {
	for _, k := range kinds {
		if k.Name == name {
			return k
		}
	}
	return unknown
}

// Kinds returns the names of all kinds.
func Kinds() []queue.Kind { return kindsThat(func(Kind) bool { return true }) }

// DelayNoPurge returns the kinds that a purge does not wait for. Of a deleted video, it waits for those
// of other codecs, too: they were cancelled, so they end soon. After a pass they have just begun, and
// open steps keep what they write.
func DelayNoPurge(deleted bool) []queue.Kind {
	return kindsThat(func(k Kind) bool { return !k.delaysPurge() && (k.Codec == "" || !deleted) })
}

// PerRendition is the name of the kind that has a step for each rendition.
func PerRendition() string {
	return string(kindsThat(func(k Kind) bool { return k.Stage == Assemble })[0])
}

// Concerns reports whether a rendition of a plan waits for a step: for all but the assembly of other
// renditions, and the chunks that are encoded for others. A rendition that is in no plan yet, which is
// -1, waits for none.
func Concerns(p *video.Plan, s store.Step, rendition int) bool {
	k := stepKind(s)
	return rendition >= 0 && (k.Stage != Assemble || s.Number == rendition) && (k.Makes == nil || k.Makes(p, rendition))
}

// Kept says which files the open steps of a video need.
type Kept struct {
	Work   bool // chunk files and everything else of a pass
	Staged bool // files that wait to be published
	Source bool
	// Variants are chunk files of other codecs than H.264, and what is made of them.
	Variants bool
}

// Keeps reports which files the open steps of a video need.
func Keeps(steps []store.Step) Kept {
	var kept Kept
	for _, s := range steps {
		if k := stepKind(s); !s.Done {
			kept.Work = kept.Work || k.inPass()
			kept.Staged = kept.Staged || k.keepsStaged()
			kept.Source = kept.Source || k.inPass() || k.KeepsSource
			kept.Variants = kept.Variants || k.Codec != ""
		}
	}
	return kept
}

// kindsThat returns the names of the kinds that have a property.
func kindsThat(has func(Kind) bool) []queue.Kind {
	var names []queue.Kind
	for _, k := range kinds {
		if has(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

// surviving are the kinds that stay queued when the work on a video is cancelled.
func surviving() []queue.Kind { return kindsThat(func(k Kind) bool { return k.Stage == Purge }) }

// stepKind returns the row of a step.
func stepKind(s store.Step) Kind { return KindOf(queue.Kind(s.Kind)) }

// newTask returns task number n of a kind.
func newTask(name queue.Kind, id video.ID, tenant video.Tenant, n int) queue.Task {
	return queue.Task{Kind: name, Video: id, Tenant: tenant, Number: n, Priority: KindOf(name).Priority(n)}
}

// passOpen reports whether a pass is between its inspection and its end, which is when the last
// rendition is assembled.
func passOpen(steps []store.Step) bool {
	return slices.ContainsFunc(steps, func(s store.Step) bool { return stepKind(s).Stage == Assemble && !s.Done })
}

// taskOpen reports whether a task is still to be done. Its worker may have slept through the end of
// its step, or of its pass.
func taskOpen(t queue.Task, v video.Video, steps []store.Step) bool {
	if KindOf(t.Kind).Stage == Inspect {
		return len(v.Unplanned()) > 0 && !passOpen(steps)
	}
	return slices.ContainsFunc(steps, func(s store.Step) bool {
		return s.Kind == string(t.Kind) && s.Number == t.Number && !s.Done
	})
}

func always(priority int) func(int) int { return func(int) int { return priority } }

func countIf(wanted bool) int {
	if wanted {
		return 1
	}
	return 0
}

// UsesDisk reports whether tasks of this kind work with files, and so need a folder and space in it.
func (k Kind) UsesDisk() bool { return k.Reads != nil || k.Writes != nil }
