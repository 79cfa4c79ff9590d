package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/language"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// newSound returns the sound tracks of a plan, in the order of the file. All of them are still to be made, but for those
// that cannot be.
func newSound(p *video.Plan) *video.Sound {
	type numbered struct {
		video.AudioTrack
		stream int
	}
	var all []numbered
	for i := range p.Sounds() {
		a := p.Sound(i).Audio
		t := video.AudioTrack{
			ID: newID(), Number: i + 1, Name: video.FirstTrack, Language: cmp.Or(a.Language, language.Undetermined), Label: cmp.Or(a.Label, "Sound"), Kind: cmp.Or(a.Kind, video.MainTrack),
			Source: video.Embedded, Default: i == 0, Status: video.Processing, Failure: a.Failure,
		}
		if i > 0 {
			t.Name = video.TrackName(t.ID)
		}
		if a.Failure != nil {
			t.Status = video.Fail
		}
		all = append(all, numbered{t, a.Stream})
	}
	slices.SortFunc(all, func(a, b numbered) int { return a.stream - b.stream })
	s := &video.Sound{Tracks: []video.AudioTrack{}, Last: len(all)}
	for _, n := range all {
		s.Tracks = append(s.Tracks, n.AudioTrack)
	}
	return s
}

// hasSound reports whether the default track is ready.
func hasSound(v video.Video) bool {
	t, _ := v.Sound.Default()
	return t.Status == video.Ready
}

// wantsSound reports whether a video needs a piece of a sound track of its file: tracks that were made in an earlier pass
// have files of their own.
func wantsSound(v video.Video, n int) bool {
	track, piece := video.AudioOf(n)
	if piece >= v.Plan.AudioPieces() || v.Plan.Sound(track).Audio.Failure != nil {
		return false
	}
	t, known := v.Sound.Track(track + 1)
	if !known { // it is of a version that did not know of tracks
		return track == 0
	}
	_, made := v.File(t.File())
	return !made && t.Status != video.Fail
}

// AudioFile is one piece of a sound track, as a worker made it.
type AudioFile struct {
	Path    string // "": the audio has ended before
	Packets int
	Lost    time.Duration // how much could not be decoded, from the beginning of the audio to the end of this piece
	Whole   string        // with the last piece: the file with all of the track
	// Loudness is how loud the track is, if that was measured with this piece.
	Loudness *video.Loudness
}

// FinishAudio stores a piece of a sound track and, with the last one, publishes the track's own file. v is the video as it
// was when the task began.
func (t *Tasks) FinishAudio(ctx context.Context, task queue.Task, v video.Video, f AudioFile) error {
	r := newResult(v)
	r.frames = ended
	if f.Path != "" {
		if _, err := t.blobs.PutFile(ctx, objects.Audio(v.Folder(), task.Number, r.run), f.Path); err != nil {
			return fmt.Errorf("store audio: %w", err)
		}
		r.frames = int64(f.Packets)
	}
	index, _ := video.AudioOf(task.Number)
	var whole []NewFile
	if track, ok := v.Sound.Track(index + 1); ok && f.Whole != "" {
		whole = append(whole, NewFile{File: video.File{Name: track.File(), Kind: video.TrackFileKind}, Path: f.Whole})
	}
	c := newCopies(t.blobs)
	defer c.discard()
	listed, err := t.stageFiles(ctx, v, whole, c)
	if err != nil {
		return err
	}
	r.record = func(ctx context.Context, tx *store.Tx, v video.Video) error {
		if index == 0 {
			if err := recordLostAudio(ctx, tx, v, f.Lost); err != nil {
				return err
			}
		}
		if _, err := recordLoudness(ctx, tx, v, index+1, f.Loudness); err != nil {
			return err
		}
		return c.publishListed(ctx, tx, v, listed)
	}
	return t.finish(ctx, task, r)
}

// StoreLoudness records how loud a sound track of the file is, and by how much it becomes louder. It returns what is
// recorded, which is what the first task has measured: all pieces of a track have the same gain. v is the video as it was
// when the task began.
func (t *Tasks) StoreLoudness(ctx context.Context, v video.Video, number int, measured *video.Loudness) (*video.Loudness, error) {
	err := t.store.WithVideoLock(ctx, v.ID, func(tx *store.Tx) error {
		now, err := tx.Video(ctx, v.ID)
		if err != nil || now.Folder() != v.Folder() {
			return err
		}
		measured, err = recordLoudness(ctx, tx, now, number, measured)
		return err
	})
	return measured, err
}

