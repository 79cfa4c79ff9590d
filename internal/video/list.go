package video

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Limits of a list.
const (
	MaxPage     = 100 // videos
	DefaultPage = 20
	MaxLabels   = 10 // of a filter
)

// Filter chooses videos of a list. The zero Filter chooses all.
type Filter struct {
	Status Status  // "": any
	Labels []Label // all of them must fit
}

// Label is one member of a video's metadata that a filter asks for.
type Label struct{ Key, Value string }

// Fits reports whether metadata has all labels. A label fits a string that is
// equal to its value, and a number or a truth value that is written like it. An
// object, a list and null fit nothing.
func (f Filter) Fits(metadata json.RawMessage) bool {
	if len(f.Labels) == 0 {
		return true
	}
	// Most videos of a long list do not fit, and most of those can be told
	// without parsing: where nothing is escaped, a value stands as it is.
	if !bytes.ContainsRune(metadata, '\\') {
		for _, l := range f.Labels {
			if !bytes.Contains(metadata, []byte(l.Value)) {
				return false
			}
		}
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(metadata, &members) != nil {
		return false
	}
	for _, l := range f.Labels {
		if value, ok := scalar(members[l.Key]); !ok || value != l.Value {
			return false
		}
	}
	return true
}

// scalar returns a JSON value that is no object, no list and not null.
func scalar(raw json.RawMessage) (text string, ok bool) {
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
		return "", false
	}
	if raw[0] != '"' {
		return string(raw), true
	}
	return text, json.Unmarshal(raw, &text) == nil
}

// Cursor is where in the list of videos, newest first, a page ended: at the video
// with these. The list goes on from there also when that video is gone. The zero
// Cursor is the beginning, or the end.
type Cursor struct {
	CreatedAt time.Time // to the millisecond
	ID        ID
}

// Cursor writes p for a client, who has no business to look inside.
func (p Cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.CreatedAt.UnixMilli(), 10) + "." + string(p.ID)))
}

// ParseCursor reads what Cursor wrote, or returns an Invalid error naming field.
func ParseCursor(field, s string) (Cursor, error) {
	text, _ := base64.RawURLEncoding.DecodeString(s)
	millis, id, _ := strings.Cut(string(text), ".")
	at, err := strconv.ParseInt(millis, 10, 64)
	p := Cursor{CreatedAt: time.UnixMilli(at).UTC(), ID: ID(id)}
	if err != nil || !uuidShape.MatchString(id) || p.String() != s {
		return Cursor{}, InvalidFields(Fault{field, "invalid_cursor", "must be the nextCursor of an earlier answer"})
	}
	return p, nil
}
