package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/problem"
)

func TestEditVideo(t *testing.T) {
	t.Parallel()
	none, object := json.RawMessage(nil), json.RawMessage(`{"a":1e2}`)
	tests := []struct {
		body string
		want video.Edit
	}{
		{`{"title":"Söhne"}`, video.Edit{Title: new("Söhne")}},
		{`{"title":null}`, video.Edit{Title: new("")}},
		{`{"title":"","customMetadata":null}`, video.Edit{Title: new(""), Metadata: &none}},
		{`{"customMetadata":{ "a" : 1e2 },"other":1}`, video.Edit{Metadata: &object}},
	}
	for _, tt := range tests {
		f := &fakeService{state: readyState()}
		w := do(newHandler(t, f, Config{}), request("PATCH", "/api/video/"+testID, tt.body))
		if w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"id":"`+testID+`","filename":"a.mp4","title":"A film",`) {
			t.Errorf("%s: answer is %d %s", tt.body, w.Code, w.Body)
		}
		if diff := cmp.Diff(tt.want, f.edit); diff != "" || f.id != testID {
			t.Errorf("%s: video %s (-want +got):\n%s", tt.body, f.id, diff)
		}
	}
}

func TestEditVideoWithFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path, body string
		want       []string
	}{
		{testID, `{}`, []string{" required"}},
		{testID, `{"titel":"x"}`, []string{" required"}},
		{testID, `[]`, []string{" wrong_type"}},
		{testID, `{"title":1,"customMetadata":[]}`, []string{"title wrong_type", "customMetadata wrong_type"}},
		{testID, `{"title":"` + strings.Repeat("ü", 201) + `"}`, []string{"title out_of_range"}},
		{testID, `{"title":"a\u0000b"}`, []string{"title not_allowed"}},
		{testID, `{"customMetadata":{"a":"` + strings.Repeat("x", video.MaxMetadataBytes) + `"}}`, []string{"customMetadata out_of_range"}},
		{"x", `{"title":1}`, []string{"id invalid_uuid", "title wrong_type"}},
	}
	for _, tt := range tests {
		f := &fakeService{}
		p := wantProblem(t, do(newHandler(t, f, Config{}), request("PATCH", "/api/video/"+tt.path, tt.body)), 400, "invalid_request")
		if diff := cmp.Diff(tt.want, faultNames(p)); diff != "" || f.calls != 0 {
			t.Errorf("%.80s: %d calls; faults (-want +got):\n%s", tt.body, f.calls, diff)
		}
	}
	r := request("PATCH", "/api/video/"+testID, "title=x")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	wantProblem(t, do(newHandler(t, &fakeService{}, Config{}), r), 415, "unsupported_media_type")
}

func faultNames(p problem.Problem) []string {
	var names []string
	for _, f := range p.Errors {
		names = append(names, f.Field+" "+f.Code)
	}
	return names
}
