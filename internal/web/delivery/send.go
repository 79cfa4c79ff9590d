package delivery

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/service/playback"
)

// conditions are the headers that make an answer depend on what the client has.
var conditions = []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"}

// sendPlain answers a request that asks for the whole content or for one simple range of it, without
// conditions: nearly all of them. It reports false, and has done nothing, if the request is of another
// kind; http.ServeContent then answers it, alike but at twice the cost.
func sendPlain(w http.ResponseWriter, r *http.Request, object playback.Content) bool {
	for _, name := range conditions {
		if r.Header[name] != nil {
			return false
		}
	}
	info := object.Info()
	from, length, status := int64(0), info.Size, http.StatusOK
	if ranges := r.Header["Range"]; ranges != nil {
		first, last, ok := simpleRange(ranges, info.Size)
		if !ok {
			return false
		}
		from, length, status = first, last-first+1, http.StatusPartialContent
	}
	if from > 0 {
		if _, err := object.Seek(from, io.SeekStart); err != nil {
			return false
		}
	}
	h, values := w.Header(), make([]string, 0, 3)
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	if modified := info.Modified; !modified.IsZero() && !modified.Equal(time.Unix(0, 0)) {
		set("Last-Modified", modified.UTC().Format(http.TimeFormat))
	}
	h["Accept-Ranges"] = bytesUnit
	set("Content-Length", strconv.FormatInt(length, 10))
	if status == http.StatusPartialContent {
		set("Content-Range", "bytes "+strconv.FormatInt(from, 10)+"-"+strconv.FormatInt(from+length-1, 10)+"/"+strconv.FormatInt(info.Size, 10))
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = copyContent(w, object, length) // the client is gone, or the storage: either way the response ends early
	}
	return true
}

var bytesUnit = []string{"bytes"}

// simpleRange parses a Range header that has the form "bytes=0-99" or "bytes=100-" and begins within
// the content. last is cut to it.
func simpleRange(header []string, size int64) (first, last int64, ok bool) {
	if len(header) != 1 {
		return 0, 0, false
	}
	set, isBytes := strings.CutPrefix(header[0], "bytes=")
	a, b, found := strings.Cut(set, "-")
	if !isBytes || !found || !isNumber(a) || b != "" && !isNumber(b) {
		return 0, 0, false
	}
	first, last = number(a), size-1
	if b != "" {
		last = number(b)
	}
	if first > last || first >= size {
		return 0, 0, false // to be refused, or ignored: not here
	}
	return first, min(last, size-1), true
}

// isNumber reports whether s has digits, and nothing else.
func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// copyContent sends the next n bytes of the content. What consists of memory and of ranges of a file
// sends itself part by part, so that the kernel can copy the latter.
func copyContent(w io.Writer, object playback.Content, n int64) (int64, error) {
	if parts, ok := object.(playback.Sender); ok {
		return parts.SendTo(w, n)
	}
	return io.CopyN(w, object, n)
}
