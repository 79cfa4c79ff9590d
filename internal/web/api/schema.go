package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/video"
)

// byName is a JSON object with a member for each resolution, in the order in which the
// client requested them. A Go map would sort them.
type byName[T any] []named[T]

type named[T any] struct {
	name  video.Name
	value T
}

// MarshalJSON does not escape HTML characters, as json.Marshal would in URLs.
func (m byName[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, n := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", n.name)
		if err := enc.Encode(n.value); err != nil {
			return nil, fmt.Errorf("write resolution %s: %w", n.name, err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Schema allows any of the resolution names, and only those.
func (byName[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type:                 huma.TypeObject,
		AdditionalProperties: r.Schema(reflect.TypeFor[T](), true, ""),
		Extensions:           map[string]any{"propertyNames": map[string]any{"$ref": schemaPrefix + nameSchema}},
	}
}

// resolutionName is the name of a resolution as a value.
type resolutionName string

// Schema allows the names of package video.
func (resolutionName) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: enum(video.Names)}
}

// enum returns values as huma wants them.
func enum[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// metadata is the client's own JSON object, or nil.
type metadata json.RawMessage

// decodeField removes the white space between tokens, which neither counts towards the size limit nor is stored.
func (m *metadata) decodeField(raw json.RawMessage) bool {
	var compact bytes.Buffer
	if raw[0] != '{' || json.Compact(&compact, raw) != nil {
		return false
	}
	*m = compact.Bytes()
	return true
}

func (*metadata) must() string { return "must be an object" }

// MarshalJSON writes the object exactly as the client sent it, or null.
func (m metadata) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	return m, nil
}

// Schema describes any object, or null.
func (metadata) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Nullable: true, AdditionalProperties: true}
}

// convertAll converts a list of words to a list of another type; nil stays nil.
func convertAll[To, From ~string](list []From) []To {
	if list == nil {
		return nil
	}
	out := make([]To, len(list))
	for i, w := range list {
		out[i] = To(w)
	}
	return out
}
