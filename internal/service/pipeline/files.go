package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/service/watermarks"
	"github.com/spool-video/spool/internal/video"
)

// Files brings the inputs of tasks to workers: sources, chunk files and rendition files.
type Files struct {
	store *store.Store
	blobs blob.Store
}

// NewFiles returns the inputs in a storage.
func NewFiles(s *store.Store, blobs blob.Store) *Files { return &Files{store: s, blobs: blobs} }

// ErrSourceGone means that the source is not in the storage any more, or not the one that was
// verified. It will not come back.
var ErrSourceGone = errors.New("the uploaded file is gone")

// ErrPartsMissing means that not all parts of a rendition are recorded as made.
var ErrPartsMissing = errors.New("parts of it are missing")

// FetchSource makes the source available as the local file path.
//
// Its key is random and nothing writes to it again, so the size is proof enough. The ETag is not
// compared: a data directory that was restored from a backup has the same files with other ETags.
func (f *Files) FetchSource(ctx context.Context, v video.Video, path string) error {
	if err := f.blobs.Fetch(ctx, v.Source.Key, "", path); err != nil {
		return sourceError(v, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("fetch source of %s: %w", v.ID, err)
	}
	return checkSize(v, info.Size())
}

// maxSparsePercent is the largest part of a source that is fetched in spans. They take more requests, so a
// larger part is not worth it, and the whole source is fetched.
const maxSparsePercent = 80

// FetchSourceSpans is FetchSource of some bytes, where that costs less than fetching all of them. It
// reports whether the file is sparse.
func (f *Files) FetchSourceSpans(ctx context.Context, v video.Video, spans []video.Span, path string) (sparse bool, err error) {
	ranges, sum := make([]blob.Range, len(spans)), int64(0)
	for i, s := range spans {
		ranges[i] = blob.Range{From: s.From, To: s.To}
		sum += s.To - s.From
	}
	if len(spans) == 0 || sum > v.Source.Size/100*maxSparsePercent {
		return false, f.FetchSource(ctx, v, path)
	}
	info, sparse, err := f.blobs.FetchParts(ctx, v.Source.Key, path, ranges)
	if err != nil {
		return false, sourceError(v, err)
	}
	return sparse, checkSize(v, info.Size)
}

// FetchStill makes the picture of a video whose file has none available as the local file path.
func (f *Files) FetchStill(ctx context.Context, v video.Video, path string) error {
	if err := f.blobs.Fetch(ctx, objects.Still(v.Folder()), "", path); err != nil {
		return sourceError(v, err)
	}
	return nil
}

// FetchWatermark writes the picture of a video's watermark to path. Without a watermark there is nothing to do.
func (f *Files) FetchWatermark(ctx context.Context, v video.Video, path string) error {
	if v.Watermark == nil {
		return nil
	}
	png, err := watermarks.PictureOf(ctx, f.store.Queries, v.Watermark.ID)
	if err != nil {
		return fmt.Errorf("fetch the watermark: %w", err)
	}
	return os.WriteFile(path, png, 0o600)
}

func sourceError(v video.Video, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("fetch source of %s: %w", v.ID, ErrSourceGone)
	}
	return blob.ServiceError("fetch source", err)
}

func checkSize(v video.Video, size int64) error {
	if size != v.Source.Size {
		return fmt.Errorf("source of %s has %d bytes instead of %d: %w", v.ID, size, v.Source.Size, ErrSourceGone)
	}
	return nil
}

// ChunkFiles are the parts of one rendition, open for reading.
type ChunkFiles struct {
	Chunks []blob.Object
	Audio  []blob.Object // none for a silent video
	Track  int           // the number of the sound track that the audio is; 0: none
	Frames int64         // that the chunks have together
}

// Close closes all of them.
func (c *ChunkFiles) Close() {
	for _, o := range slices.Concat(c.Chunks, c.Audio) {
		o.Close()
	}
}

