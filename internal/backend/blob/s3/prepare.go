package s3

import (
	"context"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/remote"
)

// prepared is a copy of which the server has all parts. A small one is copied as a
// whole by Publish.
type prepared struct {
	store    *rawStore
	from, to string
	parts    *multipart // nil for a small one
}

// Prepare has the server copy the object as parts of a multipart upload. An object
// that fits into one part is not worth it: copying it takes no longer than preparing.
func (s *rawStore) Prepare(ctx context.Context, from, to string) (blob.Prepared, error) {
	p, err := remote.RetryChanged(func() (*prepared, error) { return s.prepareVersion(ctx, from, to) })
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (s *rawStore) prepareVersion(ctx context.Context, from, to string) (*prepared, error) {
	p := &prepared{store: s, from: from, to: to}
	source, err := s.Stat(ctx, from)
	if err != nil || source.Size <= s.copyPart {
		return p, err
	}
	if p.parts, err = s.beginCopy(ctx, source, to); err != nil {
		return nil, err
	}
	if err := p.parts.Wait(); err != nil {
		p.Discard()
		return nil, err
	}
	return p, nil
}

// Publish makes the copy visible.
func (p *prepared) Publish(ctx context.Context) (blob.Info, error) {
	if p.parts == nil {
		return p.store.Copy(ctx, p.from, p.to, "")
	}
	if ctx.Err() != nil {
		return blob.Info{}, ctx.Err()
	}
	stop := context.AfterFunc(ctx, func() { p.parts.Fail(context.Cause(ctx)) })
	defer stop()
	return p.parts.publish()
}

// Discard removes the parts unless they were published.
func (p *prepared) Discard() {
	if p.parts != nil {
		p.parts.end()
	}
}
