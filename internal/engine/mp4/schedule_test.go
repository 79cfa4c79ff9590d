package mp4

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	mp4ff "github.com/Eyevinn/mp4ff/mp4"
	"pgregory.net/rapid"
)

// drawChunkFiles draws the times of frames, in decode order, of up to five chunk files.
// Frames are reordered at will inside a chunk file, except that its first is the
// earliest, as a closed GOP has it.
func drawChunkFiles(t *rapid.T) [][]int64 {
	at := rapid.Int64Range(-5000, 5000).Draw(t, "first")
	var pieces [][]int64
	for range rapid.IntRange(1, 5).Draw(t, "chunk files") {
		var pts []int64
		for range rapid.IntRange(1, 12).Draw(t, "frames") {
			pts = append(pts, at)
			at += rapid.Int64Range(1, 3000).Draw(t, "gap")
		}
		pieces = append(pieces, append(pts[:1:1], rapid.Permutation(pts[1:]).Draw(t, "order")...))
	}
	return pieces
}

func join(pieces [][]int64) (*joiner, error) {
	j := &joiner{trackBuilder: &trackBuilder{scale: scale}}
	for _, pts := range pieces {
		t := &track{scale: scale, pts: pts, stts: &mp4ff.SttsBox{SampleCount: []uint32{1}, SampleTimeDelta: []uint32{512}}}
		if err := j.addTimes(t); err != nil {
			return nil, err
		}
	}
	return j, j.schedule()
}

func TestScheduleKeepsTimesAndNeverShowsBeforeDecoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := drawChunkFiles(t)
		pts := slices.Concat(pieces...)
		j, err := join(pieces)
		if slices.Max(pts)+512 <= 0 {
			if err == nil {
				t.Fatal("a rendition that ends before zero was accepted")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var dts int64
		number := uint32(1)
		for i, count := range j.stts.SampleCount {
			for range count {
				var offset int64
				if j.ctts != nil {
					offset = int64(j.ctts.GetCompositionTimeOffset(number))
				}
				if got := j.edit.delay + dts + offset - j.edit.mediaTime; got != pts[number-1] || offset < 0 {
					t.Fatalf("sample %d is shown at %d with an offset of %d, want %d", number, got, offset, pts[number-1])
				}
				if j.stts.SampleTimeDelta[i] == 0 {
					t.Fatalf("sample %d takes no time", number)
				}
				dts += int64(j.stts.SampleTimeDelta[i])
				number++
			}
		}
		if int(number) != len(pts)+1 {
			t.Fatalf("%d samples are scheduled, want %d", number-1, len(pts))
		}
	})
}

func TestTheLastFrameEndsWithTheVideo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		length time.Duration
		want   int64 // ticks of 1/12288 s that the last of three frames lasts
	}{
		{"a rendition of unknown length", 0, 30 * 12288},
		{"a rendition that is longer", 2 * time.Minute, 30 * 12288},
		{"a rendition that ends soon after it", 61 * time.Second, 12288},
		{"a rendition that ends before it", 59 * time.Second, 1228},
	}
	for _, tt := range tests {
		j := &joiner{trackBuilder: &trackBuilder{scale: scale}, timing: Timing{Length: tt.length}}
		if err := j.addTimes(&track{pts: []int64{0, 30 * scale, 60 * scale}, stts: &mp4ff.SttsBox{SampleTimeDelta: []uint32{30 * scale}}}); err != nil {
			t.Fatal(err)
		}
		if err := j.schedule(); err != nil || j.last != tt.want {
			t.Errorf("%s: the last frame lasts %d ticks, %v; want %d", tt.name, j.last, err, tt.want)
		}
	}
}

func TestFramesAtTheSameMomentAreRefused(t *testing.T) {
	t.Parallel()
	_, err := join([][]int64{{0, 512, 1024}, {1536, 2560, 2560}})
	if !errors.Is(err, ErrTimes) || !strings.Contains(err.Error(), "two frames are shown at 2560/12288 s") {
		t.Errorf("join = %v, want an error that names the moment", err)
	}
}

func TestRescale(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		v            uint64
		to, from     uint32
		nearest, top int64
		ok           bool
	}{
		{"an exact value", 128000, 12288, 12288, 128000, 128000, true},
		{"a value below the middle", 14976, 12288, 48000, 3834, 3834, true},
		{"a value that needs rounding", 1, 1000, 3, 333, 334, true},
		{"more than a time can be", 1 << 63, 1 << 31, 2, 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			near, ok := rescale(tt.v, tt.to, tt.from)
			up, okUp := rescaleUp(tt.v, tt.to, tt.from)
			if near != tt.nearest || up != tt.top || ok != tt.ok || okUp != tt.ok {
				t.Errorf("rescale = %d, %t; rescaleUp = %d, %t", near, ok, up, okUp)
			}
		})
	}
}
