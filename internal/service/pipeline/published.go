package pipeline

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/words"
	"github.com/spool-video/spool/internal/video"
)

// NewFile is a file that a worker has made for publication. Its size and content type are filled in.
type NewFile struct {
	video.File
	Path string
}

// PublishFiles finishes a task whose result are files of the video itself: it makes them visible and
// lists them, in the transaction that finishes the task's step. What PublishRendition says of
// deletions holds for them, too. v is the video as it was when the task began. Files of the automatic poster do not
// replace one that a client has chosen.
func (t *Tasks) PublishFiles(ctx context.Context, task queue.Task, v video.Video, files []NewFile) error {
	return t.publishFiles(ctx, task, v, files, func(video.Video, video.File) bool { return true })
}

// PublishMissing is PublishFiles without the files for whose use the video has one already: what a client has
// uploaded stays.
func (t *Tasks) PublishMissing(ctx context.Context, task queue.Task, v video.Video, files []NewFile) error {
	return t.publishFiles(ctx, task, v, files, func(v video.Video, f video.File) bool {
		return !v.HasLike(f)
	})
}

// publishFiles publishes the files that are still wanted when the video is locked.
func (t *Tasks) publishFiles(ctx context.Context, task queue.Task, v video.Video, files []NewFile, wanted func(video.Video, video.File) bool) error {
	c := newCopies(t.blobs)
	defer c.discard()
	texts, err := readCaptions(files)
	if err != nil {
		return err
	}
	listed, err := t.stageFiles(ctx, v, files, c)
	if err != nil {
		return err
	}
	t.hook.Reach(failpoint.FilesStaged)
	return t.finish(ctx, task, result{folder: v.Folder(), record: func(ctx context.Context, tx *store.Tx, v video.Video) error {
		listed := slices.DeleteFunc(slices.Clone(listed), func(f video.File) bool { return !wanted(v, f) })
		if err := c.publishListed(ctx, tx, v, listed); err != nil {
			return err
		}
		for _, f := range listed {
			if text, is := texts[f.Name]; is {
				if err := words.Add(ctx, tx, v, f, text); err != nil {
					return err
				}
			}
		}
		return nil
	}})
}

// readCaptions returns the texts of the files that are captions, by name.
func readCaptions(files []NewFile) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for _, f := range files {
		if !f.IsCaptions() {
			continue
		}
		text, err := os.ReadFile(f.Path)
		if err != nil {
			return nil, fmt.Errorf("read captions: %w", err)
		}
		texts[f.Name] = text
	}
	return texts, nil
}

// publishListed makes staged files visible and lists them. The video must be locked.
func (c *copies) publishListed(ctx context.Context, tx *store.Tx, v video.Video, listed []video.File) error {
	if len(listed) == 0 {
		return nil
	}
	err := tx.KeepAliveWhile(ctx, func(ctx context.Context) error {
		for i, f := range listed {
			listed[i] = placed(v, f)
			if err := c.publish(ctx, objects.StagedFile(v.Folder(), f.Name), objects.Playback(v, listed[i].Name)); err != nil {
				return fmt.Errorf("publish %s: %w", f.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tx.SetFindings(ctx, v.ID, store.Findings{Files: v.WithFiles(listed...)})
}

// placed returns a file as it is listed: a file of the automatic poster is kept beside a chosen one.
func placed(v video.Video, f video.File) video.File {
	if f.Kind == video.PosterKind && v.PosterIsChosen() {
		f.Name, f.Kind = video.KeptPoster(f.Name), video.KeptPosterKind
	}
	return f
}

// stageFiles stores files where they wait for the transaction that publishes them, and prepares
// their copies. It returns how they will be listed.
func (t *Tasks) stageFiles(ctx context.Context, v video.Video, files []NewFile, c *copies) ([]video.File, error) {
	listed := make([]video.File, len(files))
	for i, f := range files {
		if parsed, ok := objects.ParseFile(f.Name); !ok || parsed.Listed == "" {
			return nil, fmt.Errorf("%q is no name of a published file", f.Name)
		}
		staged, err := t.blobs.PutFile(ctx, objects.StagedFile(v.Folder(), f.Name), f.Path)
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", f.Name, err)
		}
		listed[i] = f.File
		listed[i].Size, listed[i].ContentType = staged.Size, blob.ContentType(f.Name)
		if !t.preparesCopy(staged.Size) {
			continue
		}
		if err := c.prepare(ctx, staged.Key, objects.Playback(v, f.Name)); err != nil {
			return nil, fmt.Errorf("publish %s: %w", f.Name, err)
		}
	}
	return listed, nil
}

// Published returns the names of the files that every video gets.
func Published() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Publishes...)
	}
	return names
}

// Awaited reports whether a file that every video gets is still to be made for this one: its step is
// open, or there will be such a step.
func Awaited(v video.Video, steps []store.Step, name string) bool {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return slices.Contains(k.Publishes, name) })
	if i < 0 {
		return false
	}
	open := func(s store.Step) bool { return s.Kind == string(kinds[i].Name) && !s.Done }
	return slices.ContainsFunc(steps, open) || !v.Status.Finished() && (kinds[i].Stage == After || !passOpen(steps))
}

// newVideo is how long after its upload a video is looked at for files that are being made. That takes
// seconds, unless workers have far too much to do.
const newVideo = 24 * time.Hour

// LacksFiles returns the ids of new videos that are ready and do not list all files that every video
// gets: these are being made, or could not be made. Videos that lack a codec are among them, however
// old.
func LacksFiles(videos []video.Video, now time.Time) []video.ID {
	unlisted := func(v video.Video) bool {
		return slices.ContainsFunc(Published(), func(name string) bool { _, listed := v.File(name); return !listed })
	}
	var ids []video.ID
	for _, v := range videos {
		lacks := slices.ContainsFunc(v.Codecs, v.LacksAny)
		if v.Status == video.Ready && (lacks || now.Sub(v.CompletedAt) < newVideo && unlisted(v)) {
			ids = append(ids, v.ID)
		}
	}
	return ids
}

// AwaitedFiles returns which files are still to be made for a ready video with these steps. Only
// tasks that follow a pass still make files of a ready video.
func AwaitedFiles(v video.Video, steps []store.Step) []string {
	var names []string
	for _, k := range kinds {
		if v.Status != video.Ready || !slices.ContainsFunc(steps, func(s store.Step) bool { return s.Kind == string(k.Name) }) {
			continue
		}
		for _, name := range k.Publishes {
			if _, listed := v.File(name); !listed {
				names = append(names, name)
			}
		}
	}
	return names
}
