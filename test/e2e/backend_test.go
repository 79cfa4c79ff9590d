package e2e

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/internal/backend/queue/river"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/test/need"
)

// onFleet reports whether the tests run on the back ends of many machines,
// PostgreSQL and S3, rather than on those of one. make test runs them on both.
func onFleet() bool { return os.Getenv("SPOOL_TEST_BACKEND") == "fleet" }

// oneMachineOnly skips a test of what only the local disk or SQLite does.
func oneMachineOnly(t testing.TB, why string) {
	t.Helper()
	if onFleet() {
		t.Skip("not on PostgreSQL and S3: " + why)
	}
}

// oneBackend skips a test on a fleet when its outcome does not depend on where
// rows, tasks and objects are kept. why says who decides it, or which other test
// covers what a fleet does differently.
func oneBackend(t testing.TB, why string) {
	t.Helper()
	if onFleet() {
		t.Skip("once is enough: " + why)
	}
}

// usuallyOneBackend is oneBackend for a test that may yet find something on a fleet:
// make test-long runs it there.
func usuallyOneBackend(t testing.TB, why string) {
	t.Helper()
	if onFleet() {
		need.TimeFor(t, "on PostgreSQL and S3; "+why)
	}
}

// fleetOnly skips a test of what only PostgreSQL and S3 do.
func fleetOnly(t testing.TB) {
	t.Helper()
	if !onFleet() {
		t.Skip("needs a bucket: run it with SPOOL_TEST_BACKEND=fleet")
	}
}

// byBackend chooses what a test expects.
func byBackend[T any](oneMachine, fleet T) T {
	if onFleet() {
		return fleet
	}
	return oneMachine
}

// proxied has videos served by the server itself, on both back ends.
func proxied() option { return withEnv("SPOOL_PLAYBACK", "proxy") }

// bucket is where the objects of a server on S3 lie.
type bucket struct {
	url    string // what the addresses of its objects begin with
	secret string // signs them
	name   string
	server *s3test.Server
}

// migrated is a database as the first start of a server leaves it, but for its identity: copying one costs less than
// migrating an empty one for each server. The fleets of test/cluster start with empty ones.
var migrated = pgtest.Template{Prepare: func(ctx context.Context, url string) error {
	db, err := store.OpenPostgres(ctx, url)
	if err != nil {
		return err
	}
	_, err = river.Open(ctx, db, river.Options{})
	return errors.Join(err, db.Close())
}}

// useFleet gives the server a database and a bucket of its own.
func (s *server) useFleet() {
	s.t.Helper()
	files := together.bucket.get(s.t, s3test.Start)
	name := files.Bucket(s.t)
	s.bucket = bucket{url: files.Endpoint + "/" + name + "/films/", secret: files.SecretKey, name: name, server: files}
	s.objectsDir = filepath.Join(files.Dir, name, "films")
	s.env["SPOOL_STORAGE_URL"] = files.URL(name, "films")
	s.env["SPOOL_DATABASE_URL"] = migrated.Fresh(s.t)
	s.env["SPOOL_TEST_HEARTBEAT"] = heartbeat.String()
	for _, variable := range files.Environment() {
		name, value, _ := strings.Cut(variable, "=")
		s.env[name] = value
	}
}

// uploadsAt is what upload addresses begin with.
func (s *server) uploadsAt() string { return byBackend(s.url+"/upload/", s.bucket.url+"upload/") }

// sweep has a server that shares its work with others look at every object now
// rather than within the hour. A server of its own does so at each start.
func (s *server) sweep() {
	s.t.Helper()
	s.stop()
	if onFleet() {
		pgtest.Exec(s.t, s.env["SPOOL_DATABASE_URL"], `DELETE FROM periodic_job WHERE name = 'sweep'`)
	}
	s.restart()
}

// heartbeat is the interval of the heartbeats on a fleet, less than the usual 5 s,
// with which test/cluster tests. A process is dead when it has missed three.
const heartbeat = 2 * time.Second

// resumeLimit is how long the task of a killed server may lie before it runs
// again. One machine knows at the next start that nobody else does it; a fleet
// has to wait until the dead process has missed its heartbeats. A minute is for
// starting a server on a very busy machine.
func resumeLimit() time.Duration { return byBackend(0, 3*heartbeat) + time.Minute }

// overlapWaits runs more tests at once than there are cores, unless the caller
// said how many. Many tests spend much of their time waiting: for a task that is
// held, an address that expires or a dead process that misses its heartbeats.
func overlapWaits() {
	const parallel = "test.parallel"
	chosen := false
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == parallel })
	if !chosen {
		_ = flag.Set(parallel, strconv.Itoa(2*runtime.GOMAXPROCS(0))) // a number is what it wants
	}
}
