package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var benchReport = flag.String("report", "", "file to append the short clip's figures to")

// BenchmarkShortClip measures what the service adds to the work itself: the time
// from complete-upload to ready for a clip of two seconds at 240p, against one
// ffmpeg command that makes the same file. The server has nothing else to do, so an
// ffprobe waits for the upload; in a third round it was killed before, as if other
// uploads had come just before. The three take turns.
func BenchmarkShortClip(b *testing.B) {
	s := start(b, measured())
	source := clip(b, tinyClip)
	made := filepath.Join(b.TempDir(), "bare.mp4")
	var service, cold, bare []time.Duration
	for b.Loop() {
		s.rest()
		began := time.Now()
		if err := runFFmpeg("-y", "-i", source, "-vf", "scale=-2:240", "-c:v", "libx264", "-preset", "medium", "-crf", "25",
			"-c:a", "aac", "-ac", "2", "-ar", "48000", "-movflags", "+faststart", made); err != nil {
			b.Fatal(err)
		}
		bare = append(bare, time.Since(began))

		s.rest()
		service = append(service, s.timeToReady(source, func() {}))
		waiting := s.rest()
		cold = append(cold, s.timeToReady(source, func() { _ = syscall.Kill(waiting, syscall.SIGKILL) }))
	}
	with, without, alone := median(service), median(cold), median(bare)
	b.ReportMetric(float64(with.Milliseconds()), "ms-service")
	b.ReportMetric(float64(without.Milliseconds()), "ms-cold")
	b.ReportMetric(float64(alone.Milliseconds()), "ms-bare")
	b.ReportMetric(float64((with - alone).Milliseconds()), "ms-added")
	if *benchReport != "" {
		appendReport(b, len(service), with, without, alone)
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// rest waits until the server has nothing to do and an ffprobe waits for the next upload, with all its
// libraries. It returns that one's process ID.
func (s *server) rest() (pid int) {
	s.t.Helper()
	s.until("the server to rest", readyTimeout, func() bool {
		all := children(s.dataDir)
		if !s.idle() || len(all) != 1 || !strings.Contains(all[0], waits) {
			return false
		}
		pid, _ = strconv.Atoi(strings.Fields(all[0])[0])
		return true
	})
	time.Sleep(500 * time.Millisecond)
	return pid
}

// timeToReady uploads a clip and returns how long it takes from its completion. first is called just before.
func (s *server) timeToReady(source string, first func()) time.Duration {
	s.t.Helper()
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"240p"}, IsPublic: true})
	s.put(u, source)
	first()
	began := time.Now()
	s.complete(u.ID)
	for s.read(u).Status == "processing" {
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

// loadAverage returns how many processes wanted a core in the last minute.
func loadAverage(b *testing.B) string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		b.Fatal(err)
	}
	return strings.Fields(string(text))[0]
}

// appendReport adds a section to what the engine benchmark has written.
func appendReport(b *testing.B, rounds int, with, cold, alone time.Duration) {
	f, err := os.OpenFile(*benchReport, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	row := func(name string, d time.Duration) string {
		return fmt.Sprintf("| %s | %d ms | %d ms | %.2f |\n", name, d.Milliseconds(), (d - alone).Milliseconds(), float64(d)/float64(alone))
	}
	_, err = fmt.Fprintf(f, "\n## A short clip\n\n"+
		"From complete-upload to ready for a clip of two seconds at 240p, against one `ffmpeg` command that makes the same file. "+
		"A server with nothing else to do has an ffprobe started that waits for the upload; just after another upload it has to start one. "+
		"%d rounds, in which the three took turns, at a load of %s; medians.\n\n"+
		"| | time | added to ffmpeg alone | ratio |\n|---|---|---|---|\n%s%s%s", rounds, loadAverage(b),
		row("`ffmpeg` alone", alone), row("Spool", with), row("Spool, without an ffprobe that waits", cold))
	if err != nil {
		b.Fatal(err)
	}
}
