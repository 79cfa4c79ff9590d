package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/video"
)

const schemaPrefix = "#/components/schemas/"

// Words that occur in many places have a name of their own. Others are named after the first
// place they are found in: the property state of Delivery is a DeliveryState.
const (
	statusSchema = "VideoStatus"
	nameSchema   = "ResolutionName"
	codecSchema  = "VideoCodec"
)

// enums moves the enumerations of a description to its components, each once. Generators of
// clients make a type of each enumeration that they find. Without a name they invent one, which
// may be the name of something else, and equal enumerations become different types.
type enums struct {
	schemas map[string]*huma.Schema
	names   map[string]string // by what enumKey says of the values
}

// nameEnums gives every enumeration of a description a name.
func nameEnums(doc *huma.OpenAPI) {
	e := enums{schemas: doc.Components.Schemas.Map(), names: map[string]string{}}
	e.add(statusSchema, &huma.Schema{Type: huma.TypeString, Enum: enum(video.Statuses)})
	e.add(nameSchema, &huma.Schema{Type: huma.TypeString, Enum: enum(video.Names)})
	e.add(codecSchema, &huma.Schema{Type: huma.TypeString, Enum: enum(append([]video.Codec{video.H264}, video.ExtraCodecs...))})
	for _, name := range slices.Sorted(maps.Keys(e.schemas)) {
		if s := e.schemas[name]; len(s.Enum) == 0 {
			e.inside(name, s)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, op := range operationsOf(doc.Paths[path]) {
			e.inOperation(op)
		}
	}
}

func operationsOf(p *huma.PathItem) []*huma.Operation {
	all := []*huma.Operation{p.Get, p.Put, p.Post, p.Delete, p.Patch}
	return slices.DeleteFunc(all, func(op *huma.Operation) bool { return op == nil })
}

func (e *enums) inOperation(op *huma.Operation) {
	at := capital(op.OperationID)
	for _, p := range op.Parameters {
		e.visit(at+capital(p.Name), p.Schema)
	}
	if op.RequestBody != nil {
		e.inContent(at+"Request", op.RequestBody.Content)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		e.inContent(at+"Response", op.Responses[status].Content)
	}
}

func (e *enums) inContent(at string, content map[string]*huma.MediaType) {
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		e.visit(at, content[kind].Schema)
	}
}

// visit replaces s by a reference if it is an enumeration, or looks inside it.
func (e *enums) visit(at string, s *huma.Schema) {
	if s == nil || s.Ref != "" {
		return
	}
	if len(s.Enum) == 0 || s.Nullable {
		e.inside(at, s)
		return
	}
	name, known := e.names[enumKey(s.Enum)]
	if !known {
		name = e.add(at, &huma.Schema{Type: s.Type, Enum: s.Enum})
	}
	*s = huma.Schema{Ref: schemaPrefix + name, Description: s.Description, Default: s.Default}
}

// inside visits what s consists of. Other properties than the described ones are allowed: fields are added over
// time, and clients must ignore unknown ones. That is the default; if it is said, generators allow every misspelt property.
func (e *enums) inside(at string, s *huma.Schema) {
	if len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
		e.visit(at+capital(property), s.Properties[property])
	}
	e.visit(at, s.Items)
	if more, ok := s.AdditionalProperties.(*huma.Schema); ok {
		e.visit(at, more)
	}
	for _, one := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		e.visit(at, one)
	}
}

// add adds an enumeration, under another name if there is a type of that name.
func (e *enums) add(name string, s *huma.Schema) string {
	for e.schemas[name] != nil {
		name += "Word"
	}
	e.schemas[name], e.names[enumKey(s.Enum)] = s, name
	return name
}

func enumKey(values []any) string { return fmt.Sprintf("%q", values) }

// capital turns a name into the name of a type: Last-Event-ID becomes LastEventID.
func capital(name string) string {
	var out strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}
