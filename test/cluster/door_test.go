package cluster

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
)

// door is how one process, or the customers, reach the S3 server. Each has its
// own, so that a test can spoil the way of one and leave that of the others.
type door struct {
	*httptest.Server
	forward http.Handler

	mu      sync.Mutex
	manner  manner        // nil: whatever comes passes
	changed chan struct{} // closed when manner is replaced
}

// manner is how a door treats a request; next lets it pass. changed is closed
// when the door has got other manners.
type manner func(w http.ResponseWriter, r *http.Request, next http.Handler, changed <-chan struct{})

func newDoor(t testing.TB, server *s3test.Server) *door {
	t.Helper()
	d := &door{changed: make(chan struct{}), forward: server.Forward(t)}
	d.Server = httptest.NewServer(http.HandlerFunc(d.handle))
	t.Cleanup(func() {
		d.set(shut)
		d.Close()
	})
	return d
}

func (d *door) handle(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	treat, changed := d.manner, d.changed
	d.mu.Unlock()
	if treat == nil {
		d.forward.ServeHTTP(w, r)
		return
	}
	treat(w, r, d.forward, changed)
}

// set gives the door other manners; nil lets everything pass.
func (d *door) set(m manner) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.changed)
	d.manner, d.changed = m, make(chan struct{})
}

// cut ends what is under way in the middle, and lets nothing through until the
// door is set otherwise.
func (d *door) cut() {
	d.set(shut)
	d.CloseClientConnections()
}

// shut answers nobody: the server is not there.
func shut(http.ResponseWriter, *http.Request, http.Handler, <-chan struct{}) {
	panic(http.ErrAbortHandler)
}

// silent takes requests and never answers.
func silent(_ http.ResponseWriter, r *http.Request, _ http.Handler, changed <-chan struct{}) {
	select {
	case <-changed:
	case <-r.Context().Done():
	}
	panic(http.ErrAbortHandler)
}

// slow lets every request wait, and then trickles its answer.
func slow(wait, between time.Duration) manner {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		time.Sleep(wait)
		next.ServeHTTP(s3test.Trickle(w, between), r)
	}
}

// flaky answers a share of the requests with an error of the server, or breaks
// the connection after it has done what was asked.
func flaky(share float64) manner {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		if rand.Float64() >= share {
			next.ServeHTTP(w, r)
			return
		}
		switch rand.IntN(3) {
		case 0:
			s3test.Refuse(w, r, http.StatusInternalServerError, "InternalError")
		case 1:
			s3test.Refuse(w, r, http.StatusServiceUnavailable, "SlowDown")
		default:
			s3test.Swallow(w, r, next)
		}
	}
}

// writes reports whether a request stores bytes of a video at work.
func writes(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/work/") && r.Header.Get("X-Amz-Copy-Source") == ""
}

// publishes reports whether a request makes a video visible.
func publishes(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/public/") && strings.HasSuffix(r.URL.Path, ".mp4")
}

// breaking lets so many bytes of each write through, and then breaks the
// connection on both sides. It says so on the channel, if somebody listens.
func breaking(after int64, broke chan<- string) manner {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, _ <-chan struct{}) {
		if !writes(r) {
			next.ServeHTTP(w, r)
			return
		}
		r.Body = &broken{ReadCloser: r.Body, left: after}
		defer func() {
			select {
			case broke <- r.URL.Path:
			default:
			}
		}()
		next.ServeHTTP(w, r)
	}
}

// broken is a body that ends too early.
type broken struct {
	io.ReadCloser
	left int64
}

func (b *broken) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// holding lets some requests wait until the door is set otherwise, and then
// pass. It says so on the channel, if somebody listens.
func holding(some func(*http.Request) bool, came chan<- string) manner {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler, changed <-chan struct{}) {
		if some(r) {
			select {
			case came <- r.URL.Path:
			default:
			}
			<-changed
		}
		next.ServeHTTP(w, r)
	}
}
