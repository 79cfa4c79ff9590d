package delivery

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// serve sends an object, or the requested range of it.
func serve(w http.ResponseWriter, r *http.Request, object playback.Content) {
	info := object.Info()
	several := strings.Contains(r.Header.Get("Range"), ",")
	if several {
		// http.ServeContent would answer with multipart. It refuses a range behind the end of the
		// file, but only after the conditions of the request, which may void the range.
		r = r.Clone(r.Context())
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", info.Size))
	}
	out := &refusalFilter{ResponseWriter: w}
	http.ServeContent(out, r, "", info.Modified, object)
	if out.refused == http.StatusRequestedRangeNotSatisfiable {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", info.Size))
	}
	switch {
	case out.refused == http.StatusPreconditionFailed:
		problem.Write(w, r, &video.Error{Kind: video.PreconditionFailed, Code: "precondition_failed", Msg: "The file is not the one that the request's conditions name."})
	case out.refused == http.StatusRequestedRangeNotSatisfiable && several:
		problem.Write(w, r, &video.Error{Kind: video.RangeUnsatisfiable, Code: "multiple_ranges_unsupported", Msg: "Ask for one range at a time."})
	case out.refused == http.StatusRequestedRangeNotSatisfiable:
		problem.Write(w, r, &video.Error{Kind: video.RangeUnsatisfiable, Code: "range_not_satisfiable", Msg: fmt.Sprintf("The file has %d bytes; the range asked for is malformed or lies outside of it.", info.Size)})
	}
}

// refusalFilter suppresses the error responses (412 and 416) of http.ServeContent, so
// that a problem can be sent instead.
type refusalFilter struct {
	http.ResponseWriter
	refused int // the suppressed status, or 0
}

// Unwrap lets http.ResponseController reach the writer below.
func (f *refusalFilter) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *refusalFilter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		f.refused = status
		return
	}
	f.ResponseWriter.WriteHeader(status)
}

func (f *refusalFilter) Write(b []byte) (int, error) {
	if f.refused != 0 {
		return len(b), nil
	}
	return f.ResponseWriter.Write(b)
}

// ReadFrom lets the kernel send files: io.Copy uses the ReadFrom of the writer below, and a
// segment passes the ranges of its file on one by one.
func (f *refusalFilter) ReadFrom(r io.Reader) (int64, error) {
	if part, ok := r.(*io.LimitedReader); ok {
		if parts, ok := part.R.(playback.Sender); ok {
			return parts.SendTo(f.ResponseWriter, part.N)
		}
	}
	return io.Copy(f.ResponseWriter, r)
}
