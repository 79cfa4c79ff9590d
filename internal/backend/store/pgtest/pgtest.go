// Package pgtest runs real PostgreSQL servers for tests: one that all tests of a
// test binary share, and others for tests that stop, kill or freeze theirs. On
// a machine without PostgreSQL those tests end as need.Missing says.
//
// A package whose tests use the shared server stops it in its TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/spool-video/spool/test/need"
)

// shared is the server of this test binary. It is the one thing here that
// outlives a test, because making a server takes longer than most tests.
var shared struct {
	sync.Mutex
	stops  bool // Run stops the server when the tests have ended
	server *Server
	err    error
}

// Run runs the tests of a package and stops the shared server, if one was
// needed. It returns the exit status.
func Run(m interface{ Run() int }) int {
	shared.Lock()
	shared.stops = true
	shared.Unlock()
	status := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.remove()
	}
	return status
}

// Fresh returns the URL of an empty database on the shared server. It is dropped
// when the test ends.
func Fresh(t testing.TB) string {
	t.Helper()
	return sharedServer(t).Fresh(t)
}

func sharedServer(t testing.TB) *Server {
	t.Helper()
	needPostgres(t)
	shared.Lock()
	defer shared.Unlock()
	if !shared.stops {
		t.Fatal("the TestMain of this package does not call pgtest.Run: the data of the shared server would stay in memory")
	}
	if shared.server == nil && shared.err == nil {
		// Not the test's context: others use the server when this one has ended.
		shared.server, shared.err = launch(context.WithoutCancel(t.Context()))
	}
	if shared.err != nil {
		t.Fatalf("start PostgreSQL: %v", shared.err)
	}
	return shared.server
}

// needPostgres ends the test on a machine without PostgreSQL.
func needPostgres(t testing.TB) {
	t.Helper()
	if _, err := programs(); err != nil {
		need.Missing(t, "%v", err)
	}
}

// programs returns the folder with initdb and postgres. Debian keeps them away
// from the PATH, one folder for each version.
func programs() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("PostgreSQL")
	}
	return filepath.Dir(slices.Max(found)), nil
}

// Template is a database that is prepared once for all tests of a test binary.
// Copying it is much faster than migrating an empty database for each test.
type Template struct {
	Prepare func(ctx context.Context, url string) error // must leave no connection open

	once sync.Once
	name string
	err  error
}

// Fresh returns the URL of a copy of the template on the shared server. It is
// dropped when the test ends.
func (p *Template) Fresh(t testing.TB) string {
	t.Helper()
	s := sharedServer(t)
	p.once.Do(func() { // other tests use the template, too
		for try := 0; try == 0 || try < 3 && errors.Is(p.err, context.DeadlineExceeded); try++ { // a busy machine answers late
			p.name, p.err = s.prepare(context.WithoutCancel(t.Context()), p.Prepare)
		}
	})
	if p.err != nil {
		t.Fatalf("prepare the template: %v", p.err)
	}
	return s.url(s.create(t, p.name))
}

// prepare makes a database that others are copied from.
func (s *Server) prepare(ctx context.Context, with func(ctx context.Context, url string) error) (name string, err error) {
	name = "template_" + uuid.NewString()
	if err := s.run(ctx, fmt.Sprintf(`CREATE DATABASE %q TEMPLATE template0`, name)+s.strategy()); err != nil {
		return "", err
	}
	return name, with(ctx, s.url(name))
}

// Fresh returns the URL of an empty database on s. It is dropped when the test
// ends.
func (s *Server) Fresh(t testing.TB) string {
	t.Helper()
	return s.url(s.create(t, "template0"))
}

// create makes a database and returns its name.
func (s *Server) create(t testing.TB, template string) string {
	t.Helper()
	name := "test_" + uuid.NewString()
	if err := s.run(t.Context(), fmt.Sprintf(`CREATE DATABASE %q TEMPLATE %q`, name, template)+s.strategy()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A test may have left the server stopped, and its data goes anyway.
		_ = s.run(context.WithoutCancel(t.Context()), fmt.Sprintf(`DROP DATABASE %q WITH (FORCE)`, name))
	})
	return name
}

// run executes a statement on the server's own database. Connections to it are kept for the next statement:
// each new one is a new process of the server.
func (s *Server) run(ctx context.Context, statement string) error {
	if conn := s.idleConn(); conn != nil {
		err := s.runOn(ctx, conn, statement)
		if e, refused := errors.AsType[*pgconn.PgError](err); err == nil || refused && !strings.HasPrefix(e.Code, "57P") {
			return err
		} // the server was stopped in the meantime
	}
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	return s.runOn(ctx, conn, statement)
}

// runOn executes a statement and keeps the connection if that worked.
func (s *Server) runOn(ctx context.Context, conn *pgx.Conn, statement string) error {
	if _, err := conn.Exec(ctx, statement); err != nil {
		return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	s.idleMu.Lock()
	defer s.idleMu.Unlock()
	s.idle = append(s.idle, conn)
	return nil
}

// idleConn returns a connection that an earlier statement has used, or nil.
func (s *Server) idleConn() (conn *pgx.Conn) {
	s.idleMu.Lock()
	defer s.idleMu.Unlock()
	if n := len(s.idle); n > 0 {
		conn, s.idle = s.idle[n-1], s.idle[:n-1]
	}
	return conn
}

// Exec executes a statement on a database, as an operator would.
func Exec(t testing.TB, url, statement string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}
