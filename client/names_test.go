package client

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

func TestNamesAreSortedBySize(t *testing.T) {
	t.Parallel()
	v := Video{Resolutions: map[string]Resolution{"720p": {}, "5k": {}, "144p": {}, "8k": {}, "1440p": {}, "4k": {}, "1080p": {}}}
	if got, want := v.Names(), []string{"8k", "5k", "4k", "1440p", "1080p", "720p", "144p"}; !slices.Equal(got, want) {
		t.Errorf("Names() = %q; want %q", got, want)
	}
}

// The description of the API has the names that a server of this version has.
func TestResolutionNamesAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Components struct {
			Schemas map[string]struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(content, &api); err != nil {
		t.Fatal(err)
	}
	want := api.Components.Schemas["ResolutionName"].Enum
	slices.Reverse(want)
	if len(want) == 0 || !slices.Equal(ResolutionNames, want) {
		t.Errorf("ResolutionNames = %q; want %q", ResolutionNames, want)
	}
}
