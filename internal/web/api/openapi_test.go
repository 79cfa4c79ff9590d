package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

var update = flag.Bool("update", false, "rewrite docs/openapi.json")

func TestDescriptionIsUpToDate(t *testing.T) {
	t.Parallel()
	const golden = "../../../docs/openapi.json"
	w := do(newHandler(t, &fakeService{}, Config{}), request("GET", "/openapi.json", ""))
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("answer is %d, %s", w.Code, w.Header())
	}
	if *update {
		if err := os.WriteFile(golden, w.Body.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), w.Body.String()); diff != "" {
		t.Errorf("docs/openapi.json is not what is served; run go test ./internal/web/api -update (-file +served):\n%s", diff)
	}
}

// description returns /openapi.json.
func description(t *testing.T) map[string]any {
	t.Helper()
	a := New(new(fakeService).services(), Config{})
	spec, err := a.spec()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec))
	if err != nil {
		t.Fatal(err)
	}
	return doc.(map[string]any)
}

// strictDescription returns /openapi.json without additional properties, so that a field
// that is not described is an error here.
func strictDescription(t *testing.T) map[string]any {
	t.Helper()
	doc := description(t)
	for _, s := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		s.(map[string]any)["additionalProperties"] = false
	}
	return doc
}

// schemaAt compiles the schema at a path of the description.
func schemaAt(t *testing.T, doc map[string]any, place ...string) *jsonschema.Schema {
	t.Helper()
	return compileAt(t, newCompiler(t, doc), place...)
}

// newCompiler returns a compiler for the schemas of a description. It compiles each once.
func newCompiler(t *testing.T, doc map[string]any) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("http://spool.test/openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return c
}

func compileAt(t *testing.T, c *jsonschema.Compiler, place ...string) *jsonschema.Schema {
	t.Helper()
	var pointer strings.Builder
	for _, p := range place {
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", "+", "%2B").Replace(p))
	}
	s, err := c.Compile("http://spool.test/openapi.json#" + pointer.String())
	if err != nil {
		t.Fatalf("there is no schema at %s: %v", pointer.String(), err)
	}
	return s
}

// operations says where each of everyOperation is in the description.
var operations = map[string]struct {
	path   string
	status int
}{
	"create":            {"/api/video", 201},
	"list":              {"/api/video", 200},
	"state":             {"/api/video/{id}", 200},
	"events":            {"/api/video/{id}/events", 200},
	"complete":          {"/api/video/{id}/complete-upload", 201},
	"public":            {"/api/video/{id}/public", 200},
	"private":           {"/api/video/{id}/private/{expirationSeconds}", 200},
	"report":            {"/api/video/{id}/report", 200},
	"delete video":      {"/api/video/{id}", 200},
	"delete resolution": {"/api/video/resolution/{id}", 200},
	"edit":              {"/api/video/{id}", 200},
	"token":             {"/api/video/{id}/token", 201},
	"put captions":      {"/api/video/{id}/captions/{language}", 201},
	"delete captions":   {"/api/video/{id}/captions/{language}", 200},
	"usage":             {"/api/usage", 200},
	"tenants":           {"/api/tenant", 200},
	"system":            {"/api/system", 200},
	"key":               {"/api/key", 200},
	"create key":        {"/api/key", 201},
	"revoke key":        {"/api/key/{id}", 200},
	"create webhook":    {"/api/webhook", 201},
	"list webhooks":     {"/api/webhook", 200},
	"get webhook":       {"/api/webhook/{id}", 200},
	"update webhook":    {"/api/webhook/{id}", 200},
	"delete webhook":    {"/api/webhook/{id}", 200},
	"rotate secret":     {"/api/webhook/{id}/rotate-secret", 200},
	"test webhook":      {"/api/webhook/{id}/test", 202},
	"fetch events":      {"/api/webhook/{id}/fetch", 200},
	"list deliveries":   {"/api/webhook/{id}/deliveries", 200},
	"replay delivery":   {"/api/webhook/delivery/{id}/replay", 202},
	"report delivery":   {"/api/webhook/delivery/{id}/report", 200},
}

func TestAnswersFitTheDescription(t *testing.T) {
	t.Parallel()
	doc := strictDescription(t)
	bare := catalog.Report{Video: testVideo(true, video.PendingUpload)}
	handlers := []http.Handler{
		newHandler(t, &fakeService{playback: readyPlayback(), report: readyReport(), state: readyState(), next: someCursor, repeated: true, system: busySystem()}, Config{}),
		newHandler(t, &fakeService{playback: catalog.PlaybackInfo{State: catalog.State{Video: bare.Video}}, report: bare, state: catalog.State{Video: bare.Video}}, Config{}),
	}
	for _, op := range everyOperation {
		if op.name == "events" {
			continue // see TestEventsFitTheDescription
		}
		t.Run(op.name, func(t *testing.T) {
			for _, h := range handlers {
				w := do(h, request(op.method, op.path, op.body))
				at := operations[op.name]
				if w.Code != at.status {
					t.Fatalf("answer is %d, want %d", w.Code, at.status)
				}
				place := []string{"paths", at.path, strings.ToLower(op.method), "responses", strconv.Itoa(at.status)}
				if w.Body.Len() == 0 {
					checkNoContent(t, doc, place)
					continue
				}
				validate(t, schemaAt(t, doc, append(place, "content", "application/json", "schema")...), w.Body.Bytes())
			}
		})
	}
}

func checkNoContent(t *testing.T, doc map[string]any, place []string) {
	t.Helper()
	var at any = doc
	for _, p := range place {
		at = at.(map[string]any)[p]
	}
	if at == nil || at.(map[string]any)["content"] != nil {
		t.Errorf("the description of %v is %v, want an answer without content", place, at)
	}
}

