package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// MaxTrackBytes is the size of the largest file of which a sound track is made.
const MaxTrackBytes = 2 << 30

// errSoundChanged says that a file was made with a sound track that is not the default any more. It is made again.
var errSoundChanged = errors.New("the MP4 files have got another sound track meanwhile")

func lastTrack(v video.Video) int {
	if v.Sound == nil {
		return 0
	}
	return v.Sound.Last
}

func soundChanges(v video.Video) int {
	if v.Sound == nil {
		return 0
	}
	return v.Sound.Changes
}

// tracksInFiles returns the number of the track that the MP4 files hold.
func tracksInFiles(v video.Video) int {
	if v.Sound == nil {
		return 0
	}
	return v.Sound.InFiles
}

// trackBytes is roughly how large a sound track is.
func trackBytes(v video.Video, _ int) int64 {
	const bitrate = 128_000
	return int64(bitrate * v.Plan.Duration.Seconds() / 8)
}

// largestFile is how large the largest MP4 file of a video is. They are made one after the other.
func largestFile(v video.Video, _ int) (most int64) {
	for _, f := range Films(v) {
		most = max(most, f.Size)
	}
	return most
}

// StartSound starts what makes the sound of a ready video complete: uploaded tracks, and MP4 files with another default.
// While a video is processing, the end of the pass does it.
func (p *Passes) StartSound(ctx context.Context, tx *store.Tx, id video.ID) error {
	v, err := tx.Video(ctx, id)
	if err != nil || v.Status != video.Ready || v.Plan == nil {
		return err
	}
	steps, tasks := expandKinds(v, func(k Kind) bool { return k.Name == queue.Sound || k.Name == queue.Remix })
	if err := tx.InsertSteps(ctx, id, steps); err != nil {
		return err
	}
	return p.queue.Enqueue(ctx, tx, tasks...)
}

// FetchTrackSource makes the file that was uploaded for a sound track available as the local file path.
func (f *Files) FetchTrackSource(ctx context.Context, t video.AudioTrack, path string) error {
	if err := f.blobs.Fetch(ctx, t.Upload, "", path); err != nil {
		return blob.ServiceError("fetch the file of a sound track", err)
	}
	return nil
}

// PublishTrack publishes a sound track that was made of an uploaded file, with how loud that is. v is the video as it was
// when the task began.
func (t *Tasks) PublishTrack(ctx context.Context, task queue.Task, v video.Video, path string, l *video.Loudness) error {
	track, ok := v.Sound.Track(task.Number)
	if !ok {
		return t.Skip(ctx, task)
	}
	c := newCopies(t.blobs)
	defer c.discard()
	listed, err := t.stageFiles(ctx, v, []NewFile{{File: video.File{Name: track.File(), Kind: video.TrackFileKind}, Path: path}}, c)
	if err != nil {
		return err
	}
	t.hook.Reach(failpoint.TrackStaged)
	err = t.finish(ctx, task, result{folder: v.Folder(), record: func(ctx context.Context, tx *store.Tx, v video.Video) error {
		now, ok := v.Sound.Track(task.Number)
		if !ok || !now.Waits() { // it was deleted meanwhile
			return nil
		}
		if err := c.publishListed(ctx, tx, v, listed); err != nil {
			return err
		}
		now.Status, now.Upload, now.Loudness = video.Ready, "", l
		return t.setTrack(ctx, tx, v, now)
	}})
	if err == nil {
		t.removeStaged(ctx, track.Upload)
	}
	return err
}

// failTrack records that an uploaded sound track cannot be made. The video stays as it is.
func (t *Tasks) failTrack(ctx context.Context, task queue.Task, f *video.Failure) error {
	var gone video.AudioTrack
	err := t.finish(ctx, task, result{record: func(ctx context.Context, tx *store.Tx, v video.Video) error {
		now, ok := v.Sound.Track(task.Number)
		if !ok || !now.Waits() {
			return nil
		}
		gone = now
		now.Status, now.Failure, now.Upload = video.Fail, f, ""
		return t.setTrack(ctx, tx, v, now)
	}})
	if err == nil && gone.Upload != "" {
		t.removeStaged(ctx, gone.Upload)
	}
	return err
}

// setTrack stores a changed track, and starts what follows if it has become the default.
func (t *Tasks) setTrack(ctx context.Context, tx *store.Tx, v video.Video, track video.AudioTrack) error {
	if err := tx.SetFindings(ctx, v.ID, store.Findings{Sound: v.Sound.With(track)}); err != nil {
		return err
	}
	return t.passes.StartSound(ctx, tx, v.ID)
}

// Film is an MP4 file of a video.
type Film struct {
	File  string
	Name  video.Name
	Codec video.Codec // "": H.264
	Size  int64
}

