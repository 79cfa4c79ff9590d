package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/blob"
)

// Open returns the object, whose first bytes come with the answer that describes
// it. Reads go to the server until ctx ends.
func (s *rawStore) Open(ctx context.Context, key string) (blob.Object, error) {
	o, err := s.open(ctx, key)
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (s *rawStore) open(ctx context.Context, key string) (*object, error) {
	out, err := s.client.GetObject(ctx, &sdk.GetObjectInput{
		Bucket: &s.bucket, Key: s.full(key), Range: aws.String(byteRange(0, headSize)),
	})
	if statusOf(err) == http.StatusRequestedRangeNotSatisfiable { // of an empty object
		info, err := s.Stat(ctx, key)
		return &object{version: version{s, info}, ctx: ctx}, err
	}
	if err != nil {
		return nil, explain(err)
	}
	size, err := sizeOf(out)
	if err != nil {
		out.Body.Close()
		return nil, err
	}
	o := &object{version: version{s, describe(key, size, out.ETag, out.LastModified)}, ctx: ctx}
	head := &stream{version: o.version, ctx: ctx, end: min(headSize, size), body: out.Body}
	defer head.Close()
	o.window.bytes = make([]byte, head.end)
	if _, err := io.ReadFull(head, o.window.bytes); err != nil {
		return nil, err
	}
	return o, nil
}

// sizeOf returns the size of the whole object of which out has a part.
func sizeOf(out *sdk.GetObjectOutput) (int64, error) {
	if out.ContentRange == nil {
		return aws.ToInt64(out.ContentLength), nil
	}
	_, total, _ := strings.Cut(*out.ContentRange, "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the server answered with the range %q", *out.ContentRange)
	}
	return size, nil
}

// Stat describes an object.
func (s *rawStore) Stat(ctx context.Context, key string) (blob.Info, error) {
	out, err := s.client.HeadObject(ctx, &sdk.HeadObjectInput{Bucket: &s.bucket, Key: s.full(key)})
	if statusOf(err) == http.StatusNotFound {
		// The answer to HEAD has no body to say what it is that was not found.
		if err := s.Ping(ctx); err != nil {
			return blob.Info{}, err
		}
		return blob.Info{}, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if err != nil {
		return blob.Info{}, explain(err)
	}
	return describe(key, aws.ToInt64(out.ContentLength), out.ETag, out.LastModified), nil
}

// Fetch downloads the object to the new file path.
func (s *rawStore) Fetch(ctx context.Context, key, etag, path string) error {
	out, err := s.client.GetObject(ctx, &sdk.GetObjectInput{Bucket: &s.bucket, Key: s.full(key), IfMatch: quoted(etag)})
	if err != nil {
		return explain(err)
	}
	info := describe(key, aws.ToInt64(out.ContentLength), out.ETag, out.LastModified)
	in := &stream{version: version{s, info}, ctx: ctx, end: info.Size, body: out.Body}
	defer in.Close()
	if etag != "" && info.ETag != etag {
		return fmt.Errorf("%w: its ETag is %s, not %s", blob.ErrChanged, info.ETag, etag)
	}
	return makeFile(path, func(f *os.File) error { return in.copyTo(f, make([]byte, copyBuffer)) })
}

// copyBuffer is what a download holds in memory, however long it is.
const copyBuffer = 256 << 10

// copyTo writes all that is left of s.
func (s *stream) copyTo(w io.Writer, buffer []byte) error {
	want := s.end - s.off
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, s, buffer) // w's ReadFrom would not use the buffer
	if err == nil && n != want {
		err = fmt.Errorf("%d bytes arrived instead of %d: %w", n, want, io.ErrUnexpectedEOF)
	}
	return err
}

// makeFile has write make the new file path, whole or not at all.
func makeFile(path string, write func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%v", err) // path's folder is missing; the object is there
	}
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(localFault(err), os.Remove(path))
	}
	return nil
}

// localFault gives a full local disk the meaning it has in the contract.
func localFault(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	}
	return err
}
