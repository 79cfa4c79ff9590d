package worker

import (
	"maps"
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/service/pipeline"
)

func TestEveryKindHasAHandler(t *testing.T) {
	t.Parallel()
	if got, want := slices.Sorted(maps.Keys(handlers)), slices.Sorted(slices.Values(pipeline.Kinds())); !slices.Equal(got, want) {
		t.Errorf("there are handlers for %v; the table of kinds has %v", got, want)
	}
}
