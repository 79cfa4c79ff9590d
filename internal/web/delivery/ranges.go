package delivery

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/spool-video/spool/internal/video"
)

// wanted is what the Range header of a request asks for.
type wanted int

const (
	whole   wanted = iota // no Range, or one that RFC 9110 says to ignore
	single                // one range, satisfiable or not
	several               // more than one range
)

var rangeSpec = regexp.MustCompile(`^(?:([0-9]+)-([0-9]*)|-([0-9]+))$`)

// withRange returns r with a Range header that http.ServeContent understands as
// RFC 9110 means it. By itself, ServeContent refuses what should be ignored
// (malformed ranges, other units), answers several ranges with multipart, and
// sends an impossible range for "bytes=-0".
//
// Several ranges become one that cannot be satisfied: they are refused then, but
// only after the conditions of the request (If-None-Match, If-Range), which come
// first and may make the Range header void.
func withRange(r *http.Request, size int64) (*http.Request, wanted) {
	header, kind := readRange(strings.Join(r.Header.Values("Range"), ","), size)
	r = r.Clone(r.Context())
	r.Header.Del("Range")
	if kind != whole {
		r.Header.Set("Range", header)
	}
	return r, kind
}

// readRange puts a Range header for content of size bytes into its plainest form.
func readRange(header string, size int64) (string, wanted) {
	unit, set, _ := strings.Cut(header, "=")
	if !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		return "", whole
	}
	unsatisfiable := fmt.Sprintf("bytes=%d-", size)
	var plain string
	count := 0
	for spec := range strings.SplitSeq(set, ",") {
		spec = strings.Trim(spec, " \t")
		if spec == "" {
			continue // empty elements of a list mean nothing
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

// number reads digits; a number too large for any file stays too large.
func number(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// refusal explains why no part of the content can be sent.
func (k wanted) refusal(size int64) error {
	if k == several {
		return &video.Error{Kind: video.RangeUnsatisfiable, Code: "multiple_ranges_unsupported", Msg: "Ask for one range at a time."}
	}
	return &video.Error{Kind: video.RangeUnsatisfiable, Code: "range_not_satisfiable", Msg: fmt.Sprintf("The file has %d bytes; the range asked for lies outside of it.", size)}
}

// rangeGuard keeps back the refusals (412 and 416) of http.ServeContent, so that
// a problem can be sent in their place.
type rangeGuard struct {
	http.ResponseWriter
	refused int // the status kept back, or 0
}

func (g *rangeGuard) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable || status == http.StatusPreconditionFailed {
		g.refused = status
		return
	}
	g.ResponseWriter.WriteHeader(status)
}

func (g *rangeGuard) Write(b []byte) (int, error) {
	if g.refused != 0 {
		return len(b), nil
	}
	return g.ResponseWriter.Write(b)
}

// ReadFrom relies on io.Copy, which uses the ReadFrom of the writer below: that
// is how a file gets to the network without passing through this process.
func (g *rangeGuard) ReadFrom(r io.Reader) (int64, error) { return io.Copy(g.ResponseWriter, r) }

func (g *rangeGuard) Unwrap() http.ResponseWriter { return g.ResponseWriter }
