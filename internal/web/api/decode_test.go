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
	faults, err := decodeBody([]byte(body), new(newVideo))
	faults = append(faults, faultsIn(err)...)
	var out []string
	for _, f := range faults {
		if f.Message == "" {
			t.Errorf("fault %+v has no message", f)
		}
		out = append(out, f.Field+" "+f.Code)
	}
	return out
}

func TestDecodeVideoFaults(t *testing.T) {
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
		{"codecs", with(`"codecs":["av1","h264","av1"]`), nil},
		{"no codecs at all", with(`"codecs":[]`), []string{"codecs out_of_range"}},
		{"codecs that nobody knows", with(`"codecs":["h264","vp9",1]`), []string{"codecs[2] wrong_type", "codecs[1] not_allowed"}},
		{"codecs of the wrong type", with(`"codecs":"av1"`), []string{"codecs wrong_type"}},
		{"an import without a name and resolutions", `{"sourceUrl":"https://a.example/b.mp4","isPublic":true}`, nil},
		{"an import with null for both", `{"sourceUrl":"https://a.example/b.mp4","isPublic":true,"filename":null,"resolutions":null}`, nil},
		{"an import with no resolution", `{"sourceUrl":"https://a.example/b.mp4","isPublic":true,"resolutions":[]}`, []string{"resolutions out_of_range"}},
		{"an import with wrong ones", `{"sourceUrl":"https://a.example/b.mp4","isPublic":true,"filename":1,"resolutions":["9p"]}`, []string{"filename wrong_type", "resolutions[0] not_allowed"}},
		{"no import after all", `{"sourceUrl":null,"isPublic":true}`, []string{"filename required", "resolutions required"}},
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

func TestAnAnswerHasTheFirstFaults(t *testing.T) {
	t.Parallel()
	faults, err := decodeBody([]byte(`{"filename":"a","isPublic":true,"resolutions":[`+strings.Repeat("1,", 99)+`1]}`), new(newVideo))
	if err != nil {
		t.Fatal(err)
	}
	e, ok := errors.AsType[*video.Error](invalidFields(faults))
	if !ok || len(e.Faults) != maxFaults || !strings.Contains(e.Msg, "100") {
		t.Errorf("the error is %.200v", e)
	}
}

// nested is a body with objects in it.
type nested struct {
	Place *struct {
		Left  int  `json:"left" minimum:"0" maximum:"9"`
		Fixed bool `json:"fixed,omitempty"`
	} `json:"place,omitempty"`
	Parts []struct {
		Title string  `json:"title"`
		Start float64 `json:"start"`
	} `json:"parts" maxItems:"2"`
}

func TestDecodeObjectsInABody(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"parts":[]}`: nil,
		`{"place":{"left":9,"fixed":true,"other":1},"parts":[{"title":"a","start":1},{"start":0,"title":""}]}`: nil,
		`{"place":{"left":10},"parts":[{"title":1},{"start":null,"title":"x"}]}`: {
			"place.left out_of_range", "parts[0].title wrong_type", "parts[0].start required", "parts[1].start wrong_type"},
		`{"place":[],"parts":{}}`:         {"place wrong_type", "parts wrong_type"},
		`{"place":null,"parts":[1,null]}`: {"parts[0] wrong_type", "parts[1] wrong_type"},
		`{"parts":[{},{},{}]}`:            {"parts out_of_range"},
	} {
		var in nested
		faults, err := decodeBody([]byte(body), &in)
		var got []string
		for _, f := range faults {
			got = append(got, f.Field+" "+f.Code)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v; faults (-want +got):\n%s", body, err, diff)
		}
		if strings.Contains(body, "true") && (in.Place == nil || in.Place.Left != 9 || !in.Place.Fixed || len(in.Parts) != 2 || in.Parts[0].Start != 1) {
			t.Errorf("%s is decoded as %+v", body, in)
		}
	}
}

// FuzzDecodeVideo checks that no body makes the decoder panic, and that accepted drafts
// are valid.
func FuzzDecodeVideo(f *testing.F) {
	for _, s := range []string{validDraft, `{}`, `null`, `{"filename":"a","resolutions":[null,1e999,"8k"],"isPublic":1,"customMetadata":{"a":[{}]}}`, `{"thumbnailTimestampsSeconds":[-1,1e400,"x"]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in newVideo
		faults, err := decodeBody(body, &in)
		if d := in.draft(); err == nil && len(faults) == 0 && len(d.Check()) > 0 {
			t.Errorf("accepted %q with faults %v", body, d.Check())
		}
	})
}
