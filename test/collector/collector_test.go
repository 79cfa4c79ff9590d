package collector

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

const (
	repository = "../.."
	apiKey     = "collector-key-0123456789abcdef"
	// waitLimit is how long anything may take that must happen.
	waitLimit = 2 * time.Minute
	completed = "POST /api/video/{id}/complete-upload"
	fileName  = "secret-name.mp4"
)

// TestTheCollectorSeesOneTrace sends a video through the built program. The collector's receiver, with the
// configuration of the handbook, sees one trace from the request through the tasks to ffmpeg.
func TestTheCollectorSeesOneTrace(t *testing.T) {
	for _, program := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("missing: %s (scripts/install-deps.sh run installs it)", program)
		}
	}
	sink := new(consumertest.TracesSink)
	endpoint := receive(t, sink)
	server := startSpool(t, endpoint)
	film := filepath.Join(t.TempDir(), fileName)
	run(t, nil, "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i", "sine",
		"-t", "2", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", film)
	run(t, []string{"SPOOL_SERVER=" + server.url, "SPOOL_API_KEY=" + apiKey, "HOME=" + t.TempDir()}, server.binary, "upload", film, "--resolutions=144p", "--wait")
	var spans map[string]span
	await(t, "the trace", func() (err error) { spans, err = traceOf(sink.AllTraces()); return err })
	for _, s := range spans {
		checkSpan(t, s, spans)
	}
	server.stop()
	if text := server.output(); strings.Contains(text, "traces cannot be sent") {
		t.Errorf("the collector refused something:\n%s", text)
	}
	t.Logf("%d spans in the trace of the upload, %d in all", len(spans), sink.SpanCount())
}

// receive starts the receiver and returns its URL.
func receive(t *testing.T, sink *consumertest.TracesSink) string {
	t.Helper()
	for try := 0; ; try++ {
		config := handbookConfig(t)
		// The receiver does not tell which port it got, so that one is chosen here, which somebody else may take meanwhile.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		config.Protocols.HTTP.Get().ServerConfig.NetAddr.Endpoint = address
		r, err := otlpreceiver.NewFactory().CreateTraces(t.Context(), receivertest.NewNopSettings(otlpreceiver.NewFactory().Type()), config, sink)
		if err != nil {
			t.Fatal(err)
		}
		if err = r.Start(t.Context(), componenttest.NewNopHost()); err == nil {
			t.Cleanup(func() { _ = r.Shutdown(t.Context()) }) // the test has said what it had to
			return "http://" + address
		}
		if try == 5 {
			t.Fatal(err)
		}
	}
}

// handbookConfig reads the configuration of a collector that docs/monitoring.md shows, as a collector does.
func handbookConfig(t *testing.T) *otlpreceiver.Config {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(repository, "docs/monitoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(receivers:\n.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatal("docs/monitoring.md shows no configuration of a collector")
	}
	text, err := confmap.NewRetrievedFromYAML(m[1])
	if err != nil {
		t.Fatal(err)
	}
	whole, err := text.AsConf()
	if err != nil {
		t.Fatal(err)
	}
	part, err := whole.Sub("receivers::otlp")
	if err != nil {
		t.Fatal(err)
	}
	config := otlpreceiver.NewFactory().CreateDefaultConfig().(*otlpreceiver.Config)
	if err := part.Unmarshal(config); err != nil {
		t.Fatalf("the configuration in docs/monitoring.md: %v", err)
	}
	if err := confmap.Validate(config); err != nil || !config.Protocols.HTTP.HasValue() {
		t.Fatalf("the configuration in docs/monitoring.md takes no OTLP over HTTP: %v", err)
	}
	return config
}

// span is a span with what the collector knows of its origin.
type span struct {
	ptrace.Span
	service any
}