// recordLoudness records how loud a sound track is unless that is known, and returns what is recorded.
func recordLoudness(ctx context.Context, tx *store.Tx, v video.Video, number int, l *video.Loudness) (*video.Loudness, error) {
	track, ok := v.Sound.Track(number)
	if !ok || l == nil {
		return l, nil
	}
	if track.Loudness != nil {
		return track.Loudness, nil
	}
	track.Loudness = l
	return l, tx.SetFindings(ctx, v.ID, store.Findings{Sound: v.Sound.With(track)})
}

// recordLostAudio records that so much of the audio could not be decoded. Of several pieces, the last ones know
// the most.
func recordLostAudio(ctx context.Context, tx *store.Tx, v video.Video, lost time.Duration) error {
	if lost < video.MinLostAudio || v.Plan.Audio == nil || v.Plan.Audio.Lost >= lost {
		return nil
	}
	plan, audio := *v.Plan, *v.Plan.Audio
	audio.Lost, plan.Audio = lost, &audio
	return tx.SetFindings(ctx, v.ID, store.Findings{Plan: &plan})
}

// ended is what the step of a piece behind the end of the audio counts as its frames; a piece that was given up
// has 0.
const ended = -1

// recordTrack gives a sound track the status that follows when a piece of it is done, and returns the sound as it is then.
func recordTrack(ctx context.Context, tx *store.Tx, task queue.Task, v video.Video, steps []store.Step) (*video.Sound, error) {
	index, _ := video.AudioOf(task.Number)
	track, ok := v.Sound.Track(index + 1)
	if task.Kind != queue.Audio || !ok || track.Status.Finished() {
		return v.Sound, nil
	}
	parts := AudioParts(v, steps, index)
	if !parts.All {
		return v.Sound, nil
	}
	_, made := v.File(track.File())
	switch {
	case made, len(parts.Keys) > 0 && index == 0: // what could be made of the first one is in the MP4 files
		track.Status = video.Ready
	default:
		track.Status, track.Failure = video.Fail, video.Failf(video.Corrupt, "This sound track is damaged and could not be decoded.")
	}
	sound := v.Sound.With(track)
	return sound, tx.SetFindings(ctx, v.ID, store.Findings{Sound: sound})
}

// soundOf returns the keys of the files that the sound of MP4 files is made of, which follow one another, and the number of
// its track. A silent video has none.
func soundOf(v video.Video, steps []store.Step) (keys []string, number int, err error) {
	t, ok := v.Sound.Default()
	if _, made := v.File(t.File()); ok && made {
		return []string{objects.Playback(v, t.File())}, t.Number, nil
	}
	if v.Plan.Audio == nil || !beginsSound(steps, 0) {
		return nil, 0, nil
	}
	parts := AudioParts(v, steps, 0) // its last piece could not be made, or it is of an older version
	if !parts.All {
		return nil, 0, fmt.Errorf("%d pieces of the audio: %w", parts.Done, ErrPartsMissing)
	}
	return parts.Keys, countIf(len(parts.Keys) > 0), nil
}

// beginsSound reports whether a sound track of the file is encoded in a pass.
func beginsSound(steps []store.Step, track int) bool {
	return slices.ContainsFunc(steps, func(s store.Step) bool {
		return s.Kind == string(queue.Audio) && s.Number == video.AudioTask(track, 0)
	})
}

// differingTracks says that some MP4 files of a video hold another sound track than others.
const differingTracks = -1

// recordInFiles records which sound track an MP4 file holds that is published. first says that there are no others.
func recordInFiles(ctx context.Context, tx *store.Tx, v video.Video, track int, first bool) error {
	if v.Sound == nil || v.Sound.InFiles == track {
		return nil
	}
	sound := *v.Sound
	if sound.InFiles = track; !first {
		sound.InFiles = differingTracks
	}
	return tx.SetFindings(ctx, v.ID, store.Findings{Sound: &sound})
}
