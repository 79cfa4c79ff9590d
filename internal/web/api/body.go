package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spool-video/spool/internal/video"
)

const (
	maxBody = 1 << 20
	// bodyTimeout is how long a client may take to send a body.
	bodyTimeout = 30 * time.Second
	// maxFaults keeps the response to a hostile request from being many times as large
	// as the request.
	maxFaults = 100
)

// readBody returns the body of a request. Its Content-Type must be JSON, or absent.
func readBody(c *call, required bool) ([]byte, error) {
	r := c.request
	isJSON := isJSONType(r.Header.Get("Content-Type"))
	if required && !isJSON {
		return nil, unsupportedMedia()
	}
	if r.ContentLength > maxBody {
		return nil, bodyTooLarge(fmt.Sprintf("it has %d", r.ContentLength))
	}

	// The deadline must be lifted again: if it passed while the operation runs, the
	// server would believe that the client has disconnected.
	control := http.NewResponseController(c.writer)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := io.ReadAll(http.MaxBytesReader(c.writer, r.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})

	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, bodyTooLarge("it has more")
	}
	if err != nil {
		return nil, &video.Error{Kind: video.Invalid, Code: "invalid_request", Msg: "The request body broke off before its end.", Err: err}
	}
	if body = bytes.TrimSpace(body); len(body) > 0 && !isJSON {
		return nil, unsupportedMedia()
	}
	return body, nil
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

func bodyTooLarge(size string) error {
	return &video.Error{Kind: video.TooLarge, Code: "body_too_large", Msg: fmt.Sprintf("The request body must have at most %d bytes; %s.", maxBody, size)}
}

// fields are the raw members of a JSON object. Each is decoded by itself, so that all
// faults can be reported at once.
type fields map[string]json.RawMessage

func parseFields(body []byte) (fields, error) {
	if len(body) == 0 {
		return nil, invalidBody("required", "a JSON object is required")
	}
	if !utf8.Valid(body) {
		return nil, invalidBody("malformed_json", "the body is not UTF-8")
	}
	var f fields
	err := json.Unmarshal(body, &f)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, invalidBody("malformed_json", fmt.Sprintf("the body is not JSON: %s at byte %d", strings.TrimPrefix(syntax.Error(), "json: "), syntax.Offset))
	}
	if err != nil || f == nil {
		return nil, invalidBody("wrong_type", "the body must be a JSON object")
	}
	return f, nil
}

func invalidBody(code, message string) error {
	return video.InvalidFields(video.Fault{Code: code, Message: message})
}

// decodeField decodes the field called name into dst with parse. null means absent,
// unless the field is required.
func decodeField[T any](f fields, name string, required bool, must string, parse func(json.RawMessage) (T, bool), dst *T) []video.Fault {
	raw, present := f[name]
	if !present && required {
		return []video.Fault{{Field: name, Code: "required", Message: "is required and " + must}}
	}
	if !present || !required && isNull(raw) {
		return nil
	}
	v, ok := parse(raw)
	if !ok {
		return []video.Fault{{Field: name, Code: "wrong_type", Message: must}}
	}
	*dst = v
	return nil
}

// decodeItems decodes the elements of a list. An element of the wrong type becomes the
// zero value, so that later faults have the right index.
func decodeItems[T any](raws []json.RawMessage, name, must string, parse func(json.RawMessage) (T, bool)) ([]T, []video.Fault) {
	list, faults := make([]T, len(raws)), []video.Fault(nil)
	for i, raw := range raws {
		v, ok := parse(raw)
		if !ok {
			faults = append(faults, video.Fault{Field: fmt.Sprintf("%s[%d]", name, i), Code: "wrong_type", Message: must})
		}
		list[i] = v
	}
	return list, faults
}
