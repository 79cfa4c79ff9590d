package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	benchViewers = 1000
	benchReports = 7 // of each viewer: one at the first second, then one every 20 s
)

// BenchmarkAThousandViewers has a thousand viewers watch for two minutes, each from an address of their own, and compares what
// was counted with what they watched:
//
//	go test -run '^$' -bench AThousandViewers -benchtime 1x ./test/e2e
func BenchmarkAThousandViewers(b *testing.B) {
	for range b.N {
		s := start(b, withEnv("SPOOL_TRUSTED_PROXIES", "127.0.0.1/32"))
		w := s.publish(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(b, middleClip))
		pid := s.cmd.Process.Pid
		memory, cpu, began := processMemory(b, pid, "VmRSS:"), cpuTime(b, pid), time.Now()
		var all sync.WaitGroup
		for i := range benchViewers {
			all.Go(func() { watchForABench(b, s.url+"/api/play/"+w.ID, i) })
		}
		all.Wait()
		took, used := time.Since(began), cpuTime(b, pid)-cpu
		grown := processMemory(b, pid, "VmRSS:") - memory
		const watched = benchViewers * (1 + (benchReports-1)*20)
		var out audienceFigures
		s.until("everything to be counted", 30*time.Second, func() bool {
			out = s.audience("/api/video/" + w.ID + "/audience")
			return out.Views >= benchViewers && out.WatchedSeconds >= 0.99*watched
		})
		b.ReportMetric(100*used.Seconds()/took.Seconds(), "%-of-a-core")
		b.ReportMetric(float64(grown)/(1<<20), "MiB")
		b.ReportMetric(float64(out.Views), "views")
		b.ReportMetric(100*out.WatchedSeconds/watched, "%-of-the-time")
		if out.Views != benchViewers || out.Viewers != benchViewers {
			b.Errorf("%d views and %d viewers were counted, want %d", out.Views, out.Viewers, benchViewers)
		}
	}
}

// watchForABench sends the reports of one viewer, who begins some time within the first 20 seconds.
func watchForABench(b *testing.B, address string, viewer int) {
	time.Sleep(time.Duration(viewer) * 20 * time.Second / benchViewers)
	total := 0
	for n := range benchReports {
		seconds := 20
		if n == 0 {
			seconds = 1
		}
		total += seconds
		body := fmt.Sprintf(`{"session":"session-%d","sequence":%d,"totalSeconds":%d,"watched":[{"quality":"144p","seconds":%d,"first":%v}],"parts":[%d],"startupSeconds":0.7,"referrer":"site%d.example"}`,
			viewer, n, total, seconds, n == 0, n, viewer%30)
		if err := tellForABench(b.Context(), address, body, viewer); err != nil {
			b.Error(err)
			return
		}
		if n+1 < benchReports {
			time.Sleep(20 * time.Second)
		}
	}
}

func tellForABench(ctx context.Context, address, body string, viewer int) error {
	req, err := http.NewRequestWithContext(ctx, "POST", address, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/plain")
	req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0")
	req.Header.Set("X-Forwarded-For", fmt.Sprintf("10.1.%d.%d", viewer/250, viewer%250+1))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("a report is answered %s", res.Status)
	}
	return nil
}
