package delivery

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

// serve sends an object, or the requested range of it.
func serve(w http.ResponseWriter, r *http.Request, object playback.Content) {
	info := object.Info()
	r, kind := withRange(r, info.Size)
	out := &refusalFilter{ResponseWriter: w}
	var content io.ReadSeeker = object
	if r.Method == http.MethodHead && info.Size == playback.UnknownSize { // nothing is made to tell its size
		out.unsized, content = true, new(bytes.Reader)
		r.Header.Del("Range")
	}
	http.ServeContent(out, r, "", info.Modified, content)
	switch out.refused {
	case http.StatusInternalServerError:
		_, err := content.Seek(0, io.SeekStart) // says once more why there is no content
		problem.Write(w, r, err)
	case http.StatusRequestedRangeNotSatisfiable:
		size := object.Info().Size
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		problem.Write(w, r, kind.refusal(size))
	case http.StatusPreconditionFailed:
		problem.Write(w, r, &video.Error{Kind: video.PreconditionFailed, Code: "precondition_failed", Msg: "The file is another one than the conditions of the request name. It may have changed."})
	}
}

// rangeKind is what the Range header of a request asks for.
type rangeKind int

const (
	whole   rangeKind = iota // no Range, or one that RFC 9110 says to ignore
	single                   // one range, satisfiable or not
	several                  // more than one range
)

var rangeSpec = regexp.MustCompile(`^(?:([0-9]+)-([0-9]*)|-([0-9]+))$`)

// withRange returns r with its Range header normalized, so that
// http.ServeContent follows RFC 9110. By itself, ServeContent rejects what should
// be ignored (malformed ranges, other units), answers several ranges with
// multipart, and sends an impossible range for "bytes=-0".
//
// Several ranges are replaced by an unsatisfiable one. So they are rejected, but
// only after the conditions of the request (If-None-Match, If-Range), which take
// precedence and may void the Range header.
func withRange(r *http.Request, size int64) (*http.Request, rangeKind) {
	header, kind := normalizeRange(strings.Join(r.Header.Values("Range"), ","), size)
	r = r.Clone(r.Context())
	r.Header.Del("Range")
	if kind != whole {
		r.Header.Set("Range", header)
	}
	return r, kind
}

// normalizeRange returns the simplest equivalent of a Range header for content of
// size bytes; less than 0: not known.
func normalizeRange(header string, size int64) (string, rangeKind) {
	unit, set, _ := strings.Cut(header, "=")
	if !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		return "", whole
	}
	unsatisfiable := fmt.Sprintf("bytes=%d-", size)
	if size < 0 { // not known
		unsatisfiable = fmt.Sprintf("bytes=%d-", math.MaxInt64)
	}
	var plain string
	count := 0
	for spec := range strings.SplitSeq(set, ",") {
		spec = strings.Trim(spec, " \t")
		if spec == "" {
			continue // RFC 9110: empty list elements are ignored
		}
		m := rangeSpec.FindStringSubmatch(spec)
		if m == nil || m[2] != "" && number(m[2]) < number(m[1]) {
			return "", whole
		}
		count++
		switch {
		case m[3] != "" && number(m[3]) == 0:
			plain = unsatisfiable
		case m[3] != "":
			plain = fmt.Sprintf("bytes=-%d", number(m[3]))
		case m[2] != "":
			plain = fmt.Sprintf("bytes=%d-%d", number(m[1]), number(m[2]))
		default:
			plain = fmt.Sprintf("bytes=%d-", number(m[1]))
		}
	}
	switch count {
	case 0:
		return "", whole
	case 1:
		return plain, single
	default:
		return unsatisfiable, several
	}
}

// number parses digits. A number that overflows becomes larger than any file.
func number(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// refusal explains why no part of the content can be sent.
func (k rangeKind) refusal(size int64) error {
	if k == several {
		return &video.Error{Kind: video.RangeUnsatisfiable, Code: "multiple_ranges_unsupported", Msg: "Ask for one range at a time."}
	}
	return &video.Error{Kind: video.RangeUnsatisfiable, Code: "range_not_satisfiable", Msg: fmt.Sprintf("The file has %d bytes, and the range lies outside of it.", size)}
}

// refusalFilter suppresses the error responses (412, 416 and 500) of http.ServeContent, so
// that a problem can be sent instead.
type refusalFilter struct {
	http.ResponseWriter
	refused int  // the suppressed status, or 0
	unsized bool // the size of the content is not known
}

// Unwrap lets http.ResponseController reach the writer below.
func (f *refusalFilter) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *refusalFilter) WriteHeader(status int) {
	switch status {
	case http.StatusRequestedRangeNotSatisfiable, http.StatusPreconditionFailed, http.StatusInternalServerError:
		f.refused = status
		return
	}
	if f.unsized {
		f.Header().Del("Content-Length")
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