// traceOf returns the spans of the trace in which the upload was completed, by their ids, or says what it lacks.
func traceOf(received []ptrace.Traces) (map[string]span, error) {
	all, root := map[string]span{}, span{}
	for _, batch := range received {
		for _, of := range batch.ResourceSpans().All() {
			service := of.Resource().Attributes().AsRaw()["service.name"]
			for _, scope := range of.ScopeSpans().All() {
				for _, s := range scope.Spans().All() {
					if all[s.SpanID().String()] = (span{s, service}); s.Name() == completed {
						root = span{s, service}
					}
				}
			}
		}
	}
	if root.service == nil {
		return nil, fmt.Errorf("the collector saw no %s", completed)
	}
	spans, names := map[string]span{}, map[string]bool{}
	for id, s := range all {
		if s.TraceID() == root.TraceID() {
			spans[id], names[s.Name()] = s, true
		}
	}
	for _, name := range []string{"task inspect", "task encode", "task assemble", "ffprobe", "ffmpeg"} {
		if !names[name] {
			return nil, fmt.Errorf("the collector saw no %s in the trace", name)
		}
	}
	for _, s := range spans {
		if _, seen := spans[s.ParentSpanID().String()]; !seen && s.Name() != completed {
			return nil, fmt.Errorf("the collector saw no parent of %s", s.Name())
		}
	}
	return spans, nil
}

// checkSpan compares a span with what it must be under its parent.
func checkSpan(t *testing.T, s span, all map[string]span) {
	t.Helper()
	above := "" // the name of its parent
	if s.Name() != completed {
		above = all[s.ParentSpanID().String()].Name()
	}
	task := strings.HasPrefix(s.Name(), "task ")
	switch underTask := strings.HasPrefix(above, "task "); {
	case s.Name() == completed:
		if !s.ParentSpanID().IsEmpty() || s.Kind() != ptrace.SpanKindServer {
			t.Errorf("%s has the parent %s and the kind %s", s.Name(), s.ParentSpanID(), s.Kind())
		}
	case s.Name() == "task inspect" && above != completed, task && above != completed && !underTask, !task && !underTask:
		t.Errorf("%s has the parent %s", s.Name(), above)
	case task && s.Kind() != ptrace.SpanKindConsumer:
		t.Errorf("%s has the kind %s", s.Name(), s.Kind())
	}
	if s.service != "spool" || s.Status().Code() == ptrace.StatusCodeError || s.EndTimestamp() < s.StartTimestamp() {
		t.Errorf("%s of service %v has the status %s (%s), from %s to %s", s.Name(), s.service, s.Status().Code(), s.Status().Message(), s.StartTimestamp(), s.EndTimestamp())
	}
	if text := fmt.Sprint(s.Attributes().AsRaw()); strings.Contains(text, fileName) || strings.Contains(text, apiKey) || strings.Contains(text, "://") {
		t.Errorf("%s tells too much: %s", s.Name(), text)
	}
}

// spool is a running server.
type spool struct {
	t           *testing.T
	cmd         *exec.Cmd
	binary, url string
	mu          sync.Mutex
	out         bytes.Buffer
}

// Write takes what the server prints.
func (s *spool) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

func (s *spool) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// startSpool builds the program and runs it with traces to the endpoint.
func startSpool(t *testing.T, endpoint string) *spool {
	t.Helper()
	dir := t.TempDir()
	s := &spool{t: t, binary: filepath.Join(dir, "spool")}
	run(t, nil, "go", "build", "-C", repository, "-o", s.binary, "./cmd/spool")
	s.cmd = exec.Command(s.binary, "serve")
	s.cmd.Dir = dir // so that no spool.toml is found by chance
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SPOOL_DATA_DIR=" + filepath.Join(dir, "data"), "SPOOL_LISTEN=127.0.0.1:0",
		"SPOOL_API_KEY=" + apiKey, "SPOOL_QUALITY=fast", "SPOOL_PICTURES=false", "SPOOL_MEASURE_QUALITY=false", "OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_BSP_SCHEDULE_DELAY=200"}
	s.cmd.Stdout, s.cmd.Stderr = s, s
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
		if t.Failed() {
			t.Log(s.output())
		}
	})
	await(t, "the server", func() error {
		m := regexp.MustCompile(`Spool listens on (http://\S+)`).FindStringSubmatch(s.output())
		if m == nil {
			return fmt.Errorf("it does not say where it listens")
		}
		s.url = m[1]
		return nil
	})
	return s
}

// stop ends the server as an operator would.
func (s *spool) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v", err)
	}
}

func run(t *testing.T, env []string, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// await waits until something has no error.
func await(t *testing.T, what string, try func() error) {
	t.Helper()
	err := try()
	for deadline := time.Now().Add(waitLimit); err != nil && time.Now().Before(deadline); err = try() {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatalf("waited in vain for %s: %v", what, err)
	}
}
