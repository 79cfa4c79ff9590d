package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/test/footage"
)

// BenchmarkBusy measures how long reads, and ranges of 64 KiB, take at a steady 200 requests a second: on
// an idle server, while all cores encode at ffmpeg's own low priority, and while they do so at that of the
// server. The last one is what the priority is good for. The metrics p99-ratio-reads and p99-ratio-ranges
// say how many times as long the slowest hundredth takes while ffmpeg stands back as on the idle server.
// It takes less than three minutes.
//
//	SPOOL_TEST_MEDIA=… go test -run '^$' -bench Busy -benchtime 1x -timeout 1h ./test/e2e
func BenchmarkBusy(b *testing.B) {
	film := footage.Path(b, "bench", "anim_bbb_1080p24_30s.mp4")
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"1080p", "720p", "480p"}, IsPublic: true}
	for b.Loop() {
		var idle, back percentiles
		for _, nice := range []string{"", "0"} {
			name := map[string]string{"": "stands-back", "0": "equal"}[nice]
			s := start(b, measured(), withEnv("SPOOL_FFMPEG_NICE", nice), withEnv("SPOOL_MEASURE_QUALITY", "false"), withEnv("SPOOL_RATE_LIMIT", "0"))
			u := s.submit(newVideo{Filename: "b.mp4", Resolutions: []string{"240p"}, IsPublic: true}, film)
			w := s.waitReady(u)
			s.waitIdle()
			paths := []string{s.url + "/api/video/" + u.ID, w.Resolutions["240p"].VideoURL}
			if nice == "" {
				idle = s.requests(b, "idle", paths)
			}
			busy := []upload{s.submit(ask, film), s.submit(ask, film)}
			s.until("the cores to be busy", time.Minute, func() bool {
				return s.read(busy[0]).Progress > 0.02 && s.read(busy[1]).Progress > 0
			})
			during := s.requests(b, name, paths)
			if nice == "" {
				back = during
			}
			for _, u := range busy {
				if s.read(u).Status != "processing" {
					b.Error("the films were ready before the end of the measurement")
				}
			}
			s.stop()
		}
		for i, kind := range []string{"reads", "ranges"} {
			b.ReportMetric(float64(back.p99[i])/float64(idle.p99[i]), "p99-ratio-"+kind)
		}
	}
}

// percentiles are those of each kind of request.
type percentiles struct{ p50, p99 [2]time.Duration }

// requests sends 200 requests a second for some seconds, and reports how long they took from the moment at
// which they were due.
func (s *server) requests(b *testing.B, name string, paths []string) (all percentiles) {
	b.Helper()
	const rate, seconds = 200, 10
	var mu sync.Mutex
	var group sync.WaitGroup
	took := make([][]time.Duration, len(paths))
	began := time.Now()
	for i := range rate * seconds {
		due := began.Add(time.Duration(i) * time.Second / rate)
		time.Sleep(time.Until(due))
		group.Go(func() {
			kind := i % len(paths)
			if err := s.getRange(paths[kind]); err != nil {
				b.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			took[kind] = append(took[kind], time.Since(due))
		})
	}
	group.Wait()
	for i, kind := range []string{"read", "range"} {
		slices.Sort(took[i])
		all.p50[i], all.p99[i] = took[i][len(took[i])/2], took[i][len(took[i])*99/100]
		b.ReportMetric(float64(all.p50[i].Microseconds())/1000, fmt.Sprintf("ms-%s-%s-p50", kind, name))
		b.ReportMetric(float64(all.p99[i].Microseconds())/1000, fmt.Sprintf("ms-%s-%s-p99", kind, name))
	}
	return all
}

// getRange gets the first 64 KiB of a file, or all of an answer of the API.
func (s *server) getRange(url string) error {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("X-API-KEY", s.key)
	if strings.HasSuffix(url, ".mp4") {
		r.Header.Set("Range", "bytes=0-65535")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode >= 300 {
		return fmt.Errorf("%s answers %s, %v", url, answer.Status, err)
	}
	return nil
}
