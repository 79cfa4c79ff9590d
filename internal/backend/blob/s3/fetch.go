package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/panics"
)

const (
	// copyBuffer is what one download holds in memory, however long it is.
	copyBuffer = 256 << 10
	// downloads is how many parts of one object are read at a time.
	downloads = 4
	// downloadSize is how much one request reads at most, so that a long range is
	// shared out among the downloads.
	downloadSize = 16 << 20
)

// fetch downloads the version to the new file path. body is the response to a
// request for all of it that was sent already, or nil.
func (v version) fetch(ctx context.Context, path string, body io.ReadCloser) error {
	in := v.newReader(ctx, blob.Range{To: v.info.Size}, body)
	defer in.Close()
	return createFile(path, func(f *os.File) error { return in.copyTo(f, make([]byte, copyBuffer)) })
}

// fetchParts downloads some ranges to the new file path, which gets the size of the
// object and has holes elsewhere. What lies beyond its end is left out.
func (v version) fetchParts(ctx context.Context, path string, ranges []blob.Range) error {
	return createFile(path, func(f *os.File) error {
		if err := f.Truncate(v.info.Size); err != nil {
			return err
		}
		return v.writeRanges(ctx, f, ranges)
	})
}

// writeRanges writes ranges of the object to the same places of f, some at a time.
// The first error ends it.
func (v version) writeRanges(ctx context.Context, f io.WriterAt, ranges []blob.Range) error {
	group, ctx := errgroup.WithContext(ctx)
	work := make(chan blob.Range)
	for range downloads {
		group.Go(func() error {
			buffer := make([]byte, copyBuffer)
			for r := range work {
				if err := panics.Catch(func() error { return v.writeRange(ctx, f, r, buffer) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(work)
		return v.share(ctx, ranges, work)
	})
	return group.Wait()
}

// share sends the ranges, cut into pieces of downloadSize.
func (v version) share(ctx context.Context, ranges []blob.Range, work chan<- blob.Range) error {
	for _, r := range ranges {
		r.From, r.To = max(r.From, 0), min(r.To, v.info.Size)
		for ; r.From < r.To; r.From += downloadSize {
			select {
			case work <- blob.Range{From: r.From, To: min(r.To, r.From+downloadSize)}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

func (v version) writeRange(ctx context.Context, f io.WriterAt, r blob.Range, buffer []byte) error {
	in := v.newReader(ctx, r, nil)
	defer in.Close()
	return in.copyTo(io.NewOffsetWriter(f, r.From), buffer)
}

// copyTo writes all that is left of r.
func (r *rangeReader) copyTo(w io.Writer, buffer []byte) error {
	want := r.remaining()
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, r, buffer) // w's ReadFrom would not use the buffer
	if err == nil && n != want {
		err = fmt.Errorf("%d bytes arrived instead of %d: %w", n, want, io.ErrUnexpectedEOF)
	}
	return err
}

// createFile has write make the new file path, whole or not at all.
func createFile(path string, write func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New(err.Error()) // the folder of path is missing; the object is there
	}
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(diskError(err), os.Remove(path))
	}
	return nil
}

// diskError gives a full local disk the meaning that it has in the contract.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	}
	return err
}
