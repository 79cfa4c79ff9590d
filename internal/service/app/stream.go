package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/video"
)

// shelfLimit is how much memory the indexes of films may take that are being
// watched. A film of two hours takes some 6 MB.
const shelfLimit = 64 << 20

// Changes reports whether what is found under a file's name may change while its
// video lives. The list of renditions does: they get ready one after the other,
// and can be deleted.
func Changes(file string) bool {
	f, ok := stream.Parse(file)
	return ok && (f.Kind == stream.Master || f.Kind == stream.Manifest)
}

// openStream makes a file of a stream. Whatever is in memory, the storage is
// asked first whether the film is there: a deleted film has no stream.
func (a *App) openStream(ctx context.Context, place string, id video.ID, f stream.File) (Content, error) {
	if f.Kind == stream.Segment {
		return a.openSegment(ctx, place, id, f)
	}
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if f.Kind == stream.Master || f.Kind == stream.Manifest {
		return a.openOverview(ctx, place, id, f.Kind)
	}
	film, track, err := a.openTrack(ctx, place, id, f.Track)
	if err != nil {
		return nil, err
	}
	defer film.Close()
	if f.Kind == stream.Init {
		return newPage(track.Init, film.Info().Modified), nil
	}
	return newPage(stream.MediaPlaylist(f.Track, track), film.Info().Modified), nil
}

// openOverview makes the list of what there is. It has no time of change: when a
// film is deleted, it is as old as it was.
func (a *App) openOverview(ctx context.Context, place string, id video.ID, k stream.Kind) (Content, error) {
	films, err := a.films(ctx, place, id)
	if err != nil {
		return nil, err
	}
	text := stream.MasterPlaylist(films)
	if k == stream.Manifest {
		text, err = stream.DASHManifest(films)
	}
	return newPage(text, time.Time{}), err
}

// openSegment returns a segment whose media are read from the film as they are
// sent. The storage is given little time to begin, and all it needs to go on.
func (a *App) openSegment(ctx context.Context, place string, id video.ID, f stream.File) (Content, error) {
	s, err := inTime(ctx, func(ctx context.Context) (*segment, error) { return a.findSegment(ctx, place, id, f) })
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, storageError("open film", err)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (a *App) findSegment(ctx context.Context, place string, id video.ID, f stream.File) (*segment, error) {
	film, track, err := a.openTrack(ctx, place, id, f.Track)
	if err != nil {
		return nil, err
	}
	if f.Number >= len(track.List()) {
		film.Close()
		return nil, noSuchFile()
	}
	parts, err := track.Segment(f.Number)
	if err != nil {
		film.Close()
		return nil, fmt.Errorf("segment %d of %s: %w", f.Number, film.Info().Key, err)
	}
	return newSegment(film, parts), nil
}

// openTrack opens the film that has a track, and finds the track in its index.
func (a *App) openTrack(ctx context.Context, place string, id video.ID, name string) (blob.Object, *mp4.Segments, error) {
	if name == stream.AudioTrack {
		return a.openSound(ctx, place, id)
	}
	n := video.Name(name)
	if !n.Valid() {
		return nil, nil, noSuchFile()
	}
	film, err := a.openFilm(ctx, place, id, n)
	if err != nil {
		return nil, nil, err
	}
	index, err := a.index(ctx, film)
	if err != nil {
		film.Close()
		return nil, nil, err
	}
	return film, index.Video, nil
}

// openSound opens a film to take the sound from, which is the same in all of
// them, but for those whose sound could not be made. The smallest has the fewest
// other bytes in between. One whose index is known is likely to be there: that
// saves a request.
func (a *App) openSound(ctx context.Context, place string, id video.ID) (blob.Object, *mp4.Segments, error) {
	known := slices.DeleteFunc(slices.Clone(video.Names), func(n video.Name) bool { return !a.shelf.Has(folder(place, id) + filmFile(n)) })
	film, sound, err := a.openFirstSound(ctx, place, id, known)
	if video.KindOf(err) != video.NotFound {
		return film, sound, err
	}
	found, err := a.findFilms(ctx, place, id)
	if err != nil {
		return nil, nil, err
	}
	var others []video.Name
	for _, f := range found {
		if !slices.Contains(known, f.name) {
			others = append(others, f.name)
		}
	}
	return a.openFirstSound(ctx, place, id, others)
}

// openFirstSound opens the first film that is there and has sound.
func (a *App) openFirstSound(ctx context.Context, place string, id video.ID, names []video.Name) (blob.Object, *mp4.Segments, error) {
	for _, n := range names {
		film, err := a.blobs.Open(ctx, folder(place, id)+filmFile(n))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, nil, storageError("open film", err)
		}
		index, err := a.index(ctx, film)
		if err == nil && index.Audio != nil {
			return film, index.Audio, nil
		}
		film.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, noSuchFile()
}

func (a *App) openFilm(ctx context.Context, place string, id video.ID, n video.Name) (blob.Object, error) {
	film, err := a.blobs.Open(ctx, folder(place, id)+filmFile(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, a.whyMissing(ctx, place, id, n, -1)
	}
	if err != nil {
		return nil, storageError("open film", err)
	}
	return film, nil
}

// whyNoFilm says why a video has nothing to stream.
func (a *App) whyNoFilm(ctx context.Context, place string, id video.ID) error {
	v, err := a.store.Video(ctx, id)
	if err != nil && video.KindOf(err) != video.NotFound {
		return err
	}
	if err != nil || !v.DeletedAt.IsZero() || playPlace(v) != place {
		return noSuchFile()
	}
	for _, r := range v.Resolutions {
		if !r.Status.Finished() {
			return notReady()
		}
	}
	return noSuchFile()
}
