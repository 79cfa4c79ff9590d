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
	// maxFaults is how many faults a response lists. Nobody reads more of them.
	maxFaults = 20
)

// decodeBody reads the body of a request and decodes it. Only that is done while the body is in
// memory: what decode returns must not refer to it.
func decodeBody[T any](a *API, c *call, required bool, decode func([]byte) (T, error)) (decoded T, err error) {
	body, release, err := a.readBody(c, required)
	if err != nil {
		return decoded, err
	}
	defer release()
	return decode(body)
}

// readBody returns the body of a request. Its Content-Type must be JSON, or absent. The caller
// must call release when it no longer needs the body.
func (a *API) readBody(c *call, required bool) (body []byte, release func(), err error) {
	r := c.request
	isJSON := isJSONType(r.Header.Get("Content-Type"))
	if required && !isJSON {
		return nil, nil, unsupportedMedia()
	}
	body, release, err = a.readUpTo(c, maxBody)
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
func (a *API) readUpTo(c *call, most int64) (body []byte, release func(), err error) {
	if n := c.request.ContentLength; n > most {
		return nil, nil, bodyTooLarge(most, fmt.Sprintf("it has %d", n))
	}
	// The deadline must be lifted again: if it passed while the operation runs, the
	// server would believe that the client has disconnected.
	control := http.NewResponseController(c.writer)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, release, err = a.readLimited(c, most)
	_ = control.SetReadDeadline(time.Time{})
	return body, release, err
}

// readLimited reads a body. A large one is read only while it has a slot.
func (a *API) readLimited(c *call, most int64) (body []byte, release func(), err error) {
	in := http.MaxBytesReader(c.writer, c.request.Body, most)
	begin, err := io.ReadAll(io.LimitReader(in, smallBody+1))
	if err != nil {
		return nil, nil, bodyError(err)
	}
	if len(begin) <= smallBody {
		return begin, func() {}, nil
	}
	if release, err = a.bodies.acquire(c.request.Context(), c.actor.KeyID); err != nil {
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

// fields are the raw members of a JSON object. Each is decoded by itself, so that all
// faults can be reported at once.
type fields map[string]json.RawMessage

// parseFields returns those members of a body that have one of the names. The others are ignored:
// there may be very many. If a name occurs several times, the last one counts.
func parseFields(body []byte, names ...string) (fields, error) {
	if err := checkObject(body); err != nil {
		return nil, err
	}
	f := fields{}
	for quoted, value := range video.Members(body) {
		if name, ok := nameIn(quoted, names); ok {
			f[name] = value
		}
	}
	return f, nil
}

// checkObject checks that a body is a JSON object.
func checkObject(body []byte) error {
	if len(body) == 0 {
		return invalidBody("required", "a JSON object is required")
	}
	if !utf8.Valid(body) {
		return invalidBody("malformed_json", "the body is not UTF-8")
	}
	if !json.Valid(body) {
		err := json.Unmarshal(body, new(json.RawMessage)) // finds the same, and says where
		message := "the body is not JSON"
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			message += fmt.Sprintf(": %s at byte %d", strings.TrimPrefix(syntax.Error(), "json: "), syntax.Offset)
		}
		return invalidBody("malformed_json", message)
	}
	if body[0] != '{' {
		return invalidBody("wrong_type", "the body must be a JSON object")
	}
	return nil
}

// nameIn returns the name that a JSON string is, if it is one of names.
func nameIn(quoted []byte, names []string) (string, bool) {
	text := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var s string
		if json.Unmarshal(quoted, &s) != nil {
			return "", false
		}
		text = []byte(s)
	}
	for _, name := range names {
		if string(text) == name {
			return name, true
		}
	}
	return "", false
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
// zero value, so that later faults have the right index. A list with more than most elements is one
// fault, and its elements are not decoded.
func decodeItems[T any](array json.RawMessage, name string, most int, must string, parse func(json.RawMessage) (T, bool)) ([]T, []video.Fault) {
	var list []T
	var faults []video.Fault
	n := 0
	for raw := range video.Elements(array) {
		if n++; n > most {
			continue // only counted
		}
		v, ok := parse(raw)
		if !ok {
			faults = append(faults, video.Fault{Field: fmt.Sprintf("%s[%d]", name, n-1), Code: "wrong_type", Message: must})
		}
		list = append(list, v)
	}
	if n > most {
		return nil, []video.Fault{{Field: name, Code: "out_of_range", Message: fmt.Sprintf("must have at most %d elements, has %d", most, n)}}
	}
	return list, faults
}
