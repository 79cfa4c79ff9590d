package tus

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/spool-video/spool/internal/video"
)

// response passes on what tusd writes, except errors: those are kept and answered
// as problems. It ignores the deadlines that tusd sets, because body and the
// server set their own.
type response struct {
	http.ResponseWriter
	location string
	expires  time.Time

	rejected int // the status of an error, or 0
	reason   strings.Builder
}

func (w *response) SetReadDeadline(time.Time) error  { return nil }
func (w *response) SetWriteDeadline(time.Time) error { return nil }

func (w *response) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.rejected = status
		return
	}
	h := w.Header()
	h.Set("Upload-Expires", w.expires.UTC().Format(http.TimeFormat))
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length") // tusd sets the length of the file
	if status == http.StatusCreated {
		h.Set("Location", w.location)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(p []byte) (int, error) {
	if w.rejected != 0 {
		return w.reason.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// problem returns why the request failed: the error of our own code, if it had
// one, or else the error of tusd, whose text is "CODE: sentence".
func (w *response) problem(own error) error {
	for _, name := range []string{"Location", "Upload-Offset", "Upload-Length"} {
		w.Header().Del(name)
	}
	if own != nil {
		return own
	}
	code, text, _ := strings.Cut(strings.TrimSpace(w.reason.String()), ": ")
	if w.rejected == http.StatusNotFound { // a response to HEAD has no text
		code = handler.ErrNotFound.ErrorCode
	}
	if e, known := tusdErrors[code]; known {
		return &e
	}
	if w.rejected >= http.StatusInternalServerError {
		return errors.New("tusd: " + text)
	}
	return &video.Error{Kind: video.Invalid, Code: "invalid_request", Msg: "The request does not follow tus 1.0: " + text + "."}
}

// interrupted is a conflict because clients react to one by asking for the offset
// and resuming from there.
var interrupted = video.Error{Kind: video.Conflict, Code: "upload_interrupted",
	Msg: "The request broke off, or another one for this upload came. Get the offset with HEAD and continue from there."}

// tusdErrors replaces errors of tusd, by its codes, with our own.
var tusdErrors = map[string]video.Error{
	handler.ErrUnsupportedVersion.ErrorCode: {Kind: video.PreconditionFailed, Code: "tus_version_unsupported", Msg: "Send the header Tus-Resumable: 1.0.0."},
	handler.ErrInvalidContentType.ErrorCode: {Kind: video.UnsupportedMedia, Code: "unsupported_media_type", Msg: "Send the header Content-Type: application/offset+octet-stream."},
	handler.ErrNotFound.ErrorCode:           {Kind: video.NotFound, Code: "upload_not_found", Msg: "There is no upload at this address. Create one with POST."},
	handler.ErrMismatchOffset.ErrorCode:     {Kind: video.Conflict, Code: "offset_mismatch", Msg: "The upload continues at another offset. Get it with HEAD."},
	handler.ErrMaxSizeExceeded.ErrorCode:    {Kind: video.TooLarge, Code: "file_too_large", Msg: "The file is larger than this server accepts."},
	handler.ErrSizeExceeded.ErrorCode:       {Kind: video.TooLarge, Code: "file_too_large", Msg: "The file is larger than Upload-Length said, or than this server accepts."},
	handler.ErrUnexpectedEOF.ErrorCode:      interrupted,
	handler.ErrReadTimeout.ErrorCode:        interrupted,
	handler.ErrConnectionReset.ErrorCode:    interrupted,
}
