package api

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/video"
)

// parameter is a query parameter that may be given once: how it is described, and how it is decoded.
type parameter struct {
	name, doc string
	schema    *huma.Schema
	decode    func(string) []video.Fault
}

// described returns how parameters are described.
func described(all []parameter) []*huma.Param {
	out := make([]*huma.Param, len(all))
	for i, p := range all {
		out[i] = &huma.Param{Name: p.name, In: "query", Description: p.doc, Schema: p.schema}
	}
	return out
}

// query decodes the query of a request. more decodes what has no fixed name. Unknown parameters are ignored.
func (c *call) query(all []parameter, more ...func(url.Values) []video.Fault) error {
	values, err := url.ParseQuery(c.request.URL.RawQuery)
	if err != nil {
		return video.InvalidFields(video.Fault{Code: "malformed_query", Message: "the query of the address cannot be read"})
	}
	var faults []video.Fault
	for _, p := range all {
		switch given := values[p.name]; len(given) {
		case 0:
		case 1:
			faults = append(faults, p.decode(given[0])...)
		default:
			faults = append(faults, video.Fault{Field: p.name, Code: "not_allowed", Message: "must be given once"})
		}
	}
	for _, decode := range more {
		faults = append(faults, decode(values)...)
	}
	return invalidFields(faults)
}

// page is what a list is asked for: where it begins, and how long it is.
type page struct {
	limit int
	after video.Cursor
}

// newPage returns a page of the usual length.
func newPage() page { return page{limit: video.DefaultPage} }

// parameters returns the query parameters of a list of things: limit and cursor. first says which thing comes first.
func (p *page) parameters(things, first string) []parameter {
	return []parameter{
		limitParameter(&p.limit, things),
		cursorParameter(first, func(s string) []video.Fault {
			var err error
			p.after, err = video.ParseCursor("cursor", s)
			if p.after.Order != (video.Order{}) {
				return []video.Fault{wrongOrder()}
			}
			return faultsIn(err)
		}),
	}
}

func limitParameter(to *int, things string) parameter {
	least, most := 1.0, float64(video.MaxPage)
	return parameter{
		name: "limit", doc: "How many " + things + " at most.",
		schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most, Default: video.DefaultPage},
		decode: func(s string) []video.Fault {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 || n > video.MaxPage || strconv.Itoa(n) != s {
				return []video.Fault{{Field: "limit", Code: "out_of_range", Message: fmt.Sprintf("must be a whole number from 1 to %d", video.MaxPage)}}
			}
			*to = n
			return nil
		},
	}
}

// wrongOrder is the fault of a cursor that was made for a list in another order.
func wrongOrder() video.Fault {
	return video.Fault{Field: "cursor", Code: "invalid_cursor", Message: "must be the nextCursor of a list in the same order"}
}

func cursorParameter(first string, decode func(string) []video.Fault) parameter {
	return parameter{
		name: "cursor", doc: "The nextCursor of the page before; absent: " + first + ".",
		schema: &huma.Schema{Type: huma.TypeString}, decode: decode,
	}
}

// oneOf is a parameter that must be one of some words.
func oneOf[T ~string](name, doc string, to *T, words []T) parameter {
	return parameter{
		name: name, doc: doc, schema: &huma.Schema{Type: huma.TypeString, Enum: enum(words)},
		decode: func(s string) []video.Fault {
			if *to = T(s); !slices.Contains(words, *to) {
				return []video.Fault{{Field: name, Code: "not_allowed", Message: fmt.Sprintf("must be one of %v", words)}}
			}
			return nil
		},
	}
}

// timeParameter is a parameter with a point in time.
func timeParameter(name, doc string, set func(time.Time)) parameter {
	return parameter{
		name: name, doc: doc, schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"},
		decode: func(s string) []video.Fault {
			at, err := time.Parse(time.RFC3339, s)
			if err != nil {
				return []video.Fault{{Field: name, Code: "not_allowed", Message: "must be a time as in RFC 3339, such as 2030-05-01T12:00:00Z (write + as %2B)"}}
			}
			set(at)
			return nil
		},
	}
}

// nextCursor is the cursor of the next page in an answer; "" on the last one.
func nextCursor(c video.Cursor) string {
	if c == (video.Cursor{}) {
		return ""
	}
	return c.String()
}
