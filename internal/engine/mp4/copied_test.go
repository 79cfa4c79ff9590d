package mp4

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// copyOf copies the video of a file as a task does, and returns the file and what was found.
func copyOf(t *testing.T, source string) (string, Copied, error) {
	t.Helper()
	raw := openInput(t, makeFile(t, "raw.mp4", "-i", source, "-map", "0:v", "-c:v", "copy", "-bsf:v", "h264_mp4toannexb"))
	path := filepath.Join(t.TempDir(), "clean.mp4")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := CopyVideo(f, raw, maxMoov)
	return path, c, err
}

// openInput opens a file for reading.
func openInput(t *testing.T, path string) Input {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return Input{f, info.Size()}
}

func TestACopyHoldsNothingButPictures(t *testing.T) {
	t.Parallel()
	source := makeFile(t, "source.mp4", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=24:d=3", "-c:v", "libx264", "-preset", "veryfast",
		"-pix_fmt", "yuv420p", "-g", "24", "-bf", "3", "-x264-params", "aud=1:repeat-headers=1:keyint=24")
	whole, err := os.ReadFile(source)
	if err != nil || !bytes.Contains(whole, []byte("x264 - core")) {
		t.Fatal("the source does not name its encoder", err)
	}
	path, c, err := copyOf(t, source)
	if err != nil {
		t.Fatal(err)
	}
	want := Sequence{Profile: 100, Level: 10, ChromaFormat: 1, Bits: 8, Width: 160, Height: 90, FramesOnly: true, SquarePixels: true}
	if c.Sequence != want || c.Frames != 72 || c.First != 0 {
		t.Errorf("CopyVideo = %+v; want 72 frames of %+v", c, want)
	}
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(made, []byte("x264 - core")) {
		t.Error("the copy names the encoder")
	}
	frames := func(path string) string {
		return capture(t, "ffmpeg", []string{"-v", "error", "-xerror", "-i", path, "-map", "0:v", "-f", "framemd5", "-"})
	}
	if frames(path) != frames(source) {
		t.Error("the copy shows other frames, or at other times")
	}
	if keys, err := ReadKeyframes(openInput(t, path)); err != nil || len(keys.At) != 3 {
		t.Errorf("the copy has the keyframes %v (%v); want three", keys.At, err)
	}
}

func TestWhatCannotBeCopied(t *testing.T) {
	t.Parallel()
	lavfi := []string{"-f", "lavfi", "-i", "testsrc2=s=160x90:r=24:d=2", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "veryfast"}
	refreshed := makeFile(t, "refreshed.ts", append(lavfi, "-g", "24", "-bf", "0", "-x264-params", "intra-refresh=1:keyint=24")...)
	if _, _, err := copyOf(t, refreshed); !errors.Is(err, ErrNotIDR) {
		t.Errorf("a video whose keyframes are spread over many frames gives %v; want %v", err, ErrNotIDR)
	}
	hevc := openInput(t, makeFile(t, "hevc.mp4", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=24:d=1", "-c:v", "libx265", "-tag:v", "hvc1", "-x265-params", "log-level=none"))
	if _, err := CopyVideo(new(bytes.Buffer), hevc, maxMoov); err == nil {
		t.Error("HEVC was copied")
	}
}

// Hostile bytes never make the parser panic, or reserve memory.
func TestHostileSequences(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := append([]byte{0x67}, rapid.SliceOfN(rapid.Byte(), 0, 80).Draw(t, "unit")...)
		if s, err := readSequence(unit); err == nil && (s.Width <= 0 || s.Height <= 0 || s.Width > 1<<18 || s.Height > 1<<19) {
			t.Fatalf("%x is %+v", unit, s)
		}
	})
	// A cycle of four billion frames: Baseline, order of kind 1.
	if _, err := readSequence([]byte{0x67, 66, 0, 30, 0b1_1_010_1_1_1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff}); err == nil {
		t.Error("an endless cycle was read")
	}
}

// Renditions that have some of the keyframes of another one, those among them at which its segments begin, are cut at the
// same times.
func TestSegmentsOfFewerKeyframesBeginAtTheSameTimes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var keys []int64
		at := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "keyframes") {
			keys = append(keys, at)
			at += rapid.Int64Range(1, 10*scale).Draw(t, "distance")
		}
		starts := SegmentStarts(keys, scale)
		fewer := slices.DeleteFunc(slices.Clone(keys), func(k int64) bool {
			_, begins := slices.BinarySearch(starts, k)
			return !begins && rapid.Bool().Draw(t, "left out")
		})
		if got := SegmentStarts(fewer, scale); !slices.Equal(got, starts) {
			t.Fatalf("%v are cut at %v, and %v at %v", keys, starts, fewer, got)
		}
	})
}
