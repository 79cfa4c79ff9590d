package encode

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// TestEditsThatMakeNoSense has files that players play, although their edit lists or their time scales
// say that there is nothing to play, or much more.
func TestEditsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	clip, err := os.ReadFile(enginetest.Clip(t, "a.mp4", "testsrc2=s=64x48:r=25:d=2"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, box string
		offset    int // of the number that is replaced in each of these boxes, behind their type
		value     uint32
		encode    bool
	}{
		{"edits of no length", "elst", 8, 0, true},
		{"a time scale that makes edits infinitely short", "mvhd", 12, math.MaxInt32, false},
		{"a time scale that leaves one frame of the edits", "mvhd", 12, 200_000, false},
		{"a time scale that makes the video much longer than it is", "mvhd", 12, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			odd, parts := bytes.Clone(clip), bytes.Split(clip, []byte(tt.box))
			at := 0
			for _, part := range parts[:len(parts)-1] {
				at += len(part) + len(tt.box)
				binary.BigEndian.PutUint32(odd[at+tt.offset:], tt.value)
			}
			path := filepath.Join(t.TempDir(), "a.mp4")
			if err := os.WriteFile(path, odd, 0o600); err != nil {
				t.Fatal(err)
			}
			job := enginetest.NewJob(t, path)
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
