package video_test

import (
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

// TestNames keeps the names that clients use. A new name needs no change here.
func TestNames(t *testing.T) {
	t.Parallel()
	published := map[video.Name]int{
		"144p": 144, "240p": 240, "360p": 360, "480p": 480, "720p": 720, "1080p": 1080, "1440p": 1440, "4k": 2160, "8k": 4320,
	}
	for n, side := range published {
		if n.ShortSide() != side || !n.Valid() || !slices.Contains(video.Names, n) {
			t.Errorf("%s: ShortSide() = %d, Valid() = %t; want %d and one of Names", n, n.ShortSide(), n.Valid(), side)
		}
	}
	if !slices.IsSortedFunc(video.Names, func(a, b video.Name) int { return a.ShortSide() - b.ShortSide() }) {
		t.Errorf("Names = %q, want the smallest first", video.Names)
	}
}

func TestNamesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, n := range []video.Name{"", "720", "720P", "720p ", " 720p", "2160p", "4320p", "4K", "8K", "721p", "p", "７２０p"} {
		if n.Valid() || n.ShortSide() != 0 {
			t.Errorf("%q: Valid() = %t, ShortSide() = %d; want a name that is unknown", n, n.Valid(), n.ShortSide())
		}
	}
}

func TestDistinct(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		in, want []video.Name
	}{
		{"nothing stays nothing", nil, nil},
		{"one stays one", []video.Name{"4k"}, []video.Name{"4k"}},
		{"the order is kept, not sorted", []video.Name{"1080p", "144p", "720p"}, []video.Name{"1080p", "144p", "720p"}},
		{"the first of equals stays", []video.Name{"720p", "4k", "720p", "4k", "144p"}, []video.Name{"720p", "4k", "144p"}},
		{"all are equal", []video.Name{"8k", "8k", "8k"}, []video.Name{"8k"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			given := slices.Clone(tt.in)
			if got := video.Distinct(given); !slices.Equal(got, tt.want) {
				t.Errorf("Distinct(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if !slices.Equal(given, tt.in) {
				t.Errorf("Distinct changed its argument to %q", given)
			}
		})
	}
}
