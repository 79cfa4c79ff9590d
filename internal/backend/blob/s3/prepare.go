package s3

import (
	"context"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/remote"
)

// prepared is a copy of which the server has all parts.
type prepared struct {
	store    *rawStore
	from, to string
	parts    *multipart // nil: Publish copies the object as a whole
}

// Prepare has the server copy the object as parts of a multipart upload, also one that
// fits into a single part: whoever publishes it may hold a lock, and then one request
// that takes a moment is better than one that copies half a gigabyte.
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
	if err != nil || source.Size == 0 { // there is no part of nothing
		return p, err
	}
	if p.parts, err = s.beginCopy(ctx, source, to); err != nil {
		return nil, err
	}
	err = p.parts.Wait()
	if err == nil {
		return p, nil
	}
	p.Discard()
	if codeOf(err) == "NotImplemented" && source.Size <= s.maxCopy {
		return &prepared{store: s, from: from, to: to}, nil // a server that cannot copy parts
	}
	return nil, err
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
