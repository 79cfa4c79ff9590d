package handbook

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// member is a member of an object in an example. The order of members is the order in which they are described.
type member struct {
	name  string
	value any
}

// object keeps the order of its members in JSON.
type object []member

func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// example returns a value that fits a schema: the description's own example where it has one.
func (d *document) example(s *schema, depth int) any {
	r := d.resolve(s)
	if len(r.Examples) > 0 {
		return r.Examples[0]
	}
	switch r.Type.name() {
	case "object":
		return d.exampleObject(r, depth)
	case "array":
		if depth > deepest {
			return []any{}
		}
		return []any{d.example(r.Items, depth+1)}
	case "boolean":
		return true
	case "integer", "number":
		if r.Minimum != nil && *r.Minimum > 1 {
			return *r.Minimum
		}
		return 1
	}
	return exampleString(r)
}

func (d *document) exampleObject(s *schema, depth int) any {
	out := object{}
	if members := s.additional(); len(s.Properties) == 0 && members != nil && depth <= deepest {
		name := "…"
		if inner := d.resolve(members); slices.Contains(inner.Required, "resolutionId") || len(inner.Enum) > 0 {
			name = "720p"
		}
		return object{{name, d.example(members, depth+1)}}
	}
	if depth > deepest {
		return out
	}
	for _, f := range d.fields(s, deepest) { // their order, without what is in them
		out = append(out, member{f.Name, d.example(s.Properties[f.Name], depth+1)})
	}
	return out
}

// exampleString returns a text that looks like what a schema means.
func exampleString(s *schema) any {
	switch s.Format {
	case "uuid":
		return "01a1def4-4be5-7bb0-a2dd-9e2cc5f1cd4d"
	case "uri":
		return "https://video.example.com/…"
	case "date-time":
		return "2030-05-01T12:00:00Z"
	}
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	return "…"
}

// indented returns a value as JSON for people. Characters stay as they are.
func indented(value any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return string(bytes.TrimSpace(out.Bytes())), err
}

// requestBody returns an example of a body: what is required, and whatever the description has an example of.
func (d *document) requestBody(s *schema) any {
	r := d.resolve(s)
	out := object{}
	for _, name := range slices.Sorted(maps.Keys(r.Properties)) {
		p := d.resolve(r.Properties[name])
		if slices.Contains(r.Required, name) || len(p.Examples) > 0 {
			out = append(out, member{name, d.example(r.Properties[name], 1)})
		}
	}
	if len(out) == 0 && len(r.Properties) > 0 { // nothing is required: show what there is
		return d.example(r, 1)
	}
	return out
}
