package e2e

import (
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkShortClip measures what the service adds to the work itself: the time
// from complete-upload to ready for a clip of two seconds at 240p, against one
// ffmpeg command that makes the same file. The two take turns.
func BenchmarkShortClip(b *testing.B) {
	s := start(b)
	source := clip(b, tinyClip)
	made := filepath.Join(b.TempDir(), "bare.mp4")
	var service, bare []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := runFFmpeg("-y", "-i", source, "-vf", "scale=-2:240", "-c:v", "libx264", "-preset", "veryfast", "-crf", "23",
			"-c:a", "aac", "-ac", "2", "-ar", "48000", "-movflags", "+faststart", made); err != nil {
			b.Fatal(err)
		}
		bare = append(bare, time.Since(began))

		u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"240p"}, IsPublic: true})
		s.put(u, source)
		began = time.Now()
		s.complete(u.ID)
		for s.read(u).Status == "processing" {
			time.Sleep(5 * time.Millisecond)
		}
		service = append(service, time.Since(began))
	}
	slices.Sort(service)
	slices.Sort(bare)
	with, without := service[len(service)/2], bare[len(bare)/2]
	b.ReportMetric(float64(with.Milliseconds()), "ms-service")
	b.ReportMetric(float64(without.Milliseconds()), "ms-bare")
	b.ReportMetric(float64((with - without).Milliseconds()), "ms-added")
}
