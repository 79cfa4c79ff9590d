package video_test

import (
	"slices"
	"testing"

	"github.com/spool-video/spool/internal/video"
)

func TestNames(t *testing.T) {
	t.Parallel()
	want := []video.Name{"144p", "240p", "360p", "480p", "720p", "1080p", "1440p", "4k", "8k"}
	sides := []int{144, 240, 360, 480, 720, 1080, 1440, 2160, 4320}
	if !slices.Equal(video.Names, want) {
		t.Fatalf("Names = %q, want %q", video.Names, want)
	}
	for i, n := range want {
		if got := n.ShortSide(); got != sides[i] {
			t.Errorf("%s.ShortSide() = %d, want %d", n, got, sides[i])
		}
		if !n.Valid() {
			t.Errorf("%s.Valid() = false", n)
		}
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
