package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/web/problem"
)

// huma describes types, by the tags of their fields, and has the types of an OpenAPI description. It neither
// routes requests nor decodes them: its validator cannot report faults as this API promises them.

// schemaName returns the name of a type in the description: videoView is "Video".
func schemaName(t reflect.Type, hint string) string {
	return strings.TrimSuffix(huma.DefaultSchemaNamer(t, hint), "View")
}

func newDescription() *huma.OpenAPI {
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: "Spool", Version: "1.0", Description: "Upload videos, have them transcoded to MP4, play them back."},
		Servers: []*huma.Server{{URL: "/"}},
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry(schemaPrefix, schemaName),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"apiKey":     {Type: "apiKey", In: "header", Name: headerKey},
				"videoToken": {Type: "apiKey", In: "query", Name: tokenParameter},
			},
		},
		Security: []map[string][]string{{"apiKey": {}}},
	}
}

// describe adds an operation to the description.
func (t *table) describe(op *operation, body, answer reflect.Type) {
	registry := t.doc.Components.Schemas
	method, path, _ := strings.Cut(op.route, " ")
	out := &huma.Operation{
		OperationID: op.id, Method: method, Path: path, Summary: op.summary, Description: op.notes, Tags: []string{op.tag},
		Parameters: op.parameters, Responses: problems(registry, append([]int{400, 401, 403, 429, 500, 503}, op.errors...)),
	}
	if body != nil {
		out.RequestBody = &huma.RequestBody{Required: !op.optionalBody, Content: jsonContent(registry, body)}
	}
	response := &huma.Response{Description: http.StatusText(op.status)}
	if answer != reflect.TypeFor[nothing]() && answer != reflect.TypeFor[streamAnswer]() {
		response.Content = jsonContent(registry, answer)
	}
	out.Responses[strconv.Itoa(op.status)] = response
	if op.byToken {
		out.Security = []map[string][]string{{"apiKey": {}}, {"videoToken": {}}}
	}
	if op.describe != nil {
		op.describe(out, registry)
	}
	t.doc.AddOperation(out)
}

func jsonContent(r huma.Registry, t reflect.Type) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: r.Schema(t, true, "")}}
}

// problems describes the error responses.
func problems(r huma.Registry, statuses []int) map[string]*huma.Response {
	schema := r.Schema(reflect.TypeFor[problem.Problem](), true, "")
	out := map[string]*huma.Response{}
	for _, s := range statuses {
		res := &huma.Response{
			Description: http.StatusText(s),
			Content:     map[string]*huma.MediaType{problem.ContentType: {Schema: schema}},
		}
		if s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable || s == http.StatusInsufficientStorage {
			res.Headers = map[string]*huma.Param{"Retry-After": {
				Description: "Seconds to wait before trying again.",
				Schema:      &huma.Schema{Type: huma.TypeInteger},
			}}
		}
		out[strconv.Itoa(s)] = res
	}
	return out
}

// pathID describes the {id} of a path.
func pathID(doc string) *huma.Param {
	return pathParameter("id", doc, &huma.Schema{Type: huma.TypeString, Format: "uuid"})
}

// videoID is the {id} of operations on a video.
func videoID() *huma.Param { return pathID("The id of the video.") }

func pathParameter(name, doc string, schema *huma.Schema) *huma.Param {
	schema.Description = doc // some generators read one of them, and some the other
	return &huma.Param{Name: name, In: "path", Description: doc, Required: true, Schema: schema}
}

func writeSpec(doc *huma.OpenAPI) ([]byte, error) {
	spec, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI description: %w", err)
	}
	return append(spec, '\n'), nil
}