func TestProblemsFitTheDescription(t *testing.T) {
	t.Parallel()
	compiler := newCompiler(t, strictDescription(t))
	f := &fakeService{}
	h := newHandler(t, f, Config{})
	faults := []error{
		video.InvalidFields(video.Fault{Field: "f", Code: "c", Message: "m"}),
		&video.Error{Kind: video.Unauthenticated, Code: "c", Msg: "m"},
		&video.Error{Kind: video.Forbidden, Code: "c", Msg: "m"},
		&video.Error{Kind: video.RateLimited, Code: "c", Msg: "m"},
		&video.Error{Kind: video.Unavailable, Code: "c", Msg: "m"},
		errors.New("unclassified"),
	}
	for _, op := range everyOperation {
		for _, f.err = range faults {
			w := do(h, request(op.method, op.path, op.body))
			s := compileAt(t, compiler, "paths", operations[op.name].path, strings.ToLower(op.method), "responses", strconv.Itoa(w.Code), "content", "application/problem+json", "schema")
			validate(t, s, w.Body.Bytes())
		}
	}
}

func validate(t *testing.T, s *jsonschema.Schema, body []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("the answer does not fit its description: %v\n%s", err, body)
	}
}

// The decoder is written by hand, so it is compared with the schema of the body.
func TestDescribedBodiesAreTheAcceptedOnes(t *testing.T) {
	t.Parallel()
	s := schemaAt(t, description(t), "paths", "/api/video", "post", "requestBody", "content", "application/json", "schema")
	bodies := []string{validDraft, `{}`, `[]`, `null`, `{"filename":"a","resolutions":["720p"]}`}
	for _, change := range []string{
		`"filename":""`, `"filename":1`, `"filename":null`, `"filename":"` + strings.Repeat("ü", 255) + `"`, `"filename":"` + strings.Repeat("ü", 256) + `"`,
		`"title":"A"`, `"title":""`, `"title":null`, `"title":1`, `"title":"` + strings.Repeat("ü", 200) + `"`, `"title":"` + strings.Repeat("ü", 201) + `"`,
		`"resolutions":[]`, `"resolutions":null`, `"resolutions":["9p"]`, `"resolutions":["8k","8k"]`, `"resolutions":"720p"`, `"resolutions":[1]`,
		`"isPublic":null`, `"isPublic":"true"`, `"thumbnailTimestampsSeconds":null`, `"thumbnailTimestampsSeconds":[0,1.5]`, `"thumbnailTimestampsSeconds":[-1]`,
		`"thumbnailTimestampsSeconds":["1"]`, `"thumbnailTimestampsSeconds":[` + strings.Repeat("1,", 50) + `1]`,
		`"customMetadata":null`, `"customMetadata":{"a":[1]}`, `"customMetadata":[]`, `"customMetadata":"x"`,
		`"codecs":["h264","av1"]`, `"codecs":[]`, `"codecs":["vp9"]`, `"codecs":null`, `"upscale":true`, `"upscale":null`, `"upscale":1`, `"unknown":1`,
	} {
		bodies = append(bodies, strings.TrimSuffix(validDraft, "}")+","+change+"}")
	}
	for _, body := range bodies {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		described := s.Validate(v)
		_, accepted := decodeDraft([]byte(body), "")
		if (described == nil) != (accepted == nil) {
			t.Errorf("%.200s\nthe description says %v, the decoder %v", body, described, accepted)
		}
	}
}

func TestDescriptionHasTheLimitsOfTheDomain(t *testing.T) {
	t.Parallel()
	var doc struct {
		OpenAPI    string
		Info       struct{ Version string }
		Servers    []struct{ URL string }
		Security   []map[string][]string
		Components struct {
			SecuritySchemes map[string]struct{ Type, In, Name string }
			Schemas         map[string]struct {
				Enum       []string
				Properties map[string]struct {
					Ref       string `json:"$ref"`
					MaxLength int
					MaxItems  int
					Items     struct {
						Ref string `json:"$ref"`
					}
				}
			}
		}
	}
	w := do(newHandler(t, &fakeService{}, Config{}), request(http.MethodGet, "/openapi.json", ""))
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") || doc.Info.Version != "1.0" || doc.Servers[0].URL != "/" {
		t.Errorf("OpenAPI %s, version %s, servers %v", doc.OpenAPI, doc.Info.Version, doc.Servers)
	}
	if s := doc.Components.SecuritySchemes["apiKey"]; s.Type != "apiKey" || s.In != "header" || s.Name != "X-API-KEY" || doc.Security[0]["apiKey"] == nil {
		t.Errorf("the security scheme is %+v, used %v", s, doc.Security)
	}
	schemas := doc.Components.Schemas
	draft := schemas["NewVideo"].Properties
	if draft["resolutions"].Items.Ref != schemaPrefix+nameSchema || draft["filename"].MaxLength != video.MaxFilename || draft["title"].MaxLength != video.MaxTitle || draft["thumbnailTimestampsSeconds"].MaxItems != video.MaxThumbnails {
		t.Errorf("the limits described are %+v", draft)
	}
	for _, name := range []string{"Video", "Resolution", "ResolutionStatus", "VideoState", "ResolutionState", "Report"} {
		if got := schemas[name].Properties["status"].Ref; got != schemaPrefix+statusSchema {
			t.Errorf("the status of %s is a %s", name, got)
		}
	}
	if got := schemas[statusSchema].Enum; fmt.Sprint(got) != fmt.Sprint(video.Statuses) {
		t.Errorf("the statuses are %v", got)
	}
	if got := schemas[nameSchema].Enum; fmt.Sprint(got) != fmt.Sprint(video.Names) {
		t.Errorf("the resolutions are %v", got)
	}
}
