package e2e

import (
	"testing"
	"time"

	"github.com/spool-video/spool/test/footage"
)

// copiedFootage are recordings that play everywhere as they are.
var copiedFootage = [][]string{
	{"bench", "camera_dog_1080p50_15s.mp4"}, {"bench", "screenrec_1696x1080p60_13s.mp4"}, {"variety", "bbb_1080p60_aac51.mp4"},
	{"variety", "mov_pcm_sowt.mov"}, {"variety", "noaudio_run.mp4"}, {"variety", "multi_av_subs_nasa.mp4"},
}

// BenchmarkCopySource compares what a whole ladder costs with copies and without, and when it can be played.
func BenchmarkCopySource(b *testing.B) {
	for b.Loop() {
		cpu, wall := map[string]time.Duration{}, map[string]time.Duration{}
		for _, choice := range []string{"auto", "never"} {
			for _, name := range copiedFootage {
				s := start(b, measured(), withEnv("SPOOL_MEASURE_QUALITY", "false"))
				u := s.submit(newVideo{Filename: name[1], Resolutions: []string{"1080p", "720p", "480p", "360p", "240p"}, IsPublic: true, CopySource: choice}, footage.Path(b, name...))
				began := time.Now()
				s.until("the video to be playable", time.Hour, func() bool { return s.read(u).Playable })
				wall[choice] += time.Since(began)
				s.waitFor(u, time.Hour)
				spent := s.cpuAtEnd()
				cpu[choice] += spent
				b.Logf("%s %s: %.2f s of CPU time", choice, name[1], spent.Seconds())
			}
		}
		b.ReportMetric(cpu["auto"].Seconds()/cpu["never"].Seconds(), "cpu-ratio")
		b.ReportMetric(wall["auto"].Seconds()/wall["never"].Seconds(), "playable-ratio")
	}
}
