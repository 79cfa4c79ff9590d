package tus

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

// exchange is what is known about one request while tusd works on it.
type exchange struct {
	right  app.Resumable
	hold   app.Hold
	length int64 // of the body; -1 when the client does not say
	err    error // why it failed, if not because of something that tusd says
}

type exchangeKey struct{}

// exchangeOf finds the exchange again in what tusd calls.
func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// fail keeps the first error for the answer: what comes after follows from it.
// tusd would put its text there, with the paths that are in it.
func (x *exchange) fail(err error) error {
	if _, said := errors.AsType[handler.Error](err); said || err == nil {
		return err
	}
	if _, classified := errors.AsType[*video.Error](err); !classified {
		err = storageError(err)
	}
	if x.err == nil {
		x.err = err
	}
	return err
}

func storageError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage",
			Msg: "The server has no room for this file now. Try again later.", RetryAfter: time.Minute, Err: err}
	}
	return &video.Error{Kind: video.Unavailable, Code: "storage_unavailable",
		Msg: "The storage does not answer. Try again shortly.", RetryAfter: 5 * time.Second, Err: err}
}

// body is what a client sends. It may take as long as it likes, provided that
// every read brings something within stall, and ends early when it is stopped:
// what has come by then is stored, and the client goes on from there.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	stall   time.Duration

	mu                sync.Mutex
	stopped, finished bool
}

func newBody(w http.ResponseWriter, r *http.Request, stall time.Duration) *body {
	return &body{ReadCloser: r.Body, control: http.NewResponseController(w), stall: stall, finished: r.ContentLength == 0}
}

func (b *body) Read(p []byte) (int, error) {
	if !b.wait(time.Now().Add(b.stall)) {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.mu.Lock()
		b.finished = true
		b.mu.Unlock()
		b.wait(time.Time{}) // the server watches the connection now; it must not take the client for gone
	}
	return n, err
}

// wait sets the deadline of the next read. It reports false after a stop.
func (b *body) wait(until time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return false
	}
	_ = b.control.SetReadDeadline(until) // a connection without deadlines is one of a test
	return true
}

// stop ends the body, also where it is just being waited for.
func (b *body) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.finished {
		b.stopped = true
		_ = b.control.SetReadDeadline(time.Now())
	}
}

// answer passes on what tusd writes, unless it is a refusal: those are kept, to
// be said as everywhere else. It has no use for the deadlines that tusd sets,
// because body and the server set theirs.
type answer struct {
	http.ResponseWriter
	location string
	expires  time.Time

	refused int // the status
	reason  strings.Builder
}

func (a *answer) SetReadDeadline(time.Time) error  { return nil }
func (a *answer) SetWriteDeadline(time.Time) error { return nil }

func (a *answer) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		a.refused = status
		return
	}
	h := a.Header()
	h.Set("Upload-Expires", a.expires.UTC().Format(http.TimeFormat))
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length") // which would be that of the file
	if status == http.StatusCreated {
		h.Set("Location", a.location)
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.refused != 0 {
		return a.reason.Write(p)
	}
	return a.ResponseWriter.Write(p)
}

// problem says why tusd refused. Its text is "CODE: sentence".
func (a *answer) problem(x *exchange) error {
	for _, name := range []string{"Location", "Upload-Offset", "Upload-Length"} {
		a.Header().Del(name)
	}
	if x.err != nil {
		return x.err
	}
	code, said, _ := strings.Cut(strings.TrimSpace(a.reason.String()), ": ")
	if a.refused == http.StatusNotFound { // HEAD has no text
		code = handler.ErrNotFound.ErrorCode
	}
	if e, known := refusals[code]; known {
		return &e
	}
	if a.refused >= http.StatusInternalServerError {
		return errors.New("tusd: " + said)
	}
	return &video.Error{Kind: video.Invalid, Code: "invalid_request", Msg: "The request does not follow tus 1.0: " + said + "."}
}

// interrupted is a conflict because that is what clients answer with asking for
// the offset and going on.
var interrupted = video.Error{Kind: video.Conflict, Code: "upload_interrupted",
	Msg: "The request broke off, or another one for this upload came. Ask for the offset with HEAD and go on from there."}

// refusals are what we say in tusd's stead.
var refusals = map[string]video.Error{
	handler.ErrUnsupportedVersion.ErrorCode: {Kind: video.PreconditionFailed, Code: "tus_version_unsupported", Msg: "Send the header Tus-Resumable: 1.0.0."},
	handler.ErrInvalidContentType.ErrorCode: {Kind: video.UnsupportedMedia, Code: "unsupported_media_type", Msg: "Send the header Content-Type: application/offset+octet-stream."},
	handler.ErrNotFound.ErrorCode:           {Kind: video.NotFound, Code: "upload_not_found", Msg: "No upload was begun at this address; begin one with POST."},
	handler.ErrMismatchOffset.ErrorCode:     {Kind: video.Conflict, Code: "offset_mismatch", Msg: "The upload does not stand at this offset. Ask for it with HEAD."},
	handler.ErrMaxSizeExceeded.ErrorCode:    {Kind: video.TooLarge, Code: "file_too_large", Msg: "The file is larger than is accepted."},
	handler.ErrSizeExceeded.ErrorCode:       {Kind: video.TooLarge, Code: "file_too_large", Msg: "This is more than was announced with Upload-Length, or than is accepted."},
	handler.ErrUnexpectedEOF.ErrorCode:      interrupted,
	handler.ErrReadTimeout.ErrorCode:        interrupted,
	handler.ErrConnectionReset.ErrorCode:    interrupted,
}
