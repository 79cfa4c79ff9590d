package s3

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/spool-video/spool/internal/backend/blob"
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
func (s *rawStore) FetchParts(ctx context.Context, key, path string, ranges []blob.Range) (blob.Info, bool, error) {
	info, err := s.Stat(ctx, key)
	if err != nil {
		return blob.Info{}, false, err
	}
	err = makeFile(path, func(f *os.File) error {
		if err := f.Truncate(info.Size); err != nil {
			return err
		}
		return version{s, info}.fill(ctx, f, ranges)
	})
	return info, true, err
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
			buffer := make([]byte, copyBuffer)
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
	return in.copyTo(io.NewOffsetWriter(f, r.From), buffer)
}
