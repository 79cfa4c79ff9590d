package remote

import (
	"fmt"
	"strconv"
	"strings"
)

// ByteRange returns the value of a Range header for the bytes from off up to, but
// not including, end.
func ByteRange(off, end int64) string { return fmt.Sprintf("bytes=%d-%d", off, end-1) }

// CheckRange returns an error unless a response has exactly the bytes from off up
// to end of an object of this size. Not every server honours the range of every
// request. Without a Content-Range, the response is the whole object.
func CheckRange(contentRange string, length, off, end, size int64) error {
	want := fmt.Sprintf("bytes %d-%d/%d", off, end-1, size)
	whole := contentRange == "" && off == 0 && length == end
	if contentRange != want && !whole {
		return fmt.Errorf("the server answered with %q instead of %q", contentRange, want)
	}
	return nil
}

// TotalSize returns the size of the whole object from a response with a part of it.
func TotalSize(contentRange string, length int64) (int64, error) {
	if contentRange == "" {
		return length, nil
	}
	_, total, _ := strings.Cut(contentRange, "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the server answered with the range %q", contentRange)
	}
	return size, nil
}
