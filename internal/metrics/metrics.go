// Package metrics counts what an operator wants to see, for Prometheus. Each set has a
// registry of its own, so nothing is global and tests can make as many sets as they like.
// Labels come only from fixed lists: no client can create new series.
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
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/video"
)

// Metrics is one set of metrics. All methods may be called concurrently.
type Metrics struct {
	registry *prometheus.Registry

	requests        *prometheus.CounterVec
	requestDuration *prometheus.HistogramVec
	firstByte       *prometheus.HistogramVec
	inFlight        prometheus.Gauge

	taskDuration *prometheus.HistogramVec
	retries      *prometheus.CounterVec
	encodeSpeed  prometheus.Histogram

	uploaded prometheus.Counter
	served   *prometheus.CounterVec
	videos   *prometheus.CounterVec

	spansDropped prometheus.Counter

	webhookTries    *prometheus.CounterVec
	webhookDuration prometheus.Histogram

	importsRunning prometheus.Gauge
	imports        *prometheus.CounterVec
	cdnPurges      *prometheus.CounterVec

	plays plays
}

// New returns a set for a program of this version.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.addInfo("spool_build_info", "Always 1; the version is in the label.", "version", version)
	m.describeRequests()
	m.describeTasks()
	m.describeVideos()
	m.describeWebhooks()
	m.describeImports()
	m.describeCDN()
	m.describeAudience()
	return m
}

// Sandboxed shows how ffmpeg is confined; level names the layers in use.
func (m *Metrics) Sandboxed(level string) {
	m.addInfo("spool_sandbox_info", "Always 1; how ffmpeg is confined is in the label.", "level", level)
}

// addInfo adds a metric that is always 1, for the sake of its label.
func (m *Metrics) addInfo(name, help, label, value string) {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: prometheus.Labels{label: value}})
	g.Set(1)
	m.registry.MustRegister(g)
}

func (m *Metrics) describeRequests() {
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_http_requests_total", Help: "Answered requests, by route, method and status.",
	}, []string{"route", "method", "status"})
	m.requestDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "spool_http_request_duration_seconds", Help: "Time from the header of a request to the end of its response.",
		Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600},
	}, []string{"route", "method"})
	m.inFlight = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "spool_http_requests_in_flight", Help: "Requests that are being answered.",
	})
	m.firstByte = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "spool_http_first_byte_seconds", Help: "Time from the header of a request to the first byte of a successful response, by what is sent.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"kind"})
	m.spansDropped = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "spool_trace_spans_dropped_total", Help: "Spans of traces that did not reach the collector.",
	})
	m.registry.MustRegister(m.requests, m.requestDuration, m.firstByte, m.inFlight, m.spansDropped)
}

func (m *Metrics) describeTasks() {
	m.taskDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "spool_task_duration_seconds", Help: "Duration of one attempt at a task, by kind and outcome.",
		Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600},
	}, []string{"kind", "outcome"})
	m.retries = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_task_retries_total", Help: "Attempts at tasks after the first one, by kind.",
	}, []string{"kind"})
	m.encodeSpeed = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "spool_encode_speed_ratio", Help: "Seconds of video encoded per second, all resolutions of a chunk together.",
		Buckets: []float64{.05, .1, .25, .5, 1, 2, 4, 8, 16, 32, 64},
	})
	for _, kind := range pipeline.Kinds() {
		m.retries.WithLabelValues(string(kind)) // shown also while there are none
	}
	m.registry.MustRegister(m.taskDuration, m.retries, m.encodeSpeed)
}

func (m *Metrics) describeVideos() {
	m.uploaded = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "spool_uploaded_bytes_total", Help: "Bytes received at upload URLs.",
	})
	m.served = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_served_bytes_total", Help: "Bytes sent in responses, by what was sent. What a bucket or a CDN sends is not counted.",
	}, []string{"kind"})
	for _, k := range Contents { // shown also while there are none
		m.served.WithLabelValues(string(k))
		m.firstByte.WithLabelValues(string(k))
	}
	m.videos = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "spool_videos_finished_total", Help: "Videos that became ready or failed, by status and failure code.",
	}, []string{"status", "code"})
	m.videos.WithLabelValues(string(video.Ready), "")
	m.registry.MustRegister(m.uploaded, m.served, m.videos)
}

// Handler serves the metrics. A metric that cannot be read is logged and left out:
// some metrics are better than none while something is broken.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError,
	})
}

// WatchStreams shows how many event streams are open, as open reports it.
func (m *Metrics) WatchStreams(open func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "spool_event_streams", Help: "Event streams that are open.",
	}, func() float64 { return float64(open()) }))
}

// RequestBegan counts a request as in flight until RequestEnded.
func (m *Metrics) RequestBegan() { m.inFlight.Inc() }

// methods are the ones shown by name; a client can send any word.
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

// TaskDone counts one attempt at a task.
func (m *Metrics) TaskDone(kind queue.Kind, outcome queue.Outcome, took time.Duration) {
	m.taskDuration.WithLabelValues(string(kind), string(outcome)).Observe(took.Seconds())
}

// TaskRetried counts an attempt at a task that is not the first.
func (m *Metrics) TaskRetried(kind queue.Kind) { m.retries.WithLabelValues(string(kind)).Inc() }

// Encoded records how long the encoding of some length of video took.
func (m *Metrics) Encoded(length, took time.Duration) {
	if took > 0 {
		m.encodeSpeed.Observe(length.Seconds() / took.Seconds())
	}
}

// SpansDropped counts spans of traces that were not sent.
func (m *Metrics) SpansDropped(n int) { m.spansDropped.Add(float64(n)) }

// Uploaded counts bytes received at an upload URL.
func (m *Metrics) Uploaded(bytes int64) { m.uploaded.Add(float64(bytes)) }

// Served counts a response: its bytes, and if it was successful and had any, the time
// until the first of them.
func (m *Metrics) Served(kind Content, bytes int64, firstByte time.Duration) {
	m.served.WithLabelValues(string(kind)).Add(float64(bytes))
	if firstByte > 0 {
		m.firstByte.WithLabelValues(string(kind)).Observe(firstByte.Seconds())
	}
}

// VideoFinished counts a video that became ready or failed; f is nil if it is
// ready.
func (m *Metrics) VideoFinished(status video.Status, f *video.Failure) {
	var code video.FailureCode
	if f != nil {
		code = f.Code
	}
	m.videos.WithLabelValues(string(status), string(code)).Inc()
}
