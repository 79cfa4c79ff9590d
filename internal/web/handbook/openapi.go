package handbook

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// document is as much of an OpenAPI description as the reference shows.
type document struct {
	Paths      map[string]map[string]described `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

// described is an operation as OpenAPI describes it.
type described struct {
	OperationID string              `json:"operationId"`
	Summary     string              `json:"summary"`
	Description string              `json:"description"`
	Parameters  []parameter         `json:"parameters"`
	RequestBody *content            `json:"requestBody"`
	Responses   map[string]*content `json:"responses"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Schema      *schema `json:"schema"`
}

// content is a body, of a request or of a response.
type content struct {
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Content     map[string]struct {
		Schema *schema `json:"schema"`
	} `json:"content"`
}

// schema describes a value.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        types              `json:"type"`
	Format      string             `json:"format"`
	Description string             `json:"description"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Items       *schema            `json:"items"`
	// Additional describes the values of an object whose members may have any name. true, for values of any kind, is
	// as good as nothing here.
	Additional json.RawMessage   `json:"additionalProperties"`
	OneOf      []*schema         `json:"oneOf"`
	AnyOf      []*schema         `json:"anyOf"`
	Enum       []any             `json:"enum"`
	Default    any               `json:"default"`
	Examples   []json.RawMessage `json:"examples"`
	Minimum    *float64          `json:"minimum"`
	Maximum    *float64          `json:"maximum"`
	MinLength  *int              `json:"minLength"`
	MaxLength  *int              `json:"maxLength"`
	MinItems   *int              `json:"minItems"`
	MaxItems   *int              `json:"maxItems"`
}

// types are the JSON types that a value may have: in a description one word, or a list.
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// name returns the type of a value that is not null.
func (t types) name() string {
	for _, one := range t {
		if one != "null" {
			return one
		}
	}
	return ""
}

// readDocument reads the description of the API.
func readDocument(from fs.FS) (*document, error) {
	body, err := fs.ReadFile(from, "docs/openapi.json")
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, fmt.Errorf("read the description of the API: %w", err)
	}
	return &d, nil
}

// resolve follows a reference, and looks through a choice between a value and null. What is said where a schema is used
// goes before what the schema says of itself.
func (d *document) resolve(s *schema) *schema {
	if s == nil {
		return &schema{}
	}
	said := s.Description
	for {
		switch {
		case s.Ref != "":
			s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		case len(s.OneOf) > 0:
			s = s.OneOf[0]
		case len(s.AnyOf) > 0:
			s = s.AnyOf[0]
		default:
			if said == "" || said == s.Description {
				return s
			}
			described := *s
			described.Description = said
			return &described
		}
	}
}

// additional returns the schema of the members of an object that may have any name, or nil.
func (s *schema) additional() *schema {
	var of schema
	if len(s.Additional) == 0 || json.Unmarshal(s.Additional, &of) != nil {
		return nil
	}
	return &of
}

// field is a member of a body, or a parameter.
type field struct {
	Name        string
	Type        string
	Required    bool
	Description string
	Allowed     []string
	Limits      string
	Default     string
	Fields      []field // of an object, or of the objects in an array
}

// deepest is how many objects within each other are described.
const deepest = 4

// fields describes the members of an object, the required ones first.
func (d *document) fields(s *schema, depth int) []field {
	s = d.resolve(s)
	if s.Items != nil {
		s = d.resolve(s.Items)
	}
	if members := s.additional(); len(s.Properties) == 0 && members != nil {
		s = d.resolve(members)
	}
	if depth > deepest {
		return nil
	}
	var all []field
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		f := d.field(name, s.Properties[name], depth)
		f.Required = slices.Contains(s.Required, name)
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b field) int {
		if a.Required == b.Required {
			return 0
		} else if a.Required {
			return -1
		}
		return 1
	})
	return all
}

// field describes one value.
func (d *document) field(name string, s *schema, depth int) field {
	r := d.resolve(s)
	f := field{Name: name, Type: d.typeName(r), Description: r.Description, Limits: limitsOf(r), Fields: d.fields(r, depth+1)}
	values := r
	if r.Items != nil {
		values = d.resolve(r.Items)
	}
	for _, v := range values.Enum {
		f.Allowed = append(f.Allowed, fmt.Sprint(v))
	}
	if s.Default != nil {
		f.Default = fmt.Sprint(s.Default)
	} else if r.Default != nil {
		f.Default = fmt.Sprint(r.Default)
	}
	return f
}

// typeName says in a few words what a value is.
func (d *document) typeName(s *schema) string {
	name := s.Type.name()
	switch {
	case name == "array":
		return "list of " + d.typeName(d.resolve(s.Items))
	case s.Format == "uuid", s.Format == "uri", s.Format == "date-time", s.Format == "binary":
		return map[string]string{"uuid": "id", "uri": "URL", "date-time": "time", "binary": "file"}[s.Format]
	case name == "":
		return "any"
	}
	return name
}

// limitsOf says which values a schema allows, as people write it.
func limitsOf(s *schema) string {
	between := func(from, to, unit string) string {
		switch {
		case from == "" && to == "":
			return ""
		case from == "":
			return "at most " + to + unit
		case to == "":
			return "at least " + from + unit
		}
		return from + " to " + to + unit
	}
	number := func(n *float64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatFloat(*n, 'f', -1, 64)
	}
	count := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	for _, said := range []string{
		between(number(s.Minimum), number(s.Maximum), ""),
		between(count(s.MinLength), count(s.MaxLength), " characters"),
		between(count(s.MinItems), count(s.MaxItems), " entries"),
	} {
		if said != "" {
			return said
		}
	}
	return ""
}
