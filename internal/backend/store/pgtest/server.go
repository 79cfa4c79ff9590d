package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spool-video/spool/test/child"
	"github.com/spool-video/spool/test/need"
)

// nobody is the Unix user that PostgreSQL runs as when the tests run as root, which it refuses.
const nobody = 65534

// pattern begins the names of data directories.
const pattern = "spool-pg-"

// user is the role that owns everything on a server of this package.
const user = "spool"

// Server is a PostgreSQL server on a Unix socket, with a data directory of its
// own that need not survive a power cut.
type Server struct {
	dir  string // holds the data, the socket and the log
	bin  string
	env  []string            // added to the environment of the tests
	drop *syscall.Credential // nil: runs as the user of the tests

	mu     sync.Mutex
	copies string          // see copiesFiles
	main   *os.Process     // the postmaster; nil while the server is stopped
	exited <-chan struct{} // closed when main has gone

	idleMu sync.Mutex
	idle   []*pgx.Conn // to the server's own database; see run
}

// Start returns a running server that belongs to this test alone.
func Start(t testing.TB) *Server {
	t.Helper()
	return start(t)
}

// StartWithClock returns a running server that belongs to this test alone, and
// whose clock is so much ahead of this machine's. On a machine without
// libfaketime the test ends as need.Missing says.
//
// If the clock of a server is behind, timeouts were seen to strike without
// cause now and then, probably because signal handlers are told the true time:
// clients see transient errors.
func StartWithClock(t testing.TB, ahead time.Duration) *Server {
	t.Helper()
	var libraries []string
	for _, pattern := range []string{"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib*/faketime/libfaketime.so.1"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		libraries = append(libraries, found...)
	}
	if len(libraries) == 0 {
		need.Missing(t, "libfaketime")
	}
	// The monotonic clock stays real, so that timers of the server work.
	return start(t, "LD_PRELOAD="+libraries[0], fmt.Sprintf("FAKETIME=%+d", int(ahead.Seconds())),
		"DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1")
}

func start(t testing.TB, env ...string) *Server {
	t.Helper()
	needPostgres(t)
	s, err := launch(t.Context(), env...)
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	t.Cleanup(s.remove)
	return s
}

// launch makes a data directory and starts a server on it.
func launch(ctx context.Context, env ...string) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	// Not t.TempDir: the path of a socket must be shorter than 108 bytes.
	dir, err := os.MkdirTemp(place(), pattern)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, env: env}
	if os.Geteuid() == 0 {
		s.drop = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return nil, err
		}
	}
	if err := s.initdb(ctx, s.data()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.start(ctx); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// initdb makes a data directory.
func (s *Server) initdb(ctx context.Context, to string) error {
	cmd := s.command(ctx, "initdb", "-D", to, "-U", user, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// url is the address of a database on s.
func (s *Server) url(database string) string {
	return (&url.URL{Scheme: "postgres", User: url.User(user), Path: "/" + database, RawQuery: url.Values{"host": {s.dir}}.Encode()}).String()
}

// command prepares a program of PostgreSQL. It does not hear the signals that
// are meant for the tests.
func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(append(os.Environ(), "LC_ALL=C", "HOME="+s.dir), s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.drop, Setpgid: true}
	return cmd
}

// start starts the postmaster and waits until it answers.
func (s *Server) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", s.data(), "-k", s.dir}
	for _, setting := range []string{
		"listen_addresses=", "fsync=off", "full_page_writes=off",
		"max_connections=300", "shared_buffers=64MB", "log_min_messages=fatal",
	} {
		args = append(args, "-c", setting)
	}
	cmd := s.command(context.WithoutCancel(ctx), "postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	if s.exited, err = child.Start(cmd, syscall.SIGQUIT); err != nil {
		return err
	}
	s.main = cmd.Process
	return s.wait(ctx)
}

// errEnded means that a server exited before it answered.
var errEnded = errors.New("PostgreSQL ended at once")

// wait waits until the server answers.
func (s *Server) wait(ctx context.Context) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		if err == nil {
			s.copies = copiesFiles(conn.PgConn().ParameterStatus("server_version"))
			return conn.Close(ctx)
		}
		select {
		case <-s.exited:
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("%w: %s", errEnded, strings.TrimSpace(string(log)))
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		}
	}
}

// strategy ends a statement that creates a database.
func (s *Server) strategy() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copies
}

// end stops the postmaster with a signal and waits until it has gone.
func (s *Server) end(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.main == nil {
		return
	}
	_ = s.main.Signal(sig) // it may have ended by itself
	<-s.exited
	s.main = nil
}

// Stop stops the server as an operator does: it ends all connections.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

// Crash kills the server. What was not committed is lost.
func (s *Server) Crash() { s.end(syscall.SIGQUIT) }

// Start starts a server that was stopped. On a busy machine the processes of one
// that was killed are there for a moment longer, and keep the next one out.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err := s.start(t.Context())
		if err == nil {
			return
		}
		if !errors.Is(err, errEnded) || time.Now().After(deadline) {
			t.Fatalf("start PostgreSQL again: %v", err)
		}
	}
}

// remove stops the server and removes its data.
func (s *Server) remove() {
	s.Crash()
	_ = os.RemoveAll(s.dir) // in the temporary folder, at worst until the next boot
}

// copiesFiles returns the option of CREATE DATABASE that has the files of a template copied, as all versions
// below 15 do. Newer ones send every page through the log, which takes twice the time.
func copiesFiles(version string) string {
	if major, _, _ := strings.Cut(version, "."); len(major) < 2 || major < "15" {
		return ""
	}
	return " STRATEGY file_copy"
}
