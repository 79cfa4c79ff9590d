package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/video"
)

const (
	maxBody = 1 << 20
	// smallBody is the size up to which a body, or an answer, does not count as memory of its tenant. Sensible
	// ones are smaller, so they never wait.
	smallBody = 32 << 10
	// bodyTimeout is how long a client may take to send a body.
	bodyTimeout = 30 * time.Second
)

// readBody returns the body of a request. Its Content-Type must be JSON, or absent.
func (c *call) readBody(required bool) ([]byte, error) {
	r := c.request
	isJSON := isJSONType(r.Header.Get("Content-Type"))
	if required && !isJSON {
		return nil, unsupportedMedia()
	}
	body, err := c.readUpTo(maxBody)
	if err != nil {
		return nil, err
	}
	if body = bytes.TrimSpace(body); len(body) > 0 && !isJSON {
		return nil, unsupportedMedia()
	}
	return body, nil
}

// readUpTo returns the body of a request, of whatever type, with at most so many bytes.
func (c *call) readUpTo(most int64) (body []byte, err error) {
	if n := c.request.ContentLength; n > most {
		return nil, bodyTooLarge(most, fmt.Sprintf("it has %d", n))
	}
	// The deadline must be lifted again: if it passed while the operation runs, the
	// server would believe that the client has disconnected.
	control := http.NewResponseController(c.writer)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err = c.readLimited(most)
	_ = control.SetReadDeadline(time.Time{})
	return body, err
}

// readLimited reads a body. A large one counts as memory of its tenant: itself, and about as much again while
// it is decoded, which takes a place for computing. A client that sends slowly does not keep that place.
func (c *call) readLimited(most int64) ([]byte, error) {
	in := http.MaxBytesReader(c.writer, c.request.Body, most)
	begin, err := io.ReadAll(io.LimitReader(in, smallBody+1))
	if err != nil {
		return nil, bodyError(err)
	}
	if len(begin) <= smallBody {
		return begin, nil
	}
	size := c.request.ContentLength
	if size < 0 {
		size = most
	}
	if err := c.turn.Memory(c.request.Context(), 2*size); err != nil {
		return nil, err
	}
	whole := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // ReadFrom wants that much space to find the end
	whole.Write(begin)
	if _, err := whole.ReadFrom(in); err != nil {
		return nil, bodyError(err)
	}
	return whole.Bytes(), c.turn.Work(c.request.Context())
}

func bodyError(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return bodyTooLarge(tooLarge.Limit, "it has more")
	}
	return &video.Error{Kind: video.Invalid, Code: "invalid_request", Msg: "The request body broke off before its end.", Err: err}
}

// isJSONType reports whether a Content-Type is application/json, based on JSON, such as
// application/merge-patch+json, or absent.
func isJSONType(contentType string) bool {
	if contentType == "" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (t == "application/json" || strings.HasSuffix(t, "+json"))
}

func unsupportedMedia() error {
	return &video.Error{Kind: video.UnsupportedMedia, Code: "unsupported_media_type", Msg: "The request body must be JSON, sent with Content-Type: application/json."}
}

func bodyTooLarge(most int64, size string) error {
	return &video.Error{Kind: video.TooLarge, Code: "body_too_large", Msg: fmt.Sprintf("The request body must have at most %d bytes; %s.", most, size)}
}
