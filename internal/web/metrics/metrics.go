// Package metrics owns the numbers that Spool shows to Prometheus. Each set has
// a registry of its own, so nothing is global and tests can make as many as they
// like. Labels come from fixed lists only: no client can make new series.
package metrics

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/video"
)

// Metrics is one set of numbers. All methods may be called from many goroutines.
type Metrics struct {
	registry *prometheus.Registry

	requests        *prometheus.CounterVec
	requestDuration *prometheus.HistogramVec
	inFlight        prometheus.Gauge

	taskDuration *prometheus.HistogramVec
	retries      *prometheus.CounterVec
	encodeSpeed  prometheus.Histogram

	uploaded prometheus.Counter
	served   prometheus.Counter
	videos   *prometheus.CounterVec
}

// New returns a set for a program of this version.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.inform("spool_build_info", "Always 1; the version is in the label.", "version", version)
	m.describeRequests()
	m.describeTasks()
	m.describeVideos()
	return m
}

// Sandboxed tells how ffmpeg is confined; level names the layers in use.
func (m *Metrics) Sandboxed(level string) {
	m.inform("spool_sandbox_info", "Always 1; how ffmpeg is confined is in the label.", "level", level)
}

// inform adds a number that never changes, for the sake of its label.
func (m *Metrics) inform(name, help, label, value string) {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{label: value}})
	g.Set(1)
	m.registry.MustRegister(g)
}

func (m *Metrics) describeRequests() {
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_http_requests_total", Help: "Requests answered, by route, method and status.",
	}, []string{"route", "method", "status"})
	m.requestDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "spool_http_request_duration_seconds", Help: "Time from a request's header to the end of its answer.",
		Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600},
	}, []string{"route", "method"})
	m.inFlight = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "spool_http_requests_in_flight", Help: "Requests being answered now.",
	})
	m.registry.MustRegister(m.requests, m.requestDuration, m.inFlight)
}

func (m *Metrics) describeTasks() {
	m.taskDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "spool_task_duration_seconds", Help: "Time that one run of a task took, by kind and outcome.",
		Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600},
	}, []string{"kind", "outcome"})
	m.retries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_task_retries_total", Help: "Runs of tasks that were not the first.",
	}, []string{"kind"})
	m.encodeSpeed = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "spool_encode_speed_ratio", Help: "Seconds of film encoded per second, all resolutions of a chunk together.",
		Buckets: []float64{.05, .1, .25, .5, 1, 2, 4, 8, 16, 32, 64},
	})
	m.registry.MustRegister(m.taskDuration, m.retries, m.encodeSpeed)
}

func (m *Metrics) describeVideos() {
	m.uploaded = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "spool_uploaded_bytes_total", Help: "Bytes received at upload addresses.",
	})
	m.served = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "spool_served_bytes_total", Help: "Bytes sent from playback addresses.",
	})
	m.videos = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_videos_finished_total", Help: "Videos that became ready or failed, by status and failure code.",
	}, []string{"status", "code"})
	m.registry.MustRegister(m.uploaded, m.served, m.videos)
}

// Handler serves the numbers. A part that cannot be read is logged and left
// out: half the numbers are better than none while something is broken.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError,
	})
}

// WatchStreams shows how many streams of events are open, as open tells it.
func (m *Metrics) WatchStreams(open func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "spool_event_streams", Help: "Streams of events that are open now.",
	}, func() float64 { return float64(open()) }))
}

// RequestBegan counts a request as in flight until RequestEnded.
func (m *Metrics) RequestBegan() { m.inFlight.Inc() }

// methods lists the methods shown by name; a client can send any word.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// RequestEnded counts an answered request. route is the pattern that matched,
// never a path.
func (m *Metrics) RequestEnded(route, method string, status int, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other"
	}
	m.inFlight.Dec()
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.requestDuration.WithLabelValues(route, method).Observe(took.Seconds())
}

// TaskDone counts one run of a task.
func (m *Metrics) TaskDone(kind queue.Kind, outcome queue.Outcome, took time.Duration) {
	m.taskDuration.WithLabelValues(string(kind), string(outcome)).Observe(took.Seconds())
}

// TaskRetried counts a run of a task that is not its first.
func (m *Metrics) TaskRetried(kind queue.Kind) { m.retries.WithLabelValues(string(kind)).Inc() }

// Encoded tells how long the encoding of a stretch of film took.
func (m *Metrics) Encoded(film, took time.Duration) {
	if took > 0 {
		m.encodeSpeed.Observe(film.Seconds() / took.Seconds())
	}
}

// Uploaded counts bytes received at an upload address.
func (m *Metrics) Uploaded(bytes int64) { m.uploaded.Add(float64(bytes)) }

// Served counts bytes sent from a playback address.
func (m *Metrics) Served(bytes int64) { m.served.Add(float64(bytes)) }

// VideoFinished counts a video that became ready or failed; f is nil for the
// ready ones.
func (m *Metrics) VideoFinished(status video.Status, f *video.Failure) {
	var code video.FailureCode
	if f != nil {
		code = f.Code
	}
	m.videos.WithLabelValues(string(status), string(code)).Inc()
}
