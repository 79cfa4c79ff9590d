package cluster

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/test/need"
)

// apiKey is the bootstrap key of every fleet.
const apiKey = "cluster-bootstrap-key-0123456789ab"

// fleet is a whole Spool: one database, one bucket, and processes that share
// them. Its methods end the test when something that the caller takes for
// granted does not happen; those that customers use return errors instead.
type fleet struct {
	t        testing.TB
	postgres *pgtest.Server // nil: the one that all tests share
	db       string         // address of the database
	workerDB string         // the same for a user who sees no keys; "" until the first worker asks
	s3       *s3test.Server
	bucket   string
	objects  string // the folder with the objects
	front    *door  // how the customers reach the storage
	apis     []*node
	workers  []*node
	turn     atomic.Int64 // of the load balancer
	measured bool         // see extras
}

// newFleet returns a fleet without processes, on the database server that the
// tests share.
func newFleet(t testing.TB) *fleet {
	t.Helper()
	return assemble(t, &fleet{t: t, db: pgtest.Fresh(t)})
}

// newFleetWithPostgres returns a fleet whose database server is its own.
func newFleetWithPostgres(t testing.TB) *fleet {
	t.Helper()
	return newFleetOn(t, pgtest.Start(t))
}

func newFleetOn(t testing.TB, server *pgtest.Server) *fleet {
	t.Helper()
	return assemble(t, &fleet{t: t, postgres: server, db: server.Fresh(t)})
}

func assemble(t testing.TB, f *fleet) *fleet {
	t.Helper()
	f.s3 = s3test.Start(t)
	f.bucket = f.s3.Bucket(t)
	f.objects = filepath.Join(f.s3.Dir, f.bucket, "films")
	f.front = newDoor(t, f.s3)
	return f
}

// option changes how a node runs.
type option func(*node)

// withEnv sets an environment variable of a node.
func withEnv(name, value string) option { return func(n *node) { n.env[name] = value } }

// withDir lets a node work in a data directory of the caller's.
func withDir(dir string) option { return func(n *node) { n.dir = dir } }

// withLine lets a node reach the database through a proxy.
func withLine(t testing.TB, f *fleet) option {
	return func(n *node) {
		n.line = pgtest.NewProxy(t, f.db)
		n.env["SPOOL_DATABASE_URL"] = n.line.URL()
	}
}

// extras reports whether finished videos are compared with their sources, and get a storyboard and a
// preview. Usually only those tests have them that ask for it.
func (f *fleet) extras() bool { return need.Long() || f.measured }

// api starts a process that answers requests. All of them are started before the
// first customer comes.
func (f *fleet) api(options ...option) *node {
	f.t.Helper()
	n := f.node("api", len(f.apis), options)
	n.start()
	f.apis = append(f.apis, n)
	go n.watch(f.t.Context())
	return n
}

// worker starts a process that does one task at a time.
func (f *fleet) worker(options ...option) *node {
	f.t.Helper()
	if len(f.apis) > 0 { // the tables are there
		options = append([]option{withEnv("SPOOL_DATABASE_URL", f.workersDatabase())}, options...)
	}
	n := f.node("worker", len(f.workers), options)
	n.start()
	f.workers = append(f.workers, n)
	return n
}

// workersDatabase returns the address of the database for a user with the rights that the guide
// gives to workers.
func (f *fleet) workersDatabase() string {
	f.t.Helper()
	if f.workerDB != "" {
		return f.workerDB
	}
	guide, err := os.ReadFile("../../docs/database.md")
	if err != nil {
		f.t.Fatal(err)
	}
	_, statements, found := strings.Cut(string(guide), "CREATE ROLE spool_worker LOGIN PASSWORD '…';")
	statements, _, _ = strings.Cut(statements, "```")
	if !found || !strings.Contains(statements, "REVOKE") {
		f.t.Fatal("docs/database.md does not say which rights a worker needs")
	}
	user := "worker_" + strings.ReplaceAll(uuid.NewString(), "-", "") // of all databases of the server
	pgtest.Exec(f.t, f.db, "CREATE ROLE "+user+" LOGIN")
	pgtest.Exec(f.t, f.db, strings.ReplaceAll(statements, "spool_worker", user))
	address, err := url.Parse(f.db)
	if err != nil {
		f.t.Fatal(err)
	}
	address.User = url.User(user)
	f.workerDB = address.String()
	return f.workerDB
}

// node prepares a process.
func (f *fleet) node(role string, number int, options []option) *node {
	f.t.Helper()
	n := &node{t: f.t, name: fmt.Sprintf("%s %d", role, number), binary: lab.binary, dir: filepath.Join(f.t.TempDir(), "data"), door: newDoor(f.t, f.s3)}
	n.env = map[string]string{
		"SPOOL_ROLE":         role,
		"SPOOL_LISTEN":       "127.0.0.1:0",
		"SPOOL_LOG_LEVEL":    "debug",
		"SPOOL_LOG_FORMAT":   "json",
		"SPOOL_QUALITY":      "fast",
		"SPOOL_WORKERS":      "1",
		"SPOOL_FFMPEG_NICE":  "0", // tests run side by side, and none should starve
		"SPOOL_DATABASE_URL": f.db,
		"SPOOL_STORAGE_URL": fmt.Sprintf("s3://%s/films?region=%s&endpoint=%s&public_endpoint=%s&path_style=true",
			f.bucket, s3test.Region, n.door.URL, f.front.URL),
	}
	if role == "api" {
		n.env["SPOOL_API_KEY"] = apiKey
	}
	if !f.extras() {
		n.env["SPOOL_MEASURE_QUALITY"] = "false" // a third of the work, and of no interest to most faults
		n.env["SPOOL_PICTURES"] = "false"
	}
	for _, variable := range f.s3.Environment() {
		name, value, _ := strings.Cut(variable, "=")
		n.env[name] = value
	}
	for _, o := range options {
		o(n)
	}
	f.t.Cleanup(n.end)
	return n
}

// nodes returns all processes.
func (f *fleet) nodes() []*node { return append(append([]*node{}, f.apis...), f.workers...) }

// weather gives all doors to the storage the same manners.
func (f *fleet) weather(m manner) {
	f.front.set(m)
	for _, n := range f.nodes() {
		n.door.set(m)
	}
}

// cutStorage ends all that is under way to the storage and shuts the doors.
func (f *fleet) cutStorage() {
	f.front.cut()
	for _, n := range f.nodes() {
		n.door.cut()
	}
}
