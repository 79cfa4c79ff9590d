package s3

import (
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spool-video/spool/internal/backend/blob"
)

const (
	// maxResumes is how often a stream that breaks is taken up again before it
	// counts as broken.
	maxResumes = 5
	// resumeCredit is how much has to arrive for earlier breaks to be forgotten.
	resumeCredit = mib
)

// version is one version of an object. Everything that is read through it is of
// that version, or an error.
type version struct {
	store *rawStore
	info  blob.Info
}

// get asks for the bytes from off up to end, at least one.
func (v version) get(ctx context.Context, off, end int64) (io.ReadCloser, error) {
	out, err := v.store.client.GetObject(ctx, &sdk.GetObjectInput{
		Bucket: &v.store.bucket, Key: v.store.full(v.info.Key),
		IfMatch: quoted(v.info.ETag), Range: aws.String(byteRange(off, end)),
	})
	if err != nil {
		return nil, explain(err)
	}
	if err := v.check(out, off, end); err != nil {
		out.Body.Close()
		return nil, err
	}
	return out.Body, nil
}

func byteRange(off, end int64) string { return fmt.Sprintf("bytes=%d-%d", off, end-1) }

// check trusts no server to have honoured the conditions of a request.
func (v version) check(out *sdk.GetObjectOutput, off, end int64) error {
	if etag := unquote(out.ETag); etag != v.info.ETag {
		return fmt.Errorf("%w: its ETag is %s, not %s", blob.ErrChanged, etag, v.info.ETag)
	}
	got, want := aws.ToString(out.ContentRange), fmt.Sprintf("bytes %d-%d/%d", off, end-1, v.info.Size)
	whole := got == "" && off == 0 && aws.ToInt64(out.ContentLength) == end
	if got != want && !whole {
		return fmt.Errorf("the server answered with %q instead of %q", got, want)
	}
	return nil
}

// stream reads the bytes of a version from off up to end. When the connection
// breaks, or ends too soon, it goes on with another.
type stream struct {
	version
	ctx      context.Context // of whoever reads: io.Reader has no other place for it
	off, end int64

	body   io.ReadCloser // nil: ask for one when the next byte is wanted
	breaks int           // in a row
	broke  int64         // where the last one was
}

func (s *stream) Read(p []byte) (int, error) {
	if s.off >= s.end {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, err := s.read(p[:min(int64(len(p)), s.end-s.off)])
		s.off += int64(n)
		switch {
		case s.off == s.end:
			s.Close()
			return n, nil
		case err == nil && n > 0:
			return n, nil
		case err != nil:
			if err := s.recover(err); err != nil {
				return n, err
			}
			if n > 0 {
				return n, nil
			}
		}
	}
}

func (s *stream) read(p []byte) (n int, err error) {
	if s.body == nil {
		body, err := s.get(s.ctx, s.off, s.end)
		if err != nil {
			return 0, &refused{err}
		}
		s.body = body
	}
	n, err = s.body.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // which it is, unless these were the last bytes
	}
	return n, err
}

// refused is an error of a request that the SDK has tried often enough.
type refused struct{ error }

// recover prepares another try after the body broke with cause, or returns the
// error with which to give up.
func (s *stream) recover(cause error) error {
	s.Close()
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if r, ok := cause.(*refused); ok {
		return r.error
	}
	if s.off-s.broke >= resumeCredit {
		s.breaks = 0
	}
	s.broke = s.off
	if s.breaks++; s.breaks > maxResumes {
		return fmt.Errorf("read from byte %d on: the connection broke %d times: %w", s.off, s.breaks, cause)
	}
	return s.store.pause.wait(s.ctx, s.breaks)
}

// Close gives the connection back. The stream could go on afterwards.
func (s *stream) Close() {
	if s.body != nil {
		s.body.Close()
		s.body = nil
	}
}
