package imports

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

var errCompressed = errors.New("the response is compressed")

// strongETag returns the ETag of a response, unless it is a weak one, which does not promise equal bytes.
func strongETag(res *http.Response) string {
	if tag := res.Header.Get("ETag"); strings.HasPrefix(tag, `"`) && len(tag) < 1000 {
		return tag
	}
	return ""
}

// validator names the version of the file that the stored bytes are of, for If-Range; "" if the server
// gave it no name.
func (f *fetch) validator() string {
	if f.row.etag != "" {
		return f.row.etag
	}
	return f.row.modified
}

// continues reports whether a response of some bytes begins where part ends, and is of the same version.
func (f *fetch) continues(res *http.Response, part Partial) bool {
	from, total, ok := contentRange(res)
	return ok && from == part.Stored() && (part.Size() < 0 || total < 0 || total == part.Size()) &&
		sameVersion(f.row.etag, strongETag(res)) && sameVersion(f.row.modified, res.Header.Get("Last-Modified"))
}

// sameVersion reports whether two names of a version do not contradict each other. A server need not repeat them.
func sameVersion(before, now string) bool { return before == "" || now == "" || before == now }

// isWhole reports whether the server refuses to send more because part is the whole file.
func (f *fetch) isWhole(res *http.Response, part Partial) bool {
	total, ok := strings.CutPrefix(res.Header.Get("Content-Range"), "bytes */")
	n, err := strconv.ParseInt(total, 10, 64)
	return ok && err == nil && n == part.Stored() && part.Size() < 0 &&
		sameVersion(f.row.etag, strongETag(res)) && sameVersion(f.row.modified, res.Header.Get("Last-Modified"))
}

// contentRange reads "bytes 5-9/10". The total is -1 where the server does not know it.
func contentRange(res *http.Response) (from, total int64, ok bool) {
	text, ok := strings.CutPrefix(res.Header.Get("Content-Range"), "bytes ")
	if !ok {
		return 0, 0, false
	}
	span, whole, _ := strings.Cut(text, "/")
	first, last, _ := strings.Cut(span, "-")
	from, err := strconv.ParseInt(first, 10, 64)
	to, err2 := strconv.ParseInt(last, 10, 64)
	if err != nil || err2 != nil || from < 0 || to < from {
		return 0, 0, false
	}
	if whole == "*" {
		return from, -1, true
	}
	total, err = strconv.ParseInt(whole, 10, 64)
	return from, total, err == nil && total > to
}

// cancelOnClose is the body of a response. Closing it ends the context of the request.
type cancelOnClose struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (c *cancelOnClose) Close() error {
	defer c.cancel(nil)
	return c.ReadCloser.Close()
}
