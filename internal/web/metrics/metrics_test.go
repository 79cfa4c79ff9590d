package metrics

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

// used returns a set in which every metric has a value.
func used(t *testing.T) *Metrics {
	t.Helper()
	m := New("1.2.3")
	m.RequestBegan()
	m.RequestBegan()
	m.RequestEnded("/api/video", "POST", 201, 30*time.Millisecond)
	m.TaskDone(queue.Encode, queue.OutcomeDone, 3*time.Second)
	m.TaskRetried(queue.Encode)
	m.Encoded(20*time.Second, 5*time.Second)
	m.Uploaded(1000)
	m.Served(2000)
	m.VideoFinished(video.Ready, nil)
	m.VideoFinished(video.Fail, video.Failf(video.Corrupt, "Broken."))
	m.WatchStreams(func() int { return 5 })
	m.WebhookTried(webhook.OutcomeRetry)
	m.CDNPurged(cdn.OutcomeRetry)
	m.WatchWebhooks(t.Context(), func(context.Context) (time.Duration, error) { return time.Minute, nil })
	m.WatchQueue(t.Context(), []queue.Kind{queue.Encode, queue.Purge}, func(context.Context) (map[queue.Kind]queue.Stat, error) {
		return map[queue.Kind]queue.Stat{queue.Encode: {Waiting: 4, Running: 2, Oldest: 90 * time.Second}}, nil
	})
	m.WatchWorkers(t.Context(), func(context.Context) ([]queue.Worker, error) {
		return []queue.Worker{{Slots: 4, Running: make([]queue.RunningTask, 3)}, {Slots: 2}}, nil
	})
	return m
}

func scrape(t *testing.T, m *Metrics, log *slog.Logger) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(log).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w
}

func TestNamesFollowPrometheusConventions(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(used(t).registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestEveryMetricIsShown(t *testing.T) {
	t.Parallel()
	w := scrape(t, used(t), slog.New(slog.DiscardHandler))
	if w.Code != http.StatusOK {
		t.Fatalf("GET /metrics = %d, want 200", w.Code)
	}
	shown := strings.Split(w.Body.String(), "\n")
	for _, want := range []string{
		`spool_build_info{version="1.2.3"} 1`,
		`spool_http_requests_in_flight 1`,
		`spool_http_requests_total{method="POST",route="/api/video",status="201"} 1`,
		`spool_http_request_duration_seconds_count{method="POST",route="/api/video"} 1`,
		`spool_event_streams 5`,
		`spool_task_duration_seconds_sum{kind="encode",outcome="done"} 3`,
		`spool_task_retries_total{kind="encode"} 1`,
		`spool_encode_speed_ratio_sum 4`,
		`spool_uploaded_bytes_total 1000`,
		`spool_served_bytes_total 2000`,
		`spool_videos_finished_total{code="",status="ready"} 1`,
		`spool_videos_finished_total{code="corrupt",status="fail"} 1`,
		`spool_queue_tasks{kind="encode",state="waiting"} 4`,
		`spool_queue_tasks{kind="encode",state="running"} 2`,
		`spool_queue_tasks{kind="purge",state="waiting"} 0`,
		`spool_queue_oldest_task_age_seconds{kind="encode"} 90`,
		`spool_webhook_deliveries_total{outcome="retry"} 1`,
		`spool_webhook_deliveries_total{outcome="delivered"} 0`,
		`spool_webhook_oldest_pending_age_seconds 60`,
		`spool_fleet_workers 2`,
		`spool_fleet_slots 6`,
		`spool_fleet_busy_slots 3`,
	} {
		if !slices.Contains(shown, want) {
			t.Errorf("the answer lacks %s", want)
		}
	}
	for _, prefix := range []string{"go_goroutines ", "process_resident_memory_bytes "} {
		if !strings.Contains(w.Body.String(), "\n"+prefix) {
			t.Errorf("the answer lacks %s", prefix)
		}
	}
}

func TestAClientCannotMakeNewSeries(t *testing.T) {
	t.Parallel()
	m := New("test")
	for _, method := range []string{"BREW", "PROPFIND", "GET2"} {
		m.RequestBegan()
		m.RequestEnded("/api/video", method, 405, time.Millisecond)
	}
	if got := testutil.ToFloat64(m.requests.WithLabelValues("/api/video", "other", "405")); got != 3 {
		t.Errorf("requests with strange methods = %v under \"other\", want 3", got)
	}
	if n := testutil.CollectAndCount(m.requests); n != 1 {
		t.Errorf("strange methods made %d series, want 1", n)
	}
}

func TestABrokenQueueHidesOnlyItsOwnMetrics(t *testing.T) {
	t.Parallel()
	m := New("test")
	m.WatchQueue(t.Context(), []queue.Kind{queue.Encode, queue.Purge}, func(context.Context) (map[queue.Kind]queue.Stat, error) {
		return nil, errors.New("database is gone")
	})
	var logged bytes.Buffer
	w := scrape(t, m, slog.New(slog.NewTextHandler(&logged, nil)))

	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "spool_build_info") {
		t.Errorf("GET /metrics = %d without the other metrics, want 200 with them", w.Code)
	}
	if strings.Contains(w.Body.String(), "spool_queue_tasks{") {
		t.Error("metrics of a queue that did not answer were shown")
	}
	if !strings.Contains(logged.String(), "database is gone") {
		t.Errorf("the log does not say why: %s", logged.String())
	}
}

func TestTwoSetsDoNotMeet(t *testing.T) {
	t.Parallel()
	a, b := New("a"), New("b")
	a.Uploaded(5)
	if got := testutil.ToFloat64(b.uploaded); got != 0 {
		t.Errorf("a second set counts %v bytes of the first's", got)
	}
}
