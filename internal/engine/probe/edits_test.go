package probe

import "testing"

// edited returns what is found of an MP4 that lists 50 frames and 80 packets of audio, when so many are read.
func edited(frames, packets int) *Result {
	f := NewResult()
	f.Format.Name = "mov,mp4,m4a,3gp,3g2,mj2"
	f.Streams = []Stream{{Index: 0, Type: "video", Frames: 50}, {Index: 1, Type: "audio", Frames: 80}}
	f.Timelines[0], f.Timelines[1] = NewTimeline(), NewTimeline()
	for i := range int64(frames) {
		f.Timelines[0].Add(Packet{Type: "video", PTS: i, DTS: i, Duration: 1, Flags: "K_"})
	}
	for i := range int64(packets) {
		f.Timelines[1].Add(Packet{Type: "audio", PTS: i, DTS: i, Duration: 1, Flags: "K_"})
	}
	return f
}

func TestWhatEditListsTookAway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		found, again  *Result
		away, restore bool
	}{
		{"nothing", edited(50, 80), edited(50, 80), false, true},
		{"a part of both", edited(25, 40), edited(50, 80), false, false},
		{"the frames", edited(1, 1), edited(50, 80), true, true},
		{"the frames, and no audio is there", edited(0, 0), edited(50, 0), true, true},
		{"the frames, and none are there", edited(0, 80), edited(0, 80), true, false},
		{"the audio", edited(50, 1), edited(50, 80), true, true},
		{"the audio, and none is there", edited(50, 0), edited(50, 0), true, false},
		{"the audio, and a part of the frames", edited(25, 0), edited(50, 80), true, false},
		{"nearly everything, for a glimpse", edited(5, 1), edited(50, 80), false, false},
	} {
		if away := tt.found.editedAway(); away != tt.away {
			t.Errorf("%s: edited away is %v, want %v", tt.name, away, tt.away)
		}
		if restore := tt.again.restores(tt.found); restore != tt.restore {
			t.Errorf("%s: restored is %v, want %v", tt.name, restore, tt.restore)
		}
	}
}
