package client

import (
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
