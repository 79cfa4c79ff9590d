package tus

import (
	"context"
	"errors"
	"io"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/service/uploads"
)

// Imports stores the files that the service fetches itself as resumable uploads whose client it is.
func Imports(services Services, storage Storage) imports.Storage {
	return importStorage{&uploadStore{services: services, storage: storage}}
}

type importStorage struct{ store *uploadStore }

// withRequest returns a context for calls of the store, which finds the request in it.
func withRequest(ctx context.Context, r uploads.Resumable, l uploads.Lease) context.Context {
	q := &request{resumable: r, lease: l, length: -1, replaces: true}
	q.values = context.WithValue(context.WithoutCancel(ctx), requestKey{}, q)
	return context.WithValue(ctx, requestKey{}, q)
}

func (s importStorage) Open(ctx context.Context, r uploads.Resumable, l uploads.Lease) (imports.Partial, error) {
	ctx = withRequest(ctx, r, l)
	u, err := s.store.GetUpload(ctx, "")
	if errors.Is(err, handler.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return newPartial(ctx, u.(*upload))
}

func (s importStorage) Create(ctx context.Context, r uploads.Resumable, l uploads.Lease, size int64) (imports.Partial, error) {
	ctx = withRequest(ctx, r, l)
	u, err := s.store.NewUpload(ctx, handler.FileInfo{Size: max(size, 0), SizeIsDeferred: size < 0})
	if err != nil {
		return nil, err
	}
	p, err := newPartial(ctx, u.(*upload))
	if err == nil && p == nil {
		err = storageError(handler.ErrNotFound)
	}
	return p, err
}

// partial is an upload that was begun.
type partial struct {
	*upload
	info handler.FileInfo
}

func newPartial(ctx context.Context, u *upload) (imports.Partial, error) {
	info, err := u.GetInfo(ctx)
	if errors.Is(err, handler.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &partial{u, info}, nil
}

func (p *partial) Stored() int64 { return p.info.Offset }

func (p *partial) Size() int64 {
	if p.info.SizeIsDeferred {
		return -1
	}
	return p.info.Size
}

func (p *partial) Append(ctx context.Context, src io.Reader, length int64) error {
	p.request.length = length
	ctx = context.WithValue(ctx, requestKey{}, p.request)
	n, err := p.WriteChunk(ctx, p.info.Offset, src)
	p.info.Offset += n
	return err
}

func (p *partial) Finish(ctx context.Context) error {
	ctx = context.WithValue(ctx, requestKey{}, p.request)
	if p.info.SizeIsDeferred {
		if err := p.DeclareLength(ctx, p.info.Offset); err != nil {
			return err
		}
		p.info.Size, p.info.SizeIsDeferred = p.info.Offset, false
	}
	if p.arrived {
		return nil // GetInfo has put it in place
	}
	return p.FinishUpload(ctx)
}
