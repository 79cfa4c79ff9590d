package api

import (
	"bytes"
	"encoding/json"
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
	got := map[string]json.RawMessage{}
	for quoted, value := range video.Members(body) {
		var name string
		if err := json.Unmarshal(quoted, &name); err != nil || !isName(quoted, name) {
			t.Errorf("the name %s is read as %q: %v", quoted, name, err)
		}
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members of %s (-want +got):\n%s", body, diff)
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
