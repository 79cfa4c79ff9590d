package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spool-video/spool/test/footage"
)

// BenchmarkEarly measures what it is to watch a film while it is encoded: when it is
// playable, how often hls.js at normal speed has to wait in a browser, and what all of it costs. With
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
		seen := s.watchAtNormalSpeed(b, s.read(u).HLSURL)
		b.ReportMetric(float64(seen.Waits), "stalls")
		b.ReportMetric(seen.Waited, "s-stalled")
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

// viewing is what a player has seen.
type viewing struct {
	Errors        []string
	Waits, Frames int
	Waited, Time  float64
	Heights       []int
	Ended         bool
}

// lookEarly tells how far the film is that beginEarly began.
const lookEarly = `() => {
  const {video, errors, waits, waited, heights} = window.film;
  return {errors, waits, waited: waited / 1000, heights: [...heights], time: video.currentTime, ended: video.ended,
    frames: video.getVideoPlaybackQuality().totalVideoFrames};
}`

// watchAtNormalSpeed plays a stream to its end with hls.js in a browser.
func (s *server) watchAtNormalSpeed(b *testing.B, master string) (got viewing) {
	b.Helper()
	page := openTab(b)
	began := time.Now()
	eval[any](page, "("+beginEarly+")("+quote(hlsjs(b))+","+quote(master)+", 1)")
	b.ReportMetric(time.Since(began).Seconds(), "s-first-frame")
	s.until("the player to reach the end", 2*time.Hour, func() bool {
		got = eval[viewing](page, "("+lookEarly+")()")
		return got.Ended || len(got.Errors) > 0
	})
	if len(got.Errors) > 0 {
		b.Fatalf("the player ended with %+v", got)
	}
	b.Logf("%+v", got)
	return got
}
