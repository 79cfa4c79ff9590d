package api

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/web/problem"
)

// operation describes an operation. also lists the error statuses beyond those that every
// operation can have.
func operation(r huma.Registry, id, route string, status int, summary string, body *huma.RequestBody, also ...int) huma.Operation {
	method, path, _ := strings.Cut(route, " ")
	return huma.Operation{
		OperationID: id, Method: method, Path: path, DefaultStatus: status, Summary: summary, Tags: []string{"video"},
		RequestBody: body,
		Responses:   problems(r, append([]int{400, 401, 403, 429, 500, 503}, also...)...),
		// The handlers check parameters and report every fault with a code.
		SkipValidateParams: true,
	}
}

// requestBody describes a body that the handler decodes itself.
func requestBody[T any](r huma.Registry, required bool) *huma.RequestBody {
	return &huma.RequestBody{Required: required, Content: map[string]*huma.MediaType{
		"application/json": {Schema: r.Schema(reflect.TypeFor[T](), true, "")},
	}}
}

// problems describes the error responses.
func problems(r huma.Registry, statuses ...int) map[string]*huma.Response {
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