// Films returns the MP4 files of a video that are there.
func Films(v video.Video) []Film {
	var all []Film
	for _, r := range v.Resolutions {
		if r.Status != video.Ready {
			continue
		}
		all = append(all, Film{File: objects.RenditionFile(r.Name), Name: r.Name, Size: r.SizeBytes})
		for _, x := range r.Variants {
			if x.Status == video.Ready {
				all = append(all, Film{File: video.VariantFile(x.Codec, r.Name), Name: r.Name, Codec: x.Codec, Size: x.SizeBytes})
			}
		}
	}
	return all
}

// StageFilm stores an MP4 file where it waits to be published with the others, and returns its size.
func (t *Tasks) StageFilm(ctx context.Context, v video.Video, f Film, path string) (Film, error) {
	staged, err := t.blobs.PutFile(ctx, objects.StagedFile(v.Folder(), f.File), path)
	if err != nil {
		return f, fmt.Errorf("store %s: %w", f.File, err)
	}
	f.Size = staged.Size
	return f, nil
}

// PublishFilms replaces all MP4 files of a video with those that were staged, which hold another sound track. first is a
// file of the sound that they held before, of a video that was made before sound tracks had files; or nil. announce is called
// in the transaction. of is the video as it was when the task began.
func (t *Tasks) PublishFilms(ctx context.Context, task queue.Task, of video.Video, films []Film, first *NewFile, announce func(context.Context, *store.Tx, video.Video) error) error {
	c := newCopies(t.blobs)
	defer c.discard()
	var before []NewFile
	if first != nil {
		before = append(before, *first)
	}
	listed, err := t.stageFiles(ctx, of, before, c)
	if err != nil {
		return err
	}
	for _, f := range films {
		if !t.preparesCopy(f.Size) {
			continue
		}
		if err := c.prepare(ctx, objects.StagedFile(of.Folder(), f.File), objects.Playback(of, f.File)); err != nil {
			return fmt.Errorf("publish %s: %w", f.File, err)
		}
	}
	t.hook.Reach(failpoint.FilmsStaged)
	err = t.finish(ctx, task, result{folder: of.Folder(), record: func(ctx context.Context, tx *store.Tx, v video.Video) error {
		now, _ := v.Sound.Default()
		if was, _ := of.Sound.Default(); now.Number != was.Number {
			return nil // another task puts the new one in
		}
		if !sameFilms(Films(v), films) {
			return errSoundChanged
		}
		if err := c.publishListed(ctx, tx, v, listed); err != nil {
			return err
		}
		return t.publishFilms(ctx, tx, v, films, c, announce)
	}})
	if err == nil { // they are large, and other codecs may keep the purge waiting for days
		var staged []string
		for _, f := range films {
			staged = append(staged, objects.StagedFile(of.Folder(), f.File))
		}
		t.removeStaged(ctx, staged...)
	}
	return err
}

// removeStaged removes objects that were published or are not needed. If that fails, a sweep does it later.
func (t *Tasks) removeStaged(ctx context.Context, keys ...string) {
	if err := t.blobs.Delete(ctx, keys...); err != nil {
		t.passes.log.WarnContext(ctx, "could not remove what was made for the sound; a sweep will do it", "err", blob.ServiceError("remove objects", err))
	}
}

// sameFilms reports whether two lists name the same files.
func sameFilms(a, b []Film) bool {
	return slices.EqualFunc(a, b, func(a, b Film) bool { return a.File == b.File })
}

func (t *Tasks) publishFilms(ctx context.Context, tx *store.Tx, v video.Video, films []Film, c *copies, announce func(context.Context, *store.Tx, video.Video) error) error {
	err := tx.KeepAliveWhile(ctx, func(ctx context.Context) error {
		for _, f := range films {
			if err := c.publish(ctx, objects.StagedFile(v.Folder(), f.File), objects.Playback(v, f.File)); err != nil {
				return fmt.Errorf("publish %s: %w", f.File, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.hook.Reach(failpoint.FilmsLinked)
	files := slices.Clone(v.Files)
	for _, f := range films {
		for i := range files {
			if files[i].Name == f.File { // a variant; the list has no renditions
				files[i].Size = f.Size
			}
		}
	}
	for _, r := range v.Resolutions {
		if err := tx.SetOutput(ctx, withSizes(r, films, v.Duration)); err != nil {
			return err
		}
	}
	now, _ := v.Sound.Default()
	sound := *v.Sound
	sound.InFiles = now.Number
	if err := tx.SetFindings(ctx, v.ID, store.Findings{Sound: &sound, Files: append([]video.File{}, files...)}); err != nil {
		return err
	}
	return announce(ctx, tx, v)
}

// withSizes returns a resolution with the sizes of its files.
func withSizes(r video.Resolution, films []Film, length time.Duration) video.Resolution {
	for _, f := range films {
		switch {
		case f.Name != r.Name:
		case f.Codec == "":
			r.SizeBytes, r.Bitrate = f.Size, bitrate(f.Size, length)
		default:
			for _, x := range r.Variants {
				if x.Codec == f.Codec {
					x.SizeBytes, x.Bitrate = f.Size, bitrate(f.Size, length)
					r.Variants = r.WithVariant(x)
				}
			}
		}
	}
	return r
}
