package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
)

// faultsOf returns the faults of a create body as "field code" lines.
func faultsOf(t *testing.T, body string) []string {
	t.Helper()
	_, err := decodeDraft([]byte(body), "")
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*video.Error](err)
	if !ok || e.Kind != video.Invalid || e.Code != "invalid_request" {
		t.Fatalf("the error is %v, want an invalid_request", err)
	}
	var out []string
	for _, f := range e.Faults {
		if f.Message == "" {
			t.Errorf("fault %+v has no message", f)
		}
		out = append(out, f.Field+" "+f.Code)
	}
	return out
}

func TestDecodeDraftFaults(t *testing.T) {
	t.Parallel()
	with := func(more string) string { return strings.TrimSuffix(validDraft, "}") + "," + more + "}" }
	tests := []struct {
		name, body string
		want       []string
	}{
		{"a valid draft", validDraft, nil},
		{"no body", ``, []string{" required"}},
		{"malformed", `{"filename":`, []string{" malformed_json"}},
		{"trailing garbage", validDraft + "x", []string{" malformed_json"}},
		{"two objects", validDraft + validDraft, []string{" malformed_json"}},
		{"not UTF-8", "{\"filename\":\"\xff\"}", []string{" malformed_json"}},
		{"a byte order mark", "\ufeff" + validDraft, []string{" malformed_json"}},
		{"an array", `[]`, []string{" wrong_type"}},
		{"null", `null`, []string{" wrong_type"}},
		{"a string", `"x"`, []string{" wrong_type"}},
		{"an empty object", `{}`, []string{"filename required", "resolutions required", "isPublic required"}},
		{"names are case-sensitive", `{"Filename":"a","RESOLUTIONS":["720p"],"ispublic":true}`, []string{"filename required", "resolutions required", "isPublic required"}},
		{"null is not a value for a required field", `{"filename":null,"resolutions":null,"isPublic":null}`,
			[]string{"filename wrong_type", "resolutions wrong_type", "isPublic wrong_type"}},
		{"null means absent for an optional one", with(`"thumbnailTimestampsSeconds":null,"customMetadata":null,"upscale":null,"sourceUrl":null`), nil},
		{"every field of the wrong type", `{"filename":1,"resolutions":"720p","isPublic":"true","thumbnailTimestampsSeconds":5,"customMetadata":[],"upscale":0,"sourceUrl":1}`,
			[]string{"filename wrong_type", "resolutions wrong_type", "isPublic wrong_type", "thumbnailTimestampsSeconds wrong_type", "customMetadata wrong_type", "upscale wrong_type", "sourceUrl wrong_type"}},
		{"every field out of range", `{"filename":"","resolutions":[],"isPublic":true,"thumbnailTimestampsSeconds":[0,-1],"customMetadata":{"a":"` + strings.Repeat("x", 16<<10) + `"}}`,
			[]string{"filename out_of_range", "resolutions out_of_range", "thumbnailTimestampsSeconds[1] out_of_range", "customMetadata out_of_range"}},
		{"elements one by one", `{"filename":"a","resolutions":["720p","9p",7,null,"4K"],"isPublic":true,"thumbnailTimestampsSeconds":["1",null,1e999,-0.5,2]}`,
			[]string{"resolutions[2] wrong_type", "resolutions[3] wrong_type", "resolutions[1] not_allowed", "resolutions[4] not_allowed",
				"thumbnailTimestampsSeconds[0] wrong_type", "thumbnailTimestampsSeconds[1] wrong_type", "thumbnailTimestampsSeconds[2] out_of_range", "thumbnailTimestampsSeconds[3] out_of_range"}},
		{"too many thumbnails", with(`"thumbnailTimestampsSeconds":[` + strings.Repeat("1,", 50) + `1]`), []string{"thumbnailTimestampsSeconds out_of_range"}},
		{"thumbnails without end", with(`"thumbnailTimestampsSeconds":[` + strings.Repeat("null,", 5000) + `1]`), []string{"thumbnailTimestampsSeconds out_of_range"}},
		{"the same resolution 100 times", strings.Replace(validDraft, `"720p"`, `"720p"`+strings.Repeat(`, "720p"`, 98), 1), nil},
		{"101 resolutions", strings.Replace(validDraft, `"720p"`, `"720p"`+strings.Repeat(`, "720p"`, 99), 1), []string{"resolutions out_of_range"}},
		{"resolutions without end", strings.Replace(validDraft, `"720p"`, `1`+strings.Repeat(`,[[]]`, 5000), 1), []string{"resolutions out_of_range"}},
		{"escaped names", `{"\u0066ilename":"a","resolution\u0073":["4k"],"isPubli\u0063":true,"\u0075pscale":1}`, []string{"upscale wrong_type"}},
		{"255 characters of many bytes", strings.Replace(validDraft, "a.mp4", strings.Repeat("ü", 255), 1), nil},
		{"256 characters", strings.Replace(validDraft, "a.mp4", strings.Repeat("a", 256), 1), []string{"filename out_of_range"}},
		{"metadata that fits without its white space", with(`"customMetadata":{"a":` + strings.Repeat(" ", 20<<10) + `1}`), nil},
		{"unknown and repeated fields", with(`"other":{},"filename":"b","isPublic":false`), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, faultsOf(t, tt.body)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeDraftReportsTheFirstFaults(t *testing.T) {
	t.Parallel()
	_, err := decodeDraft([]byte(`{"filename":"a","isPublic":true,"resolutions":[`+strings.Repeat("1,", 99)+`1]}`), "")
	e, ok := errors.AsType[*video.Error](err)
	if !ok || len(e.Faults) != maxFaults || !strings.Contains(e.Msg, "100") {
		t.Errorf("the error is %.200v", err)
	}
}

func TestCheckCompletionFaults(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"checksum":1}`: "checksum wrong_type",
		`[]`:             " wrong_type",
		`null`:           " wrong_type",
		`{`:              " malformed_json",
	} {
		_, err := checkCompletion([]byte(body))
		e, ok := errors.AsType[*video.Error](err)
		if !ok || len(e.Faults) != 1 || e.Faults[0].Field+" "+e.Faults[0].Code != want {
			t.Errorf("checkCompletion(%s) = %+v, want %s", body, e, want)
		}
	}
}

func TestDecodeResolutionFaults(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`:                      "resolution required",
		`{"resolution":720}`:      "resolution wrong_type",
		`{"resolution":"9p"}`:     "resolution not_allowed",
		`{"resolution":["720p"]}`: "resolution wrong_type",
	} {
		_, faults, err := decodeResolution([]byte(body))
		if err != nil || len(faults) != 1 || faults[0].Field+" "+faults[0].Code != want {
			t.Errorf("decodeResolution(%s) has the faults %v, %v; want %s", body, faults, err, want)
		}
	}
	if name, faults, err := decodeResolution([]byte(`{"resolution":"4k","other":1}`)); name != "4k" || faults != nil || err != nil {
		t.Errorf("decodeResolution = %q, %v, %v; want 4k", name, faults, err)
	}
}

// FuzzDecodeDraft checks that no body makes the decoder panic, and that accepted drafts
// are valid.
func FuzzDecodeDraft(f *testing.F) {
	for _, s := range []string{validDraft, `{}`, `null`, `{"filename":"a","resolutions":[null,1e999,"8k"],"isPublic":1,"customMetadata":{"a":[{}]}}`, `{"thumbnailTimestampsSeconds":[-1,1e400,"x"]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := decodeDraft(body, "")
		if err == nil && len(d.Check()) > 0 {
			t.Errorf("accepted %q with faults %v", body, d.Check())
		}
	})
}
