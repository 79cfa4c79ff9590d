package e2e

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/test/rig"
)

// together is what the tests of this run share: a server, a browser, and on a fleet
// the S3 server of all buckets.
var together struct {
	server  once[*server]
	bucket  once[*s3test.Server]
	browser oneBrowser
	tenants atomic.Int64
}

// closeShared ends what is shared.
func closeShared() {
	together.browser.close()
	together.server.close()
	together.bucket.close()
}

// once is started by the first test that needs it.
type once[T any] struct {
	mu      sync.Mutex
	session *rig.Session
	value   T
	started bool
}

// get returns what start returns, which is called unless it was.
func (o *once[T]) get(t testing.TB, start func(testing.TB) T) T {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.session == nil {
		o.session = rig.NewSession(t, lab.dir)
		o.value = start(o.session)
		o.started = true
	}
	if !o.started {
		if reason := o.session.SkipReason(); reason != "" {
			t.Skip(reason)
		}
		t.Fatal("what the tests share did not start; the first test that needed it says why")
	}
	return o.value
}

// lacking is a test that notes how it ends.
type lacking struct {
	testing.TB
	skipped, failed string
}

func (l *lacking) Skip(args ...any)  { l.skipped = fmt.Sprint(args...); runtime.Goexit() }
func (l *lacking) Fatal(args ...any) { l.failed = fmt.Sprint(args...); runtime.Goexit() }

func TestAMissingToolSkipsEveryTestThatSharesIt(t *testing.T) {
	t.Parallel()
	var o once[int]
	start := func(t testing.TB) int { t.Skip("missing: a tool"); return 0 }
	for range 2 {
		l := &lacking{TB: t}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			o.get(l, start)
		}()
		<-ended
		if l.skipped != "missing: a tool" || l.failed != "" {
			t.Errorf("the test is skipped with %q and fails with %q; want it skipped for the tool", l.skipped, l.failed)
		}
	}
}

func (o *once[T]) close() {
	if o.session != nil {
		o.session.Close()
	}
}

// shared returns the server of all tests that need none of their own, as a tenant
// of this test's sees it. A server of its own is for tests that stop it, give it
// settings, or look at everything it has: its log, files, metrics or queue.
func shared(t testing.TB) *server {
	t.Helper()
	s := *together.server.get(t, func(t testing.TB) *server { return start(t) })
	s.t = t
	s.tenant = fmt.Sprintf("tenant-%d", together.tenants.Add(1))
	s.key = s.newKey().Secret
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the shared server's log:\n%s", s.log.Tail(60))
		}
	})
	return &s
}

// operator returns the server as its operator's own tenant sees it.
func (s *server) operator() *server {
	other := *s
	other.key = apiKey
	return &other
}

// stranger returns the key of another tenant.
func (s *server) stranger(args ...string) string {
	s.t.Helper()
	tenant := fmt.Sprintf("--tenant=stranger-%d", together.tenants.Add(1))
	return s.newKey(append(args, tenant)...).Secret
}
