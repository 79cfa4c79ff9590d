package encode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/engine/enginetest"
	"github.com/spool-video/spool/internal/engine/plan"
	"github.com/spool-video/spool/internal/video"
)

// TestCutOffVideos cuts videos in the middle and looks whether what is left is
// made a video, and whether people are told.
func TestCutOffVideos(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	source := enginetest.Clip(t, "a.mp4", "testsrc2=s=160x120:r=25:d=8", "-g", "25", "-movflags", "faststart")
	tests := []struct {
		name, file string
		args       []string
		warned     bool
	}{
		{"MP4", "a.mp4", []string{"-c", "copy", "-movflags", "faststart"}, true},
		{"fragmented MP4 with an index", "a.mp4", []string{"-c", "copy", "-movflags", "frag_keyframe+empty_moov+default_base_moof+global_sidx"}, true},
		{"Matroska", "a.mkv", []string{"-c", "copy"}, true},
		{"AVI", "a.avi", []string{"-c:v", "mpeg4"}, true},
		{"Flash video", "a.flv", []string{"-c", "copy"}, true},
		{"fragmented MP4 without a duration", "a.mp4", []string{"-c", "copy", "-movflags", "frag_keyframe+empty_moov"}, true},
		{"Ogg", "a.ogv", []string{"-c:v", "libtheora", "-c:a", "libvorbis"}, true},
		{"Windows Media", "a.wmv", []string{"-c:v", "wmv2", "-c:a", "wmav2"}, true},
		{"transport stream, which announces nothing", "a.ts", []string{"-c", "copy"}, false},
	}
	clips := outputs{rare: []string{"Flash video", "fragmented MP4 with an index", "fragmented MP4 without a duration", "Ogg", "Windows Media"}}
	for _, tt := range tests {
		clips.add(tt.name, tt.file, tt.args...)
	}
	paths := enginetest.Outputs(t, []string{"-i", source}, clips.all...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := clips.of(t, paths, tt.name)
			job := enginetest.NewJob(t, path)
			ask := plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{1, 7}}
			plan, err := tools.Inspect(t.Context(), job, ask)
			if err != nil || len(plan.Warnings) != 0 {
				t.Fatalf("Inspect of the whole = %+v, %v; want no warning", plan, err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()/2); err != nil {
				t.Fatal(err)
			}
			plan, err = tools.Inspect(t.Context(), job, ask)
			if err != nil {
				t.Fatal(err)
			}
			if w := plan.Warnings; (len(w) == 1) != tt.warned || tt.warned && (w[0].Code != video.Truncated || !strings.Contains(w[0].Message, " s; the video ends there.")) {
				t.Errorf("warnings are %+v; want one: %v", w, tt.warned)
			}
			film := encodeAll(t, tools, job, plan)
			if n := len(film.times); n < 50 || n > 150 {
				t.Errorf("%d frames are left of 200", n)
			}
			checkThumbnails(t, tools, job, plan)
		})
	}
}

// TestCutOffBeforeTheAudio has one fragment, of which many frames are there
// and no audio: ffprobe gives up at the first packet of audio.
func TestCutOffBeforeTheAudio(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	path := filepath.Join(t.TempDir(), "a.mp4")
	enginetest.RunFFmpeg(t, "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=8", "-f", "lavfi", "-i", "sine=d=8",
		"-c:v", "libx264", "-preset", "ultrafast", "-g", "300", "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov+default_base_moof+global_sidx", path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()*4/10); err != nil {
		t.Fatal(err)
	}
	job := enginetest.NewJob(t, path)
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{1, 3}})
	if err != nil {
		t.Fatal(err)
	}
	film := encodeAll(t, tools, job, plan)
	if n := len(film.times); n < 80 || plan.Frames < n || plan.Frames > n+2 {
		t.Errorf("%d frames are made, and %d planned; want 80 at least, and no more planned than the one that is broken", n, plan.Frames)
	}
	if len(plan.Warnings) == 0 || plan.Warnings[0].Code != video.Truncated {
		t.Errorf("warnings are %+v; want one that the file is cut off", plan.Warnings)
	}
	checkThumbnails(t, tools, job, plan)
}

// TestAudioThatCannotBeDecoded makes sure that an audio track costs a video its
// audio at most.
func TestAudioThatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	const picture = "testsrc2=s=64x64:r=25:d=1"
	tests := []struct {
		name   string
		args   []string
		stream int // that is heard; -1 means none
	}{
		{"a decoder that may not run", []string{"-map", "0", "-map", "1", "-c:a", "wavpack"}, -1},
		{"another track that can be decoded", []string{"-map", "0", "-map", "1", "-map", "1", "-c:a:0", "wavpack", "-c:a:1", "aac", "-disposition:a:0", "default"}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			job := enginetest.NewJob(t, enginetest.Clip(t, "a.mkv", picture, tt.args...))
			plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}})
			if err != nil {
				t.Fatal(err)
			}
			encodeAll(t, tools, job, plan)
			if tt.stream < 0 {
				if w := plan.Warnings; plan.Audio != nil || len(w) != 1 || w[0].Code != video.UnsupportedCodec || !strings.Contains(w[0].Message, "wavpack") {
					t.Errorf("audio is %+v, warnings are %+v; want none and one that names wavpack", plan.Audio, w)
				}
				return
			}
			if plan.Audio == nil || plan.Audio.Stream != tt.stream || len(plan.Warnings) != 0 {
				t.Fatalf("audio is %+v, warnings are %+v; want stream %d and none", plan.Audio, plan.Warnings, tt.stream)
			}
			checkAudio(t, tools, job, plan)
		})
	}
}

// TestDamagedMiddle destroys a stretch of a video.
func TestDamagedMiddle(t *testing.T) {
	t.Parallel()
	tools := newEngine(t)
	path := enginetest.Clip(t, "a.mp4", "testsrc2=s=160x120:r=25:d=4", "-an", "-g", "25", "-movflags", "faststart")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) * 4 / 10; i < len(b)*8/10; i++ {
		b[i] = byte(i * 31 >> 3)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	job := enginetest.NewJob(t, path)
	plan, err := tools.Inspect(t.Context(), job, plan.Request{Names: []video.Name{"144p"}, Thumbnails: []float64{0, 2, 3.9}})
	if err != nil {
		t.Fatal(err)
	}
	film := encodeAll(t, tools, job, plan)
	w := plan.Verdict([]int{len(film.times)}, true)
	if len(w) != 1 || w[0].Code != video.Corrupt || !strings.Contains(w[0].Message, "of its 100 frames") {
		t.Errorf("%d frames of 100, warnings are %+v; want one", len(film.times), w)
	}
	checkThumbnails(t, tools, job, plan)
}
