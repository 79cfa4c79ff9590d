package s3

import (
	"context"
	"errors"

	"github.com/spool-video/spool/internal/backend/blob"
)

// prepared is a copy whose parts the server has, or one that is so small that
// all is left to be done.
type prepared struct {
	store    *rawStore
	from, to string
	parts    *multipart // nil: a small one
}

// Prepare lets the server copy the object as parts of one that does not exist
// yet. What fits into a single part is not worth that: copying it takes no
// longer than preparing it.
func (s *rawStore) Prepare(ctx context.Context, from, to string) (blob.Prepared, error) {
	p, err := s.prepare(ctx, from, to)
	for range copyTries {
		if !errors.Is(err, blob.ErrChanged) {
			break
		}
		p, err = s.prepare(ctx, from, to)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (s *rawStore) prepare(ctx context.Context, from, to string) (*prepared, error) {
	p := &prepared{store: s, from: from, to: to}
	source, err := s.Stat(ctx, from)
	if err != nil || source.Size <= s.copyPart {
		return p, err
	}
	if p.parts, err = s.beginCopy(ctx, source, to); err != nil {
		return nil, err
	}
	if err := p.parts.arrive(); err != nil {
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
	stop := context.AfterFunc(ctx, func() { p.parts.fail(context.Cause(ctx)) })
	defer stop()
	return p.parts.publish()
}

// Discard takes back the parts unless they were published.
func (p *prepared) Discard() {
	if p.parts != nil {
		p.parts.end()
	}
}
