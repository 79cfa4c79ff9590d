package video

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
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
	MaxLabels   = 10  // per filter; also of tags
	MaxWanted   = 200 // characters that a filter looks for in names
)

// Filter selects videos of a list. The zero Filter selects all.
type Filter struct {
	Status Status   // "": any
	Labels []Label  // all of them must match
	Tags   []string // the video must have all of them
	Words  []string // all of them must occur in its names; from Words
	Said   string   // what must be said in its captions; "": anything
	Public *bool    // nil: public and private ones
	// CreatedFrom is part of the time that the filter selects, CreatedBefore is not. Both are whole milliseconds;
	// zero: no limit.
	CreatedFrom, CreatedBefore time.Time
	Order                      Order
}

// IsSearch reports whether a page of this list may examine many more videos than it returns.
func (f Filter) IsSearch() bool {
	if len(f.Labels) > 0 || len(f.Tags) > 0 || len(f.Words) > 0 || f.Public != nil {
		return true
	}
	return f.Order.By != ByCreation && (f.Status != "" || !f.CreatedFrom.IsZero() || !f.CreatedBefore.IsZero())
}

// Selects reports whether the filter selects a video, whatever its metadata and its tags are; see Fits and
// Tagged.
func (f Filter) Selects(v Video) bool {
	return (f.Status == "" || f.Status == v.Status) && (f.Public == nil || *f.Public == v.IsPublic) && f.Mentions(v.Filename, v.Title) &&
		!v.CreatedAt.Before(f.CreatedFrom) && (f.CreatedBefore.IsZero() || v.CreatedAt.Before(f.CreatedBefore))
}

// Sort is what the videos of a list are ordered by.
type Sort string

// The sorts of a list. Case and accents of a title do not matter.
const (
	ByCreation Sort = ""
	ByTitle    Sort = "title"
	ByDuration Sort = "duration"
	BySize     Sort = "size"
	BySaid     Sort = "said" // the order of a search in what is said: nearly the one of creation
)

// Order is the order of a list; the zero Order has the newest first. Videos that are equal in it are ordered by
// their ids.
type Order struct {
	By        Sort
	Ascending bool
}

// String returns a short name of the order.
func (o Order) String() string {
	if o.Ascending {
		return string(o.By) + "+"
	}
	return string(o.By) + "-"
}

// orders are all orders, by their names.
var orders = func() map[string]Order {
	all := map[string]Order{}
	for _, by := range []Sort{ByCreation, ByTitle, ByDuration, BySize, BySaid} {
		for _, o := range []Order{{By: by}, {By: by, Ascending: true}} {
			all[o.String()] = o
		}
	}
	return all
}()

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

// Cursor is the position in a list at which a page ended: the last video it looked at.
// The next page starts after it, even when that video is gone or has moved. The zero
// Cursor is the start of the list, or its end.
type Cursor struct {
	Order     Order     // of the list
	CreatedAt time.Time // to the millisecond; zero in a list that is not in the order of time
	// Key is what such a list is ordered by: a whole number, or a title as hexadecimal digits.
	Key string
	ID  ID
}

// String encodes the cursor for clients, to whom it is opaque.
func (c Cursor) String() string {
	key := c.Key
	if c.Order.By == ByCreation {
		key = strconv.FormatInt(c.CreatedAt.UnixMilli(), 10)
	}
	text := key + "." + string(c.ID)
	if c.Order != (Order{}) {
		text = c.Order.String() + "." + text
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// ParseCursor decodes what String returned, or returns an Invalid error naming field.
func ParseCursor(field, s string) (Cursor, error) {
	decoded, _ := base64.RawURLEncoding.DecodeString(s)
	text := string(decoded)
	if strings.Count(text, ".") < 2 {
		text = Order{}.String() + "." + text
	}
	name, place, _ := strings.Cut(text, ".")
	key, id, _ := strings.Cut(place, ".")
	order, known := orders[name]
	c := Cursor{Order: order, Key: key, ID: ID(id)}
	var err error
	var number int64
	if order.By == ByTitle {
		_, err = hex.DecodeString(key)
	} else {
		number, err = strconv.ParseInt(key, 10, 64)
	}
	if order.By == ByCreation {
		c.CreatedAt, c.Key = time.UnixMilli(number).UTC(), ""
	}
	if err != nil || !known || !isUUID(id) || c.String() != s {
		return Cursor{}, InvalidFields(Fault{field, "invalid_cursor", "must be the nextCursor of an earlier answer"})
	}
	return c, nil
}
