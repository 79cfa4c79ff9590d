package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var benchReport = flag.String("report", "", "file to append the short clip's figures to")

// BenchmarkShortClip measures what the service adds to the work itself: the time
// from complete-upload to ready for a clip of two seconds at 240p, against one
// ffmpeg command that makes the same file. The two take turns. ffmpeg has the priorities that it has
// by default.
func BenchmarkShortClip(b *testing.B) {
	s := start(b, measured(), withEnv("SPOOL_FFMPEG_NICE", ""))
	source := clip(b, tinyClip)
	made := filepath.Join(b.TempDir(), "bare.mp4")
	var service, bare []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := runFFmpeg("-y", "-i", source, "-vf", "scale=-2:240", "-c:v", "libx264", "-preset", "medium", "-crf", "25",
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
	if *benchReport != "" {
		appendReport(b, len(service), with, without)
	}
}

// appendReport adds a section to what the engine benchmark has written.
func appendReport(b *testing.B, rounds int, with, without time.Duration) {
	f, err := os.OpenFile(*benchReport, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "\n## A short clip\n\n"+
		"From complete-upload to ready for a clip of two seconds at 240p, against one `ffmpeg` command that makes the same file. "+
		"Medians of %d rounds.\n\n| Spool | ffmpeg alone | added by the service |\n|---|---|---|\n| %d ms | %d ms | %d ms |\n",
		rounds, with.Milliseconds(), without.Milliseconds(), (with - without).Milliseconds())
	if err != nil {
		b.Fatal(err)
	}
}
