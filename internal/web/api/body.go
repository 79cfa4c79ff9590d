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
	// bodyTimeout is how long a client may take to send a body.
	bodyTimeout = 30 * time.Second
)

// readBody returns the body of a request. Its Content-Type must be JSON, or absent. The caller
// must call release when it no longer needs the body.
func (c *call) readBody(required bool) (body []byte, release func(), err error) {
	r := c.request
	isJSON := isJSONType(r.Header.Get("Content-Type"))
	if required && !isJSON {
		return nil, nil, unsupportedMedia()
	}
	body, release, err = c.readUpTo(maxBody)
	if err != nil {
		return nil, nil, err
	}
	if body = bytes.TrimSpace(body); len(body) > 0 && !isJSON {
		release()
		return nil, nil, unsupportedMedia()
	}
	return body, release, nil
}

// readUpTo returns the body of a request, of whatever type, with at most so many bytes.
func (c *call) readUpTo(most int64) (body []byte, release func(), err error) {
	if n := c.request.ContentLength; n > most {
		return nil, nil, bodyTooLarge(most, fmt.Sprintf("it has %d", n))
	}
	// The deadline must be lifted again: if it passed while the operation runs, the
	// server would believe that the client has disconnected.
	control := http.NewResponseController(c.writer)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, release, err = c.readLimited(most)
	_ = control.SetReadDeadline(time.Time{})
	return body, release, err
}

// readLimited reads a body. A large one is read only while it has a slot.
func (c *call) readLimited(most int64) (body []byte, release func(), err error) {
	in := http.MaxBytesReader(c.writer, c.request.Body, most)
	begin, err := io.ReadAll(io.LimitReader(in, smallBody+1))
	if err != nil {
		return nil, nil, bodyError(err)
	}
	if len(begin) <= smallBody {
		return begin, func() {}, nil
	}
	if release, err = c.api.bodies.acquire(c.request.Context(), c.actor.KeyID); err != nil {
		return nil, nil, err
	}
	size := c.request.ContentLength
	if size < 0 {
		size = most
	}
	whole := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // ReadFrom wants that much space to find the end
	whole.Write(begin)
	if _, err := whole.ReadFrom(in); err != nil {
		release()
		return nil, nil, bodyError(err)
	}
	return whole.Bytes(), release, nil
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
