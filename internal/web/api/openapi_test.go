package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

var update = flag.Bool("update", false, "rewrite docs/openapi.json and testdata/refusals")

func TestDescriptionIsUpToDate(t *testing.T) {
	t.Parallel()
	const golden = "../../../docs/openapi.json"
	w := do(newRig(t, Config{}).handler, request("GET", "/openapi.json", ""))
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
	spec, err := New(Services{}, Config{}).spec()
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

func TestAnswersFitTheDescription(t *testing.T) {
	t.Parallel()
	doc, s := strictDescription(t), newScene(t, Config{})
	for _, op := range everyOperation {
		w := s.send(s.request(op.name, op.method, op.path, op.body))
		if w.Code != op.status {
			t.Fatalf("%s: answer is %d %s, want %d", op.name, w.Code, w.Body, op.status)
		}
		place := []string{"paths", op.described, strings.ToLower(op.method), "responses", strconv.Itoa(op.status)}
		switch {
		case w.Body.Len() == 0:
			checkNoContent(t, doc, place)
		case op.name == "events":
			_, data, _ := strings.Cut(strings.TrimSpace(w.Body.String()), "data: ")
			validate(t, schemaAt(t, doc, append(place, "content", eventStream, "schema")...), []byte(data))
		default:
			validate(t, schemaAt(t, doc, append(place, "content", "application/json", "schema")...), w.Body.Bytes())
		}
	}
}

// Each operation is tried by TestAnswersFitTheDescription, those without a key by TestPlaysNeedNoKey, and each field of a body by TestRefusals.
func TestEveryOperationIsTried(t *testing.T) {
	t.Parallel()
	tried, fields := map[string]bool{}, map[string][]string{}
	for _, op := range everyOperation {
		tried[op.method+" "+op.described] = true
	}
	for _, op := range bodyOperations {
		for _, f := range op.fields {
			fields[op.name] = append(fields[op.name], f.name)
		}
	}
	routes := newTable()
	for _, g := range New(Services{}, Config{}).groups() {
		g.register(routes)
	}
	for path, item := range routes.doc.Paths {
		for _, op := range operationsOf(item) {
			needsNoKey := len(op.Security) == 1 && len(op.Security[0]) == 0
			if !tried[op.Method+" "+path] && !needsNoKey {
				t.Errorf("everyOperation lacks %s", op.OperationID)
			}
			if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
				continue
			}
			body := routes.doc.Components.Schemas.SchemaFromRef(op.RequestBody.Content["application/json"].Schema.Ref)
			for name := range body.Properties {
				if !slices.Contains(fields[op.OperationID], name) {
					t.Errorf("bodyOperations lacks the field %s of %s", name, op.OperationID)
				}
			}
		}
	}
}

// What a video has only sometimes fits, too.
func TestViewsFitTheDescription(t *testing.T) {
	t.Parallel()
	doc := strictDescription(t)
	bare := testVideo(true, video.PendingUpload)
	delivered := webhook.Delivery{ID: testID, EventID: testID, Type: video.EventReady, State: webhook.Delivered, VideoID: testID, NextAttemptAt: someCursor.CreatedAt,
		Attempts: []webhook.Attempt{{Error: "No."}, {Status: 204}}}
	for _, sample := range []struct {
		schema string
		view   any
	}{
		{"Video", viewPlayback(readyPlayback())},
		{"Video", viewPlayback(catalog.PlaybackInfo{State: catalog.State{Video: bare}})},
		{"VideoState", viewState(readyState())},
		{"VideoState", viewState(catalog.State{Video: bare})},
		{"DeletedVideo", deletedVideo{testID}},
		{"Report", viewReport(readyReport())},
		{"Report", viewReport(catalog.Report{Video: bare})},
		{"System", viewSystem(busySystem())},
		{"Delivery", viewDelivery(delivered)},
	} {
		validate(t, schemaAt(t, doc, "components", "schemas", sample.schema), []byte(wire(t, sample.view)))
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
	doc := strictDescription(t)
	compiler := newCompiler(t, doc)
	r := newRig(t, Config{})
	deletes := r.newKey(auth.Delete)
	for path, item := range doc["paths"].(map[string]any) {
		for method, described := range item.(map[string]any) {
			statuses := described.(map[string]any)["responses"].(map[string]any)
			for _, status := range []string{"400", "401", "403", "429", "500", "503"} {
				if statuses[status] == nil {
					t.Errorf("%s %s does not say that it may answer %s", method, path, status)
				}
			}
			asked := strings.NewReplacer("{id}", testID, "{language}", "en", "{expirationSeconds}", "60").Replace(path)
			for _, key := range []string{"", deletes, r.key} {
				w := r.askAs(key, strings.ToUpper(method), asked, "")
				if w.Code < 400 {
					continue
				}
				s := compileAt(t, compiler, "paths", path, method, "responses", strconv.Itoa(w.Code), "content", "application/problem+json", "schema")
				validate(t, s, w.Body.Bytes())
			}
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

// The description of a body says what is accepted, which is more than the tags that the decoder reads.
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
		`"codecs":["h264","av1"]`, `"codecs":[]`, `"codecs":["vp9"]`, `"codecs":null`, `"upscale":true`, `"upscale":null`, `"upscale":1`, `"trim":{}`, `"trim":{"startSeconds":-1}`, `"watermark":null`, `"watermark":{"id":"x"}`, `"unknown":1`,
	} {
		bodies = append(bodies, strings.TrimSuffix(validDraft, "}")+","+change+"}")
	}
	for _, body := range bodies {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		described := s.Validate(v)
		faults, err := decodeBody([]byte(body), new(newVideo))
		if (described == nil) != (err == nil && len(faults) == 0) {
			t.Errorf("%.200s\nthe description says %v, the decoder %v %v", body, described, err, faults)
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
	w := do(newRig(t, Config{}).handler, request(http.MethodGet, "/openapi.json", ""))
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
