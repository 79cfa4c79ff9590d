package probe

import "testing"

// TestEndsEarly compares what a container announces with what it holds. Matroska and MP4 count their
// duration from zero, also where a recording begins later.
func TestEndsEarly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		start, duration float64 // of the container
		first, end      int64   // of the packets, in seconds
		early           bool
	}{
		{"whole", 0, 60, 0, 60, false},
		{"cut off", 0, 60, 0, 30, true},
		{"an hour later", 3600, 3660, 3600, 3660, false},
		{"an hour later, cut off", 3600, 3780, 3600, 3630, true},
		{"before zero", -2, 60, -2, 58, false},
	} {
		f := NewResult()
		f.Format = Format{Start: tt.start, Duration: tt.duration}
		f.Streams = []Stream{{TimeBase: "1/1"}}
		f.Timelines[0] = NewTimeline()
		f.Timelines[0].Add(Packet{Type: "video", PTS: tt.first, DTS: tt.first, Duration: tt.end - tt.first, Flags: "K_"})
		if got := f.EndsEarly(); got != tt.early {
			t.Errorf("%s: EndsEarly = %v; want %v", tt.name, got, tt.early)
		}
	}
}
