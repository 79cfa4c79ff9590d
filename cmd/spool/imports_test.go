package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/backend/queue"
)

// A worker has no way to the internet.
func TestLanesToTheInternet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		role    string
		imports int
		want    []queue.Lane
	}{
		{"worker", 8, nil},
		{"api", 8, []queue.Lane{queue.ImportLane, queue.NetworkLane}},
		{"all", 8, []queue.Lane{queue.ImportLane, queue.NetworkLane}},
		{"all", 0, []queue.Lane{queue.NetworkLane}},
	} {
		lanes := new(parts).requestLanes(&Config{Role: tt.role, MaxImports: tt.imports})
		if got := slices.Sorted(maps.Keys(lanes)); !slices.Equal(got, tt.want) {
			t.Errorf("with the role %s and max_imports %d, the lanes are %q; want %q", tt.role, tt.imports, got, tt.want)
		}
		if n := lanes[queue.ImportLane].Places; n != 0 && n != tt.imports {
			t.Errorf("%d files are fetched at a time; want %d", n, tt.imports)
		}
	}
}
