package video

import "testing"

func TestTheFirstReadyTrackTakesThePlaceOfADefaultThatFailed(t *testing.T) {
	t.Parallel()
	track := func(n int, s Status) AudioTrack { return AudioTrack{Number: n, Status: s, Default: n == 1} }
	for _, tt := range []struct {
		name    string
		tracks  []AudioTrack
		changed AudioTrack
		want    int
	}{
		{"another one is ready", []AudioTrack{track(1, Processing), track(2, Processing), track(3, Ready)}, track(1, Fail), 3},
		{"none is ready yet", []AudioTrack{track(1, Processing), track(2, Processing)}, track(1, Fail), 1},
		{"one becomes ready afterwards", []AudioTrack{track(1, Fail), track(2, Processing)}, track(2, Ready), 2},
		{"another one fails", []AudioTrack{track(1, Ready), track(2, Processing)}, track(2, Fail), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := &Sound{Tracks: tt.tracks}
			after := before.With(tt.changed)
			if got, _ := after.Default(); got.Number != tt.want {
				t.Errorf("the default is track %d, want %d", got.Number, tt.want)
			}
			if got, _ := before.Default(); got.Number != 1 {
				t.Error("the list before has changed, too")
			}
		})
	}
}

func TestLabelsAreUnique(t *testing.T) {
	t.Parallel()
	taken := []string{"Sound", "Sound 2"}
	for label, want := range map[string]string{"Sound": "Sound 3", "English": "English", "Sound 2": "Sound 2 2"} {
		if got := UniqueLabel(label, taken); got != want {
			t.Errorf("a further %q is called %q, want %q", label, got, want)
		}
	}
}
