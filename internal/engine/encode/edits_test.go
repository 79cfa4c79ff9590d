package encode

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// TestEditsThatMakeNoSense has files that players play, although their edit lists or their time scales
// say that there is nothing to play, or much more.
func TestEditsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	clip := plainClip(t)
	for _, tt := range []struct {
		name, box string
		spared    int // how many of these boxes, the first ones, stay as they are
		offset    int // of the number that is replaced in each of the others, behind their type
		value     uint32
		encode    bool
	}{
		{"edits of no length", "elst", 0, 8, 0, true},
		{"edits of no length in the audio", "elst", 1, 8, 0, true},
		{"a time scale that makes edits infinitely short", "mvhd", 0, 12, math.MaxInt32, false},
		{"a time scale that leaves one frame of the edits", "mvhd", 0, 12, 200_000, false},
		{"a time scale that makes the video much longer than it is", "mvhd", 0, 12, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			odd := bytes.Clone(clip)
			for _, at := range boxes(odd, tt.box)[tt.spared:] {
				binary.BigEndian.PutUint32(odd[at+tt.offset:], tt.value)
			}
			job := jobFor(t, odd)
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
			if err != nil {
				t.Fatal(err)
			}
			if plan.Frames != 50 || plan.FirstPTS != 0 || plan.Audio == nil || len(plan.Warnings) != 0 {
				t.Errorf("%d frames from %d on, audio is %v, warnings are %v; want 50 from 0, audio and no warning", plan.Frames, plan.FirstPTS, plan.Audio, plan.Warnings)
			}
			if !tt.encode {
				return
			}
			if film := encodeAll(t, tools, job, plan); len(film.times) != 50 {
				t.Errorf("%d frames are made of 50", len(film.times))
			}
			checkAudio(t, tools, job, plan)
		})
	}
}

// TestAudioIsLostToAnEditListForAReason has a video that is cut in half by its edit list, with audio of which
// nothing is left. The lengths cannot be ignored for the audio alone.
func TestAudioIsLostToAnEditListForAReason(t *testing.T) {
	t.Parallel()
	clip := plainClip(t)
	edits := boxes(clip, "elst")
	binary.BigEndian.PutUint32(clip[edits[0]+8:], 1000) // milliseconds
	binary.BigEndian.PutUint32(clip[edits[1]+8:], 0)
	plan, err := newEngine(t).Inspect(t.Context(), jobFor(t, clip), plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Frames != 25 || plan.Audio != nil || len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0].Message, "edit list") {
		t.Errorf("%d frames, audio is %v, warnings are %v; want 25, none, and the edit list as the reason", plan.Frames, plan.Audio, plan.Warnings)
	}
}

// TestAudioThatIsListedButNotThere has a file whose audio would follow its video, and that is cut off exactly before it.
func TestAudioThatIsListedButNotThere(t *testing.T) {
	t.Parallel()
	clip := plainClip(t, "-movflags", "+faststart")
	size := boxes(clip, "mdat")[0] - 8
	binary.BigEndian.PutUint32(clip[size:], binary.BigEndian.Uint32(clip[size:])+100_000)
	offsets := boxes(clip, "stco")[1] + 4 // of the audio, behind version and flags
	for i := range int(binary.BigEndian.Uint32(clip[offsets:])) {
		binary.BigEndian.PutUint32(clip[offsets+4+4*i:], uint32(len(clip)+i))
	}
	plan, err := newEngine(t).Inspect(t.Context(), jobFor(t, clip), plan.Request{Names: []video.Name{"144p"}})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Frames != 50 || plan.Audio != nil || len(plan.Warnings) != 2 || plan.Warnings[0].Code != video.Truncated || !strings.Contains(plan.Warnings[1].Message, "holds none of it") {
		t.Errorf("%d frames, audio is %v, warnings are %v; want 50, none, that the file is cut off, and that no audio is there", plan.Frames, plan.Audio, plan.Warnings)
	}
}

// plainClip returns an MP4 of two seconds whose tracks have an edit list each, the video's first.
func plainClip(t *testing.T, args ...string) []byte {
	t.Helper()
	clip, err := os.ReadFile(enginetest.Clip(t, "a.mp4", "testsrc2=s=64x48:r=25:d=2", args...))
	if err != nil {
		t.Fatal(err)
	}
	return clip
}

// boxes returns where the contents of the boxes of a kind begin.
func boxes(clip []byte, kind string) (starts []int) {
	parts, at := bytes.Split(clip, []byte(kind)), 0
	for _, part := range parts[:len(parts)-1] {
		at += len(part) + len(kind)
		starts = append(starts, at)
	}
	return starts
}

func jobFor(t *testing.T, clip []byte) ffmpeg.Job {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.mp4")
	if err := os.WriteFile(path, clip, 0o600); err != nil {
		t.Fatal(err)
	}
	return enginetest.NewJob(t, path)
}
