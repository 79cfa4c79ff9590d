package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/test/child"
	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// nginx is a running nginx that serves one configuration.
type nginx struct {
	url, dir string
	pid      int
}

// startNginx runs nginx in a folder of its own until the test ends. locations is
// what stands inside of its only server block, http what stands beside it. $DIR
// in both is the folder.
func startNginx(t testing.TB, http, locations string) *nginx {
	t.Helper()
	return startNginxOn(t, freeAddress(t), http, locations)
}

// startNginxOn is startNginx with an address to listen on: HOST:PORT, or unix:PATH.
func startNginxOn(t testing.TB, address, http, locations string) *nginx {
	t.Helper()
	program := need.Program(t, "nginx", "/usr/sbin/nginx")
	dir := t.TempDir()
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // its workers could not read the files of the test
	}
	expand := func(s string) string {
		return os.Expand(s, func(name string) string {
			if name == "DIR" {
				return dir
			}
			return "$" + name // a variable of nginx
		})
	}
	config := fmt.Sprintf(`%s
daemon off;
pid %[2]s/pid;
worker_processes auto;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 100000000;
  client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy;
  fastcgi_temp_path %[2]s/fastcgi; uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;
  %[3]s
  server { listen %[4]s; client_max_body_size 0; %[5]s }
}
`, user, dir, expand(http), address, expand(locations))
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", file, "-e", filepath.Join(dir, "error.log"))
	said := new(rig.Transcript)
	cmd.Stdout, cmd.Stderr = said, said
	exited, err := child.Start(cmd, syscall.SIGTERM)
	if err != nil {
		t.Fatalf("start nginx: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // its workers end with it
		<-exited
		if log, err := os.ReadFile(filepath.Join(dir, "error.log")); t.Failed() && err == nil {
			t.Logf("nginx says: %s%s", said.Tail(20), log)
		}
	})
	waitListening(t, address, exited)
	return &nginx{url: "http://" + address, dir: dir, pid: cmd.Process.Pid}
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// waitListening waits until somebody listens on an address.
func waitListening(t testing.TB, address string, exited <-chan struct{}) {
	t.Helper()
	for end := time.Now().Add(startTimeout * 2); ; {
		network := "tcp"
		path, isPath := strings.CutPrefix(address, "unix:")
		if isPath {
			network = "unix"
		}
		conn, err := net.Dial(network, path)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-exited:
			t.Fatalf("nothing listens on %s: the program has ended", address)
		case <-time.After(pollPause):
		}
		if time.Now().After(end) {
			t.Fatalf("nothing listens on %s: %v", address, err)
		}
	}
}
