package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/engine/mp4"
	"github.com/spool-video/spool/internal/engine/stream"
	"github.com/spool-video/spool/internal/video"
)

type foundFilm struct {
	name video.Name
	info blob.Info
}

// findFilms looks which films of a video there are, smallest first. To have none
// is an error that says why.
func (a *App) findFilms(ctx context.Context, place string, id video.ID) ([]foundFilm, error) {
	var found []foundFilm
	for info, err := range a.blobs.List(ctx, folder(place, id)) {
		if err != nil {
			return nil, storageError("list films", err)
		}
		_, _, rest, _ := parseKey(info.Key)
		if name, thumbnail, ok := parsePlayFile(rest); ok && thumbnail < 0 {
			found = append(found, foundFilm{name, info})
		}
	}
	if len(found) == 0 {
		return nil, a.whyNoFilm(ctx, place, id)
	}
	slices.SortFunc(found, func(a, b foundFilm) int { return cmp.Compare(a.name.ShortSide(), b.name.ShortSide()) })
	return found, nil
}

// films returns the films of a video with their indexes, smallest first.
func (a *App) films(ctx context.Context, place string, id video.ID) ([]stream.Rendition, error) {
	found, err := a.findFilms(ctx, place, id)
	if err != nil {
		return nil, err
	}
	all, errs := make([]stream.Rendition, len(found)), make([]error, len(found))
	var reading sync.WaitGroup
	for i, f := range found {
		reading.Go(func() {
			all[i].Name = string(f.name)
			all[i].Index, errs[i] = a.indexOf(ctx, f.info)
		})
	}
	reading.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	// Those that were deleted in this very moment have none.
	all = slices.DeleteFunc(all, func(f stream.Rendition) bool { return f.Index == nil })
	if len(all) == 0 {
		return nil, a.whyNoFilm(ctx, place, id)
	}
	return all, nil
}

// indexOf returns the index of a film that was just listed, and opens the film
// only when nobody knows its index yet.
func (a *App) indexOf(ctx context.Context, info blob.Info) (*mp4.Index, error) {
	return a.shelved(ctx, info, func() (*mp4.Index, error) {
		film, err := a.blobs.Open(ctx, info.Key)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil {
			return nil, storageError("open film", err)
		}
		defer film.Close()
		return readIndex(film)
	})
}

func (a *App) index(ctx context.Context, film blob.Object) (*mp4.Index, error) {
	return a.shelved(ctx, film.Info(), func() (*mp4.Index, error) { return readIndex(film) })
}

// shelved returns the index of a film, and reads it if nobody has it. Who runs out
// of time while others read has waited for the storage as they have.
func (a *App) shelved(ctx context.Context, info blob.Info, read func() (*mp4.Index, error)) (*mp4.Index, error) {
	index, err := a.shelf.Get(ctx, info.Key, info.ETag, read)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, storageError("wait for the index of a film", err)
	}
	return index, err
}

// readIndex tells a storage that does not answer from a film that is damaged:
// the one passes, the other is a fault of ours.
func readIndex(film blob.Object) (*mp4.Index, error) {
	watched := &faultWatcher{ReaderAt: film}
	index, err := mp4.ReadIndex(mp4.Input{ReaderAt: watched, Size: film.Info().Size})
	if watched.err != nil {
		return nil, storageError("read film", watched.err)
	}
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", film.Info().Key, err)
	}
	return index, nil
}

type faultWatcher struct {
	io.ReaderAt
	err error
}

func (w *faultWatcher) ReadAt(p []byte, off int64) (int, error) {
	n, err := w.ReaderAt.ReadAt(p, off)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}
