package s3

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"github.com/spool-video/spool/internal/backend/blob"
)

// prepared is a copy whose parts are all on the server.
type prepared struct {
	store    *rawStore
	from, to string
	small    bool       // one request can copy the object as a whole
	parts    *multipart // nil: Publish does so
}

// Prepare has the server copy the object as parts of a multipart upload, also one that
// fits into a single part: the caller of Publish may hold a lock, and must not wait while
// half a gigabyte is copied.
func (s *rawStore) Prepare(ctx context.Context, from, to string) (blob.Prepared, error) {
	p, err := retryChanged(func() (*prepared, error) { return s.prepareVersion(ctx, from, to) })
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (s *rawStore) prepareVersion(ctx context.Context, from, to string) (*prepared, error) {
	source, err := s.Stat(ctx, from)
	p := &prepared{store: s, from: from, to: to, small: source.Size <= s.maxCopy}
	if err != nil || source.Size == 0 { // there is no part of nothing
		return p, err
	}
	if p.parts, err = s.beginCopy(ctx, source, to); err != nil {
		return nil, err
	}
	err = p.parts.wait()
	if err == nil {
		return p, nil
	}
	p.Discard()
	if p.small && refusesParts(err) {
		p.parts = nil
		return p, nil
	}
	return nil, err
}

// refusesParts reports whether the server will not make a copy in parts, however often it is asked.
// Not every server can copy parts, or takes an object of a single one.
func refusesParts(err error) bool {
	switch status := statusOf(err); {
	case errors.Is(err, errNoResult), codeOf(err) == "NotImplemented":
		return true
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, blob.ErrChanged):
		return false
	default:
		return status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
	}
}

// Publish makes the copy visible.
func (p *prepared) Publish(ctx context.Context) (blob.Info, error) {
	if p.parts == nil {
		return p.store.Copy(ctx, p.from, p.to, "")
	}
	info, err := p.parts.publish(ctx)
	if p.small && refusesParts(err) {
		return p.store.Copy(ctx, p.from, p.to, "")
	}
	return info, err
}

// Discard removes the parts unless they were published.
func (p *prepared) Discard() {
	if p.parts != nil {
		p.parts.end()
	}
}
