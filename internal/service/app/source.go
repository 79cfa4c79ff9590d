package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/video"
)

// ErrSourceGone means that the uploaded file is not in the storage any more, or
// not the one that was verified. It will not come back.
var ErrSourceGone = errors.New("the uploaded file is gone")

// FetchSource makes the verified upload available as the local file path.
//
// Its key is random and nothing writes to it again, so the size is proof enough.
// The ETag is not asked for: a data directory that was restored from a backup
// has the same files with other ETags.
func (a *App) FetchSource(ctx context.Context, v video.Video, path string) error {
	if err := a.blobs.Fetch(ctx, v.Source.Key, "", path); err != nil {
		return sourceError(v, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("fetch source of %s: %w", v.ID, err)
	}
	return rightSize(v, info.Size())
}

// worthwhile is the part of a source, in percent, up to which fetching no more
// than that is worth it: it takes more requests than fetching all.
const worthwhile = 80

// FetchSpans is FetchSource of some bytes, where that costs less than fetching
// all of them. It reports whether the file has holes.
func (a *App) FetchSpans(ctx context.Context, v video.Video, spans []video.Span, path string) (holes bool, err error) {
	ranges, sum := make([]blob.Range, len(spans)), int64(0)
	for i, s := range spans {
		ranges[i] = blob.Range{From: s.From, To: s.To}
		sum += s.To - s.From
	}
	if len(spans) == 0 || sum > v.Source.Size/100*worthwhile {
		return false, a.FetchSource(ctx, v, path)
	}
	info, sparse, err := a.blobs.FetchParts(ctx, v.Source.Key, path, ranges)
	if err != nil {
		return false, sourceError(v, err)
	}
	return sparse, rightSize(v, info.Size)
}

func sourceError(v video.Video, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("fetch source of %s: %w", v.ID, ErrSourceGone)
	}
	return storageError("fetch source", err)
}

func rightSize(v video.Video, size int64) error {
	if size != v.Source.Size {
		return fmt.Errorf("source of %s has %d bytes instead of %d: %w", v.ID, size, v.Source.Size, ErrSourceGone)
	}
	return nil
}
