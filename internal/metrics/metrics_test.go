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
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/system"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

// busy is a queue at work.
type busy struct{ queue.Queue }

func (busy) Stats(context.Context) (map[queue.Kind]queue.Stat, error) {
	return map[queue.Kind]queue.Stat{queue.Encode: {Waiting: 4, Running: 2, Oldest: 90 * time.Second}}, nil
}

func (busy) Workers(context.Context) ([]queue.Worker, error) {
	return []queue.Worker{{Slots: 4, Running: make([]queue.RunningTask, 3)}, {Slots: 2}}, nil
}

// broken is a queue whose tasks cannot be counted.
type broken struct{ busy }

func (broken) Stats(context.Context) (map[queue.Kind]queue.Stat, error) {
	return nil, errors.New("database is gone")
}

// systemWith returns a service with this queue.
func systemWith(t *testing.T, q queue.Queue) *system.Service {
	t.Helper()
	b := servicetest.New(t)
	b.Must(system.RecordStored(t.Context(), b.Store, system.Stored{Area: "source", Objects: 3, Bytes: 1000, CountedAt: time.Unix(1700000000, 5e8)}))
	b.Must(system.RecordBackup(t.Context(), b.Store, time.Unix(1600000000, 0)))
	return system.New("1.2.3", b.Store, q, func() (system.Disk, error) { return system.Disk{Free: 5, Size: 10}, nil })
}

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
	m.Served(Segment, 2000, 20*time.Millisecond)
	m.Served(Segment, 0, 0)
	m.VideoFinished(video.Ready, nil)
	m.VideoFinished(video.Fail, video.Failf(video.Corrupt, "Broken."))
	m.WatchStreams(func() int { return 5 })
	m.WebhookTried(webhook.OutcomeRetry, 2*time.Second)
	m.WebhookTried(webhook.OutcomeFailed, -1)
	m.CDNPurged(cdn.OutcomeRetry)
	m.WatchWebhooks(t.Context(), func(context.Context) (time.Duration, error) { return time.Minute, nil })
	m.WatchSystem(t.Context(), systemWith(t, busy{}))
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
		`spool_served_bytes_total{kind="segment"} 2000`,
		`spool_served_bytes_total{kind="film"} 0`,
		`spool_http_first_byte_seconds_count{kind="segment"} 1`,
		`spool_http_first_byte_seconds_count{kind="api"} 0`,
		`spool_stored_bytes{area="source"} 1000`,
		`spool_stored_objects{area="source"} 3`,
		`spool_stored_counted_timestamp_seconds{area="source"} 1.7000000005e+09`,
		`spool_stored_counted_timestamp_seconds{area="work"} 0`,
		`spool_backup_last_success_timestamp_seconds 1.6e+09`,
		`spool_disk_free_bytes 5`,
		`spool_disk_size_bytes 10`,
		`spool_videos_finished_total{code="",status="ready"} 1`,
		`spool_videos_finished_total{code="corrupt",status="fail"} 1`,
		`spool_queue_tasks{kind="encode",state="waiting"} 4`,
		`spool_queue_tasks{kind="encode",state="running"} 2`,
		`spool_queue_tasks{kind="purge",state="waiting"} 0`,
		`spool_queue_oldest_task_age_seconds{kind="encode"} 90`,
		`spool_webhook_deliveries_total{outcome="retry"} 1`,
		`spool_webhook_deliveries_total{outcome="delivered"} 0`,
		`spool_webhook_delivery_duration_seconds_sum 2`,
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
	m.WatchSystem(t.Context(), systemWith(t, broken{}))
	var logged bytes.Buffer
	w := scrape(t, m, slog.New(slog.NewTextHandler(&logged, nil)))

	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "spool_build_info") {
		t.Errorf("GET /metrics = %d without the other metrics, want 200 with them", w.Code)
	}
	if !strings.Contains(w.Body.String(), "spool_fleet_workers 2") {
		t.Error("what answers is not shown")
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

func TestAPanicDuringAScrapeEndsNothing(t *testing.T) {
	t.Parallel()
	m := New("test")
	m.WatchWebhooks(t.Context(), func(context.Context) (time.Duration, error) { panic("a mistake") })
	if w := scrape(t, m, slog.New(slog.DiscardHandler)); w.Code != http.StatusOK {
		t.Errorf("GET /metrics = %d, want 200", w.Code)
	}
}

func TestFilesAreToldApart(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]Content{
		"720p.mp4": Film, "720p-init.mp4": Segment, "audio-init.mp4": Segment, "720p-12.m4s": Segment, "720p-iframes-3.m4s": Segment,
		"master.m3u8": Playlist, "manifest.mpd": Playlist, "720p-0.jpg": Picture, "preview.webp": Picture, "storyboard.vtt": Text, "chapters.json": Text,
	} {
		if got := Played(file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
}
