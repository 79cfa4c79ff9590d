package s3

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"

	"github.com/spool-video/spool/internal/backend/blob"
)

const (
	// putParallel is how many parts of a Put are in flight while the next is being
	// read, each in memory.
	putParallel = 2
	// fileParallel is how many parts of a file are in flight. They are read from the
	// file while they are sent.
	fileParallel = 3
	// singleParts is how many parts a file must exceed to be sent in parts.
	singleParts = 4
)

// Put stores what r yields: with one request if it fits into the buffer of a part, and
// in parts otherwise.
func (s *rawStore) Put(ctx context.Context, key string, r io.Reader) (blob.Info, error) {
	buf := s.buffers.Get().(*[]byte)
	n, err := fill(ctx, r, *buf)
	if err == nil { // there may be more
		return s.putParts(ctx, key, r, buf)
	}
	defer s.buffers.Put(buf)
	if err != io.EOF {
		return blob.Info{}, err
	}
	return s.putWhole(ctx, key, bytes.NewReader((*buf)[:n]), int64(n))
}

// fill reads until buf is full. It returns io.EOF at the end of r, and otherwise the
// error of r or of ctx.
func fill(ctx context.Context, r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

// putWhole stores body with a single request.
func (s *rawStore) putWhole(ctx context.Context, key string, body io.ReadSeeker, size int64) (blob.Info, error) {
	ctx, cancel := withGrace(ctx, commitGrace)
	defer cancel()
	out, err := s.client.PutObject(ctx, &sdk.PutObjectInput{
		Bucket: &s.bucket, Key: s.fullKey(key), Body: body, ContentLength: &size, ContentType: contentType(key),
	})
	if err != nil {
		return blob.Info{}, explain(err)
	}
	return blob.Info{Key: key, Size: size, ETag: unquote(out.ETag), Modified: s.responseTime(out.ResultMetadata)}, nil
}

// putParts stores the full buffer first and whatever r still yields.
func (s *rawStore) putParts(ctx context.Context, key string, r io.Reader, first *[]byte) (blob.Info, error) {
	u, err := s.begin(ctx, key, putParallel)
	if err != nil {
		s.buffers.Put(first)
		return blob.Info{}, err
	}
	defer u.end() // a panic of r must not leave parts behind either
	u.sendBuffer(first, len(*first))
	for {
		buf := s.buffers.Get().(*[]byte)
		n, err := fill(u.ctx, r, *buf)
		if err != nil && err != io.EOF {
			s.buffers.Put(buf)
			return blob.Info{}, cmp.Or(context.Cause(u.ctx), err)
		}
		u.sendBuffer(buf, n)
		if err == io.EOF {
			return u.complete()
		}
	}
}

// sendBuffer sends the first n bytes of buf as the next part, and returns buf to the pool.
func (u *multipart) sendBuffer(buf *[]byte, n int) {
	release := func() { u.store.buffers.Put(buf) }
	if n == 0 {
		release()
		return
	}
	u.send(int64(n), bytes.NewReader((*buf)[:n]), release)
}

// PutFile uploads the file and removes it.
func (s *rawStore) PutFile(ctx context.Context, key, file string) (blob.Info, error) {
	if err := ctx.Err(); err != nil {
		return blob.Info{}, err
	}
	f, fi, err := blob.OpenRegular(file)
	if err != nil {
		return blob.Info{}, err
	}
	defer f.Close()
	info, err := s.upload(ctx, key, f, fi.Size())
	if err != nil {
		return blob.Info{}, err
	}
	return info, os.Remove(file)
}

func (s *rawStore) upload(ctx context.Context, key string, f *os.File, size int64) (blob.Info, error) {
	if size <= s.maxWhole {
		return s.putWhole(ctx, key, io.NewSectionReader(f, 0, size), size)
	}
	u, err := s.begin(ctx, key, fileParallel)
	if err != nil {
		return blob.Info{}, err
	}
	defer u.end()
	part := partSizeFor(size, s.partSize)
	for off := int64(0); off < size; off += part {
		n := min(part, size-off)
		u.send(n, io.NewSectionReader(f, off, n), nil)
	}
	return u.complete()
}

// partSizeFor returns the smallest part size, but at least this, with which an object
// does not have too many parts.
func partSizeFor(size, least int64) int64 {
	needed := (size + maxParts - 1) / maxParts
	return max(least, (needed+mib-1)/mib*mib)
}

// contentType is what the bucket tells a browser that reads the object directly.
func contentType(key string) *string { return aws.String(blob.ContentType(key)) }

// responseTime returns when the server sent the response, by its own clock.
func (s *rawStore) responseTime(m middleware.Metadata) time.Time {
	if t, ok := awsmiddleware.GetServerTime(m); ok && !t.IsZero() {
		return t
	}
	return s.now()
}
