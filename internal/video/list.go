package video

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a list request.
const (
	MaxPage     = 100 // videos per page
	DefaultPage = 20
	MaxLabels   = 10  // per filter
	MaxWanted   = 200 // characters that a filter looks for in names
)

// Filter selects videos of a list. The zero Filter selects all.
type Filter struct {
	Status Status   // "": any
	Labels []Label  // all of them must match
	Words  []string // all of them must occur in its names; from Words
	Public *bool    // nil: public and private ones
	// CreatedFrom is part of the time that the filter selects, CreatedBefore is not. Both are whole milliseconds;
	// zero: no limit.
	CreatedFrom, CreatedBefore time.Time
	// OldestFirst turns the list around. It cannot be combined with Labels.
	OldestFirst bool
}

// IsSearch reports whether a page of this list may examine many more videos than it returns.
func (f Filter) IsSearch() bool { return len(f.Labels) > 0 || len(f.Words) > 0 || f.Public != nil }

// Words takes apart what a person looks for. Case does not matter.
func Words(text string) []string { return strings.Fields(strings.ToLower(text)) }

// Mentions reports whether each word occurs in one of the names, anywhere in it.
func (f Filter) Mentions(names ...string) bool {
	all := strings.ToLower(strings.Join(names, "\n"))
	for _, word := range f.Words {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// Label is one member of a video's metadata that a filter asks for.
type Label struct{ Key, Value string }

// Fits reports whether metadata has all labels. A label matches an equal string,
// and a number or boolean that is written the same way. Objects, arrays and null
// match nothing.
func (f Filter) Fits(metadata json.RawMessage) bool {
	if len(f.Labels) == 0 {
		return true
	}
	// Most videos of a long list do not match, and most of those are recognised
	// without parsing: without escapes, a value appears literally in the text.
	if !bytes.ContainsRune(metadata, '\\') {
		for _, l := range f.Labels {
			if !bytes.Contains(metadata, []byte(l.Value)) {
				return false
			}
		}
	}
	metadata = bytes.TrimSpace(metadata)
	if !json.Valid(metadata) || metadata[0] != '{' {
		return false
	}
	values := make([]json.RawMessage, len(f.Labels))
	for name, value := range Members(metadata) {
		for i, l := range f.Labels {
			if isString(name, l.Key) {
				values[i] = value // the last of several counts
			}
		}
	}
	for i, l := range f.Labels {
		if value, ok := scalar(values[i]); !ok || value != l.Value {
			return false
		}
	}
	return true
}

// isString reports whether a JSON string means s.
func isString(quoted []byte, s string) bool {
	if inner := quoted[1 : len(quoted)-1]; !bytes.ContainsRune(inner, '\\') && utf8.Valid(inner) {
		return string(inner) == s
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && text == s
}

// Labels returns the members of metadata that a filter can ask for, in no order: those
// for which Fits is true.
func Labels(metadata json.RawMessage) []Label {
	var members map[string]json.RawMessage
	if json.Unmarshal(metadata, &members) != nil {
		return nil
	}
	var all []Label
	for key, raw := range members {
		if value, ok := scalar(raw); ok {
			all = append(all, Label{key, value})
		}
	}
	return all
}

// scalar returns a JSON value as text unless it is an object, an array or null.
func scalar(raw json.RawMessage) (text string, ok bool) {
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return "", false
	}
	if raw[0] != '"' {
		return string(raw), true
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// Cursor is the position in the list of videos, newest first, at which a page
// ended: the last video it looked at. The next page starts after it, even when
// that video is gone. The zero Cursor is the start of the list, or its end.
type Cursor struct {
	CreatedAt time.Time // to the millisecond
	ID        ID
}

// String encodes the cursor for clients, to whom it is opaque.
func (c Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.CreatedAt.UnixMilli(), 10) + "." + string(c.ID)))
}

// ParseCursor decodes what String returned, or returns an Invalid error naming field.
func ParseCursor(field, s string) (Cursor, error) {
	text, _ := base64.RawURLEncoding.DecodeString(s)
	millis, id, _ := strings.Cut(string(text), ".")
	at, err := strconv.ParseInt(millis, 10, 64)
	c := Cursor{CreatedAt: time.UnixMilli(at).UTC(), ID: ID(id)}
	if err != nil || !isUUID(id) || c.String() != s {
		return Cursor{}, InvalidFields(Fault{field, "invalid_cursor", "must be the nextCursor of an earlier answer"})
	}
	return c, nil
}
