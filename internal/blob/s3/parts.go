package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/spool-video/spool/internal/blob"
)

const (
	// downloads is how many parts of one object are read at a time.
	downloads = 4
	// downloadSize is how much one request reads at most, so that a long range
	// is shared out among them.
	downloadSize = 16 * mib
)

// FetchParts downloads some ranges of the object to the new file path. What lies
// beyond the end of the object is left out.
func (s *Store) FetchParts(ctx context.Context, key, path string, ranges []blob.Range) (blob.Info, error) {
	if err := blob.CheckKey(key); err != nil {
		return blob.Info{}, err
	}
	info, err := s.fetchParts(ctx, key, path, ranges)
	if err != nil {
		return blob.Info{}, fmt.Errorf("fetch parts of object %s: %w", key, err)
	}
	return info, nil
}

func (s *Store) fetchParts(ctx context.Context, key, path string, ranges []blob.Range) (blob.Info, error) {
	info, err := s.stat(ctx, key)
	if err != nil {
		return blob.Info{}, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return blob.Info{}, fmt.Errorf("%v", err) // path's folder is missing; the object is there
	}
	if err != nil {
		return blob.Info{}, err
	}
	err = f.Truncate(info.Size)
	if err == nil {
		err = version{s, info}.fill(ctx, f, ranges)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return blob.Info{}, errors.Join(localFault(err), os.Remove(path))
	}
	return info, nil
}

// fill writes ranges of the object to the same places of f, some at a time. The
// first error ends it.
func (v version) fill(ctx context.Context, f io.WriterAt, ranges []blob.Range) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work := make(chan blob.Range)
	var wg sync.WaitGroup
	for range downloads {
		wg.Go(func() {
			buffer := make([]byte, 256<<10)
			for r := range work {
				if err := v.copyRange(ctx, f, r, buffer); err != nil {
					stop(err)
				}
			}
		})
	}
	for _, r := range ranges {
		r.From, r.To = max(r.From, 0), min(r.To, v.info.Size)
		for ; r.From < r.To && ctx.Err() == nil; r.From += downloadSize {
			work <- blob.Range{From: r.From, To: min(r.To, r.From+downloadSize)}
		}
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

func (v version) copyRange(ctx context.Context, f io.WriterAt, r blob.Range, buffer []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	in := &stream{version: v, ctx: ctx, off: r.From, end: r.To}
	defer in.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.NewOffsetWriter(f, r.From)}, in, buffer)
	if err == nil && n != r.To-r.From {
		err = fmt.Errorf("%d bytes arrived instead of %d: %w", n, r.To-r.From, io.ErrUnexpectedEOF)
	}
	return err
}
