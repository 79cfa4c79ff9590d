package probe

import "testing"

// TestManyKeyframes wants a long video in which each frame is a keyframe not to
// fill the memory, and still to be cut and seeked everywhere.
func TestManyKeyframes(t *testing.T) {
	t.Parallel()
	const frames, step = denseKeys + 100*keyStep, 512
	line := NewTimeline()
	for n := range int64(frames) {
		line.Add(Packet{Type: "video", PTS: n * step, DTS: n * step, Duration: step, Size: 10, Position: 10 * n, Flags: "K__"})
	}
	line.Sort()
	if len(line.Shown) != frames || len(line.Keys) != denseKeys+100 {
		t.Errorf("%d frames and %d keyframes are noted; want %d and %d", len(line.Shown), len(line.Keys), frames, denseKeys+100)
	}
	var bytes int64
	for _, k := range line.Keys {
		bytes += k.Bytes
		if k.Open || !k.Border {
			t.Fatalf("keyframe %+v; want one at which the video can be cut", k)
		}
	}
	if bytes != 10*frames || line.Tangled {
		t.Errorf("the keyframes have %d bytes; want %d", bytes, 10*frames)
	}
	last := int64(frames-1) * step
	if got := line.SeekTo(last, 0); last-got >= keyStep*step {
		t.Errorf("the last frame is seeked from %d; want a keyframe close to %d", got, last)
	}
}

// A file has these limits, however many streams it has.
func TestManyStreamsShareWhatIsNoted(t *testing.T) {
	t.Parallel()
	const streams, frames = 8, 200_000
	shared, keys, runs := new(noted), 0, 0
	for range streams {
		line := newTimeline(100, shared)
		for n := range int64(frames) {
			line.Add(Packet{Type: "video", PTS: n, DTS: n, Duration: 1, Size: 10, Position: n % 2 * 1000, Flags: "K__"})
		}
		if len(line.Keys) < frames/keyStep || len(line.Shown) != frames || line.Layout.Unknown != (len(line.Layout.runs) == 0) {
			t.Errorf("a stream has %d keyframes, %d frames and %d runs", len(line.Keys), len(line.Shown), len(line.Layout.runs))
		}
		keys, runs = keys+len(line.Keys), runs+len(line.Layout.runs)
	}
	if keys > denseKeys+streams*(frames/keyStep+1) || runs > maxRuns || runs < frames {
		t.Errorf("%d keyframes and %d runs are noted", keys, runs)
	}
}
