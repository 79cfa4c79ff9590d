package encode

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/engine/ffmpeg"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// TestInventedProgressDoesNotHelp has a program that reports progress for ever,
// as one might that a file has taken over.
func TestInventedProgressDoesNotHelp(t *testing.T) {
	t.Parallel()
	e := scripted(t, "i=0; while :; do i=$((i+1)); echo frame=$i; echo out_time_us=$i; sleep 0.02; done\n", time.Hour)
	e.minWall = 300 * time.Millisecond
	job := ffmpeg.Job{OutDir: t.TempDir(), Source: filepath.Join(t.TempDir(), "source")}
	short := basicPlan(func(p *video.Plan) {
		p.Input.CodedWidth, p.Input.CodedHeight, p.Duration = 16, 16, time.Second/10
		p.Renditions = []video.Rendition{{Width: 16, Height: 16}}
		p.Chunks, p.Samples, p.Thumbnails = p.Chunks[:1], p.Chunks[:1], nil
		p.Chunks[0].End = p.FirstPTS + int64(p.Timescale)/10
	})
	for name, run := range map[string]func() error{
		"chunk":   func() error { _, err := e.EncodeChunk(t.Context(), job, short, 0, nil); return err },
		"audio":   func() error { _, err := e.EncodeAudio(t.Context(), job, short, 0, nil); return err },
		"measure": func() error { _, err := e.Measure(t.Context(), job, short, []RenditionFile{{}}, nil); return err },
	} {
		if err := run(); !errors.Is(err, ffmpeg.ErrTimeLimit) {
			t.Errorf("%s: %v; want ErrTimeLimit", name, err)
		}
	}
}

// TestTimesFollowTheVideo compares what a task may take with what it takes on a
// machine that is slow, and with how long nobody would wait.
func TestTimesFollowTheVideo(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(source, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(source, 10<<30); err != nil {
		t.Fatal(err)
	}
	twenty := basicPlan(nil) // 1080p at 25 frames a second
	large := basicPlan(func(p *video.Plan) {
		p.Input.CodedWidth, p.Input.CodedHeight, p.Input.FrameRate = 7680, 4320, 60
		p.Renditions[0].Width, p.Renditions[0].Height = 7680, 4320
	})
	film := basicPlan(func(p *video.Plan) { p.Duration = 2 * time.Hour })
	endless := basicPlan(func(p *video.Plan) { p.Samples = []video.Chunk{{Start: 0, End: video.Forever}} })
	tests := []struct {
		name        string
		got         time.Duration
		least, most time.Duration
	}{
		{"20 s of 1080p", chunkTime(twenty, 0), 20 * time.Minute, 3 * time.Hour},
		{"20 s of 8K", chunkTime(large, 0), 24 * time.Hour, 7 * 24 * time.Hour},
		{"audio of 2 hours in 10 GiB", audioTime(film, source), 4 * time.Hour, 8 * time.Hour},
		{"10 thumbnails in 2 batches", thumbnailTime([]plan.Batch{{Shots: make([]plan.Shot, 9)}, {Shots: make([]plan.Shot, 1)}}, time.Minute), 10 * time.Minute, time.Hour},
		{"a sample without an end", measureTime(endless), time.Hour, 5 * 24 * time.Hour},
	}
	for _, tt := range tests {
		if tt.got < tt.least || tt.got > tt.most {
			t.Errorf("%s may take %v; want between %v and %v", tt.name, tt.got, tt.least, tt.most)
		}
	}
}