// OpenChunkFiles opens what a rendition is assembled from. A chunk in which nothing could be decoded
// has no file and is left out.
func (f *Files) OpenChunkFiles(ctx context.Context, v video.Video, rendition int) (*ChunkFiles, error) {
	steps, err := f.store.Steps(ctx, v.ID)
	if err != nil {
		return nil, err
	}
	parts := VideoParts(v, steps, rendition)
	if !parts.All { // assemblies are enqueued after the last part; a film must not end in the middle
		return nil, fmt.Errorf("assemble rendition %d of %s with %d chunks: %w", rendition, v.ID, parts.Done, ErrPartsMissing)
	}
	sound, track, err := soundOf(v, steps)
	if err != nil {
		return nil, fmt.Errorf("assemble rendition %d of %s: %w", rendition, v.ID, err)
	}
	c := &ChunkFiles{Track: track, Frames: parts.Frames}
	if c.Chunks, err = f.openAll(ctx, parts.Keys); err != nil {
		return nil, fmt.Errorf("open chunk file: %w", err)
	}
	if c.Audio, err = f.openAll(ctx, sound); err != nil {
		c.Close()
		return nil, fmt.Errorf("open audio: %w", err)
	}
	return c, nil
}

// openAll opens objects, or none of them.
func (f *Files) openAll(ctx context.Context, keys []string) ([]blob.Object, error) {
	var all []blob.Object
	for _, key := range keys {
		o, err := f.blobs.Open(ctx, key)
		if err != nil {
			(&ChunkFiles{Chunks: all}).Close()
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// FetchedRendition is a published rendition file as a local file.
type FetchedRendition struct {
	Rendition int
	Path      string
}

// FetchRenditionFiles makes the rendition files of a video available in a local folder: one for each
// rendition that still has a resolution and was not measured in an earlier pass, in the order of
// renditions.
func (f *Files) FetchRenditionFiles(ctx context.Context, v video.Video, dir string) ([]FetchedRendition, error) {
	var fetched []FetchedRendition
	for i, rendition := range v.Plan.Renditions {
		for _, name := range rendition.Names {
			if r, ok := v.Resolution(name); !ok || r.Status != video.Ready || r.Quality != nil {
				continue
			}
			file := objects.RenditionFile(name)
			path := filepath.Join(dir, file)
			err := f.fetchPlayed(ctx, v, file, path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted meanwhile
			}
			if err != nil {
				return nil, blob.ServiceError("fetch rendition file "+file, err)
			}
			fetched = append(fetched, FetchedRendition{Rendition: i, Path: path})
			break
		}
	}
	return fetched, nil
}

// smallSide is how many pixels the longer side of a rendition must have for small pictures to be made
// of it.
const smallSide = 400

// smallResolution returns the smallest ready resolution of a video that is large enough for small
// pictures, or the largest one.
func smallResolution(v video.Video) (best video.Resolution, ok bool) {
	long := func(r video.Resolution) int { return max(r.Width, r.Height) }
	for _, r := range v.Resolutions {
		if r.Status != video.Ready {
			continue
		}
		better := long(r) > long(best)
		if long(best) >= smallSide {
			better = long(r) >= smallSide && long(r) < long(best)
		}
		if !ok || better {
			best, ok = r, true
		}
	}
	return best, ok
}

// FetchSmallRendition makes a rendition file available as the local file path: the smallest one that
// is large enough for small pictures. Without any it is fs.ErrNotExist.
func (f *Files) FetchSmallRendition(ctx context.Context, v video.Video, path string) error {
	r, ok := smallResolution(v)
	if !ok {
		return fmt.Errorf("fetch a rendition file of %s: %w", v.ID, fs.ErrNotExist)
	}
	return f.FetchPublished(ctx, v, objects.RenditionFile(r.Name), path)
}

// FetchPublished makes a published file available as the local file path. One that was not made, or is
// gone, is fs.ErrNotExist.
func (f *Files) FetchPublished(ctx context.Context, v video.Video, file, path string) error {
	err := f.fetchPlayed(ctx, v, file, path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return blob.ServiceError("fetch "+file, err)
}

// fetchPlayed makes a file that people play available as the local file path, wherever the file is while isPublic
// changes.
func (f *Files) fetchPlayed(ctx context.Context, v video.Video, file, path string) error {
	places := objects.Places(v, file)
	err := f.blobs.Fetch(ctx, places[0], "", path)
	if errors.Is(err, fs.ErrNotExist) {
		err = f.blobs.Fetch(ctx, places[1], "", path)
	}
	return err
}
