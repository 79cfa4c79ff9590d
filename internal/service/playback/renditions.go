package playback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/objects"
	"github.com/spool-video/spool/internal/video"
)

// listedRendition is a rendition file in the storage.
type listedRendition struct {
	name  video.Name
	track string // the name of its track, which tells its codec, too
	info  blob.Info
}

// listRenditions lists the rendition files of a video, smallest first. If none of them is in H.264, the
// error says why.
func (p *Player) listRenditions(ctx context.Context, at place) ([]listedRendition, error) {
	var found []listedRendition
	for info, err := range p.blobs.List(ctx, at.prefix()) {
		if err != nil {
			return nil, blob.ServiceError("list rendition files", err)
		}
		_, _, rest, _ := objects.Parse(info.Key)
		if file, ok := objects.ParseFile(rest); ok && file.IsRendition() {
			found = append(found, listedRendition{file.Resolution, string(file.Resolution), info})
		} else if track, name, ok := variantTrack(rest); ok {
			found = append(found, listedRendition{name, track, info})
		}
	}
	if !slices.ContainsFunc(found, func(f listedRendition) bool { return f.track == string(f.name) }) {
		return nil, p.whyNoStream(ctx, at)
	}
	slices.SortFunc(found, func(a, b listedRendition) int { return cmp.Compare(a.name.ShortSide(), b.name.ShortSide()) })
	return found, nil
}

// variantTrack returns the track of a file in another codec than H.264, and its resolution.
func variantTrack(file string) (track string, name video.Name, ok bool) {
	track, isFile := strings.CutSuffix(file, ".mp4")
	codec, resolution, found := strings.Cut(track, "-")
	name = video.Name(resolution)
	return track, name, isFile && found && name.Valid() && slices.Contains(video.ExtraCodecs, video.Codec(codec))
}

// renditions returns the rendition files of a video with their indexes, smallest first.
func (p *Player) renditions(ctx context.Context, at place) ([]stream.Rendition, error) {
	found, err := p.listRenditions(ctx, at)
	if err != nil {
		return nil, err
	}
	all, err := p.readAll(ctx, found)
	if err == nil && len(all) == 0 {
		return nil, p.whyNoStream(ctx, at)
	}
	return all, err
}

// readAll reads the indexes of rendition files, except of those that are gone.
func (p *Player) readAll(ctx context.Context, found []listedRendition) ([]stream.Rendition, error) {
	all, errs := make([]stream.Rendition, len(found)), make([]error, len(found))
	var reading panics.Group
	for i, f := range found {
		reading.Go(func() {
			all[i].Name = f.track
			all[i].Index, errs[i] = p.indexOf(ctx, f.info)
		})
	}
	reading.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	// A file that was deleted since it was listed has no index.
	return slices.DeleteFunc(all, func(r stream.Rendition) bool { return r.Index == nil }), nil
}

// whyNoStream says why a video has nothing to stream.
func (p *Player) whyNoStream(ctx context.Context, at place) error {
	v, err := p.store.Video(ctx, at.video)
	if err != nil && video.KindOf(err) != video.NotFound {
		return err
	}
	if err != nil || !v.DeletedAt.IsZero() || objects.PlaybackArea(v) != at.area {
		return noSuchFile()
	}
	for _, r := range v.Resolutions {
		if !r.Status.Finished() || v.Moving != "" {
			return notReady()
		}
	}
	return noSuchFile()
}

// indexOf returns the index of a rendition file that was just listed. It opens the file only if its
// index is not cached.
func (p *Player) indexOf(ctx context.Context, info blob.Info) (*mp4.Index, error) {
	return p.cachedIndex(ctx, info, func() (*mp4.Index, error) {
		file, err := p.blobs.Open(ctx, info.Key)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil {
			return nil, blob.ServiceError("open rendition file", err)
		}
		defer file.Close()
		return readIndex(file)
	})
}

// index returns the index of an open rendition file.
func (p *Player) index(ctx context.Context, file blob.Object) (*mp4.Index, error) {
	return p.cachedIndex(ctx, file.Info(), func() (*mp4.Index, error) { return readIndex(file) })
}

// cachedIndex returns the index of a rendition file, and reads it if it is not cached. A caller that
// times out while another reads the index gets the same storage error.
func (p *Player) cachedIndex(ctx context.Context, info blob.Info, read func() (*mp4.Index, error)) (*mp4.Index, error) {
	for {
		found, err := p.indexes.Do(ctx, info.Key, func() (versionedIndex, int64, error) {
			// Reading takes several times the memory of the result, so only a few are read at a time.
			if err := p.reads.Acquire(ctx, 1); err != nil {
				return versionedIndex{}, 0, err
			}
			defer p.reads.Release(1)
			index, err := read()
			if err != nil {
				return versionedIndex{}, 0, err
			}
			return versionedIndex{info.ETag, index}, index.Footprint(), nil
		})
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return nil, blob.ServiceError("wait for the index of a rendition file", err)
		case err != nil || found.etag == info.ETag:
			return found.index, err
		}
		p.indexes.Delete(info.Key) // it is of another version of the file
	}
}

// versionedIndex is the index of one version of a rendition file.
type versionedIndex struct {
	etag  string
	index *mp4.Index
}

// readIndex tells a storage that does not answer from a rendition file that is damaged: the first is
// transient, the second is an internal error.
func readIndex(file blob.Object) (*mp4.Index, error) {
	storage := &errorRecorder{ReaderAt: file}
	index, err := mp4.ReadIndex(mp4.Input{ReaderAt: storage, Size: file.Info().Size})
	if storage.err != nil {
		return nil, blob.ServiceError("read rendition file", storage.err)
	}
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", file.Info().Key, err)
	}
	return index, nil
}

// errorRecorder remembers the last error of the storage.
type errorRecorder struct {
	io.ReaderAt
	err error
}

func (r *errorRecorder) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}
