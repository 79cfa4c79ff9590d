package packaging

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
)

// waitLimit is how long anything may take that must happen.
const waitLimit = 2 * time.Minute

// TestFleetInContainers runs the services of the compose file with podman, as far as one network
// namespace without an outside allows: PostgreSQL, the S3 server, an API process and a worker, with
// all their limits. It sends a film through and looks at what the processes may do.
func TestFleetInContainers(t *testing.T) {
	if os.Getenv("SPOOL_TEST_CONTAINER") != "1" {
		t.Skip("long: builds images and runs containers (make test-long SUITE=container runs it)")
	}
	for _, program := range []string{"podman", "buildah", "mmdebstrap", "nsenter", "curl", "ffmpeg"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("missing: %s (scripts/install-deps.sh container installs it)", program)
		}
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	project, err := compose(t, secrets)
	if err != nil {
		t.Fatal(err)
	}
	buildImages(t, repository)
	f := &containers{t: t, project: project, hosts: filepath.Join(t.TempDir(), "hosts")}
	if err := os.WriteFile(f.hosts, []byte("127.0.0.1 localhost postgres s3 api worker\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.remove)
	f.remove() // of a run that was interrupted
	f.start("postgres", nil)
	f.await("PostgreSQL", func() bool {
		check := project.Services["postgres"].HealthCheck.Test // "CMD", and the command
		_, err := tryRun(t.Context(), "podman", append([]string{"exec", f.name("postgres")}, check[1:]...)...)
		return err == nil
	})
	f.start("s3", nil)
	f.start("api", nil)
	f.start("worker", map[string]string{"SPOOL_LISTEN": ":8081"}) // all share a network here
	inside := []string{"--net=/proc/" + f.pid("postgres") + "/ns/net"}
	f.await("the worker", func() bool {
		out, err := tryRun(t.Context(), "nsenter", append(inside, "curl", "-fsS", "http://localhost:8081/readyz")...)
		return err == nil && strings.Contains(out, "seccomp=on") && strings.Contains(out, "rlimits=on")
	})
	out, err := tryRun(t.Context(), "nsenter", append(inside, "sh", filepath.Join(repository, "scripts", "send-film.sh"), "http://localhost:8080", secrets["SPOOL_API_KEY"])...)
	if err != nil {
		t.Errorf("the film did not go through: %v\n%s", err, out)
		f.logs()
	}
	t.Log(out)
	for _, service := range inOrder {
		f.checkConfined(service)
	}
	run(t, "podman", "stop", "--time", "30", f.name("worker"), f.name("api"))
	for _, service := range []string{"worker", "api"} {
		if code := f.inspect(service, "{{.State.ExitCode}}"); code != "0" {
			t.Errorf("%s ended with %s after a SIGTERM", service, code)
		}
	}
}

// inOrder are the services that the test runs.
var inOrder = []string{"postgres", "s3", "api", "worker"}

// containers are those of the test.
type containers struct {
	t       *testing.T
	project *types.Project
	hosts   string // a file with the names of the services
}

func (f *containers) name(service string) string { return "spool-test-" + service }

func (f *containers) inspect(service, what string) string {
	f.t.Helper()
	return run(f.t, "podman", "inspect", "--format", what, f.name(service))
}

func (f *containers) pid(service string) string {
	f.t.Helper()
	return f.inspect(service, "{{.State.Pid}}")
}

// start runs a service with the options of the compose file. The first one has the network that
// the others join.
func (f *containers) start(service string, env map[string]string) {
	f.t.Helper()
	s := f.project.Services[service]
	args := append(runtime(), "run", "--detach", "--name", f.name(service), "--pull", "never")
	if service == "postgres" {
		args = append(args, "--network", "none")
	} else {
		args = append(args, "--network", "container:"+f.name("postgres"))
	}
	args = append(args, "--no-hosts", "--volume", f.hosts+":/etc/hosts:ro")
	args = append(append(args, rlimits(f.t)...), options(f.t, s)...)
	for name, value := range env {
		args = append(args, "--env", name+"="+value)
	}
	run(f.t, "podman", append(append(args, standIns[s.Image]), s.Command...)...)
}

// runtime names runc where it is installed: crun does not run on machines that have control groups
// of both versions.
func runtime() []string {
	if _, err := exec.LookPath("runc"); err == nil {
		return []string{"--runtime", "runc"}
	}
	return nil
}

// rlimits are limits that need no privilege to be set: podman's own are higher than those of the
// machine that the test may run in.
func rlimits(t *testing.T) []string {
	t.Helper()
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	return []string{"--ulimit", fmt.Sprintf("nofile=%d:%[1]d", files.Max), "--ulimit", "nproc=4096:4096"}
}

// options are those of podman for what the compose file says about a service.
func options(t *testing.T, s types.ServiceConfig) []string {
	t.Helper()
	args := []string{
		fmt.Sprintf("--read-only=%t", s.ReadOnly), "--read-only-tmpfs=false",
		"--memory", fmt.Sprint(int64(s.MemLimit)), "--pids-limit", fmt.Sprint(s.PidsLimit),
	}
	add := func(flag string, values ...string) {
		for _, v := range values {
			args = append(args, flag, v)
		}
	}
	add("--cap-drop", s.CapDrop...)
	add("--cap-add", s.CapAdd...)
	add("--security-opt", s.SecurityOpt...)
	add("--tmpfs", s.Tmpfs...)
	for name, value := range s.Environment {
		add("--env", name+"="+*value)
	}
	for _, v := range s.Volumes {
		if v.Source == "" {
			add("--volume", v.Target)
		} else {
			add("--volume", "spool-test-"+v.Source+":"+v.Target)
		}
	}
	if s.User != "" {
		add("--user", s.User)
	}
	if s.ShmSize > 0 {
		add("--shm-size", fmt.Sprint(int64(s.ShmSize)))
	}
	if len(s.Entrypoint) > 0 {
		entry, err := json.Marshal(s.Entrypoint)
		if err != nil {
			t.Fatal(err)
		}
		add("--entrypoint", string(entry))
	}
	return args
}

// logs shows what the services have said last.
func (f *containers) logs() {
	f.t.Helper()
	for _, service := range inOrder {
		if out, err := tryRun(f.t.Context(), "podman", "logs", "--tail", "20", f.name(service)); err == nil {
			f.t.Logf("%s:\n%s", service, out)
		}
	}
}

func (f *containers) await(what string, reached func() bool) {
	f.t.Helper()
	for began := time.Now(); !reached(); time.Sleep(200 * time.Millisecond) {
		if time.Since(began) > waitLimit {
			f.logs()
			f.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// checkConfined looks at the first process of a container, and at its root.
func (f *containers) checkConfined(service string) {
	f.t.Helper()
	status, err := os.ReadFile("/proc/" + f.pid(service) + "/status")
	if err != nil {
		f.t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	for name, want := range map[string]string{"CapEff": "0000000000000000", "CapBnd": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"} {
		if fields[name] != want {
			f.t.Errorf("%s: %s is %s; want %s", service, name, fields[name], want)
		}
	}
	if service != "s3" && strings.HasPrefix(fields["Uid"], "0\t") {
		f.t.Errorf("%s runs as root", service)
	}
	if out, err := tryRun(f.t.Context(), "podman", "exec", "--user", "0", f.name(service), "touch", "/planted"); err == nil || !strings.Contains(out, "Read-only") {
		f.t.Errorf("%s: its root can be written: %v %s", service, err, out)
	}
}

// remove removes the containers and their volumes.
func (f *containers) remove() {
	for _, service := range []string{"worker", "api", "s3", "postgres"} {
		_ = exec.Command("podman", "rm", "--force", "--volumes", "--time", "2", f.name(service)).Run()
	}
	_ = exec.Command("podman", "volume", "rm", "--force", "spool-test-postgres", "spool-test-objects").Run()
}
