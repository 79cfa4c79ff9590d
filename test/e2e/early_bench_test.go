package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/test/footage"
)

// BenchmarkEarly measures what it is to watch a film while it is encoded: when it is
// playable, how often a player at normal speed has to wait, and what all of it costs. With
// SPOOL_BASELINE, a spool that does without, the cost is compared:
//
//	SPOOL_TEST_MEDIA=… SPOOL_BASELINE=… go test -run '^$' -bench Early -benchtime 1x -timeout 2h ./test/e2e
func BenchmarkEarly(b *testing.B) {
	film := repeated(b, footage.Path(b, "bench", "anim_bbb_1080p24_30s.mp4"))
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"1080p", "720p", "480p", "360p", "240p"}, IsPublic: true}
	for b.Loop() {
		s := start(b, measured(), withEnv("SPOOL_MEASURE_QUALITY", "false"))
		u := s.submit(ask, film)
		began := time.Now()
		s.until("the film to be playable", time.Hour, func() bool { return s.read(u).Playable })
		b.ReportMetric(time.Since(began).Seconds(), "s-playable")
		stalls, waited := s.watchAtNormalSpeed(s.read(u).HLSURL)
		b.ReportMetric(float64(stalls), "stalls")
		b.ReportMetric(waited.Seconds(), "s-stalled")
		s.waitFor(u, 2*time.Hour)
		b.ReportMetric(time.Since(began).Seconds(), "s-ready")
		cost := s.cpuAtEnd()
		b.ReportMetric(cost.Seconds(), "s-cpu")
		if baseline := os.Getenv("SPOOL_BASELINE"); baseline != "" {
			mine := lab.binary
			lab.binary = baseline
			s := start(b, measured(), withEnv("SPOOL_MEASURE_QUALITY", "false"))
			s.waitFor(s.submit(ask, film), 2*time.Hour)
			b.ReportMetric(cost.Seconds()/s.cpuAtEnd().Seconds(), "cpu-ratio")
			lab.binary = mine
		}
	}
}

// repeated repeats a clip without encoding it, for ten minutes or SPOOL_BENCH_SECONDS.
func repeated(b *testing.B, clip string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "film.mp4")
	length := cmp.Or(os.Getenv("SPOOL_BENCH_SECONDS"), "600")
	if err := runFFmpeg("-y", "-stream_loop", "-1", "-i", clip, "-t", length, "-c", "copy", path); err != nil {
		b.Fatal(err)
	}
	return path
}

func (s *server) waitFor(u upload, limit time.Duration) {
	s.t.Helper()
	s.until("the film to be ready", limit, func() bool { return s.read(u).Status != "processing" })
	if w := s.read(u); w.Status != "ready" {
		s.t.Fatalf("the film is %s: %+v", w.Status, w.Failure)
	}
}

// cpuAtEnd stops a server and returns what it and its children have used.
func (s *server) cpuAtEnd() time.Duration {
	s.t.Helper()
	s.waitIdle()
	s.stop()
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}

// watchAtNormalSpeed plays the first variant of a stream as a player does that loads what it needs in
// time, and returns how often and for how long it had to wait.
func (s *server) watchAtNormalSpeed(master string) (stalls int, waited time.Duration) {
	s.t.Helper()
	list := beside(master, s.variants(master)[0].file)
	var position, there float64
	ended, stalled := false, false
	last := time.Now()
	for !ended || position < there {
		if !ended && there-position < 10 {
			text := string(s.fetch(list))
			there, ended = 0, strings.Contains(text, "#EXT-X-ENDLIST")
			for _, m := range segmentLine.FindAllStringSubmatch(text, -1) {
				length, err := strconv.ParseFloat(m[1], 64)
				if err != nil {
					s.t.Fatal(err)
				}
				there += length
			}
		}
		time.Sleep(500 * time.Millisecond)
		passed := time.Since(last)
		last = time.Now()
		if position+passed.Seconds() <= there || ended {
			position, stalled = position+passed.Seconds(), false
			continue
		}
		if waited += passed; !stalled {
			stalls++
		}
		stalled = true
	}
	return stalls, waited
}
