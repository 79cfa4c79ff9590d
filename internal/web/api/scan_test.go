package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/video"
)

var scanned = []string{
	`{}`, ` { } `, `{"a":1}`, `{"a" : [ ] , "b":{"c":"}"},"a":2}`, `{"":"\\","\"":"\\\"]"}`, `{"a":[[],[1,[2]],"]"],"\u0061":null}`,
	"{\n\t\"x\":\r-1.5e+3 }", `{"ü":true,"a":[1 ,2, 3 ],"b":[{}, {"a":[]}]}`, `{"\ud800":"\ud83d\ude00"}`,
}

func TestScan(t *testing.T) {
	t.Parallel()
	for _, body := range scanned {
		checkScan(t, []byte(body))
	}
}

// checkScan compares the scanner with encoding/json.
func checkScan(t *testing.T, body []byte) {
	t.Helper()
	body = bytes.TrimSpace(body)
	if checkObject(body) != nil {
		return
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(body, &want); err != nil {
		t.Fatal(err)
	}
	got, err := parseFields(body, slices.Collect(maps.Keys(want))...)
	if diff := cmp.Diff(want, map[string]json.RawMessage(got)); err != nil || diff != "" {
		t.Errorf("members of %s: %v (-want +got):\n%s", body, err, diff)
	}
	for _, value := range want {
		var list []json.RawMessage
		if value[0] != '[' || json.Unmarshal(value, &list) != nil {
			continue
		}
		got := []json.RawMessage{}
		for e := range video.Elements(value) {
			got = append(got, e)
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("elements of %s (-want +got):\n%s", value, diff)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, body := range scanned {
		f.Add([]byte(body))
	}
	f.Fuzz(checkScan)
}
