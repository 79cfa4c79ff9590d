package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob/disk"
	"github.com/spool-video/spool/internal/backend/queue/local"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
	"github.com/spool-video/spool/internal/web/delivery"
	"github.com/spool-video/spool/internal/web/problem"
)

// streamRig is the API on a real service and database, behind a real server whose
// connections have no buffers. Tests run it in a synctest bubble, where waiting takes no
// time.
type streamRig struct {
	*testing.T
	services *servicetest.Services
	store    *store.Store
	api      *API
	by       auth.Actor
	client   *http.Client
	key      string
	stop     context.CancelFunc // ends PollStreams

	polls atomic.Int64
	down  atomic.Bool // whether the database fails
}

func newStreamRig(t *testing.T) *streamRig {
	t.Helper()
	r := &streamRig{T: t}
	dir := t.TempDir()
	var err error
	r.store, err = store.OpenSQLite(t.Context(), servicetest.Database.Fresh(t))
	r.must(err)
	t.Cleanup(func() { r.store.Close() })
	files, err := disk.Open(filepath.Join(dir, "objects"), disk.Options{})
	r.must(err)
	t.Cleanup(func() { files.Close() })
	r.services, err = servicetest.Wire(t.Context(), servicetest.Config{Uploads: uploads.Config{URLTTL: time.Minute, MaxBytes: 1 << 20}}, servicetest.Parts{
		Store: r.store, Queue: local.New(r.store.Writer(), local.Options{}), Blobs: files, Now: time.Now,
	})
	r.must(err)
	r.key, _, err = r.services.Keys.Create(t.Context(), auth.Key{})
	r.must(err)
	r.by, err = r.services.Keys.Authenticate(t.Context(), r.key)
	r.must(err)
	r.api = New(Services{Keys: r.services.Keys, Catalog: r.services.Catalog, Uploads: r.services.Uploads, Deleter: r.services.Deleter, Tokens: r.services.Tokens}, Config{})
	r.api.subscribers.load = r.load
	r.serve()
	return r
}

// load counts polls, and can fail them.
func (r *streamRig) load(ctx context.Context, ids []video.ID) (map[video.ID]catalog.State, error) {
	r.polls.Add(1)
	if r.down.Load() {
		return nil, errors.New("the database is down")
	}
	return r.services.Catalog.States(ctx, ids)
}

// serve answers requests as the program does, and polls for subscribers.
func (r *streamRig) serve() {
	ctx, cancel := context.WithCancel(r.Context())
	r.stop = cancel
	polling := make(chan struct{})
	go func() { defer close(polling); r.api.PollStreams(ctx) }()
	listener := pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	edge := r.api.InFrontOf(http.NotFoundHandler())
	server := &http.Server{Handler: delivery.Guard(problem.RequestID(slog.New(slog.DiscardHandler), problem.Recover(edge)), delivery.Timeouts{})}
	go server.Serve(listener)
	transport := &http.Transport{DialContext: listener.dial}
	r.client = &http.Client{Transport: transport}
	r.Cleanup(func() {
		cancel()
		<-polling
		transport.CloseIdleConnections()
		server.Close()
	})
}

// pipes is an in-process listener.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.conns <- there
	return here, nil
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (r *streamRig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *streamRig) create() video.Video {
	r.Helper()
	up, err := r.services.Catalog.Create(r.Context(), r.by, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"720p", "144p"}}, "http://spool.test")
	r.must(err)
	return up.Video
}

// change changes the database as a worker or another process would.
func (r *streamRig) change(f func(tx *store.Tx) error) {
	r.Helper()
	r.must(r.store.InTx(r.Context(), f))
}

// accept starts processing a video with two steps of equal weight.
func (r *streamRig) accept(v video.Video) {
	r.Helper()
	r.change(func(tx *store.Tx) error {
		_, err := tx.AcceptUpload(r.Context(), v.ID, video.Source{Key: "source/x", Size: 1}, time.Now())
		return errors.Join(err, tx.InsertSteps(r.Context(), v.ID, []store.Step{{Kind: "encode", Weight: 1}, {Kind: "encode", Number: 1, Weight: 1}}))
	})
}

func (r *streamRig) progress(v video.Video, number int, done float64) {
	r.Helper()
	_, err := r.store.SetProgress(r.Context(), v.ID, "encode", number, done)
	r.must(err)
}

// finish makes a video ready.
func (r *streamRig) finish(v video.Video) {
	r.Helper()
	r.change(func(tx *store.Tx) error {
		for _, res := range v.Resolutions {
			r.must(tx.MoveResolution(r.Context(), res.ID, video.Ready, nil))
		}
		return tx.MoveVideo(r.Context(), v.ID, video.Ready, nil)
	})
}

// stream is a stream as its client sees it.
type stream struct {
	*streamRig
	response *http.Response
	lines    *bufio.Reader
}

// block is everything up to an empty line: an event or a comment.
type block struct {
	retry, id, event, data, comment string
}

func (r *streamRig) open(method string, id video.ID, lastEvent string) *http.Response {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), method, "http://spool.test/api/video/"+string(id)+"/events", nil)
	r.must(err)
	request.Header.Set(headerKey, r.key)
	if lastEvent != "" {
		request.Header.Set("Last-Event-ID", lastEvent)
	}
	response, err := r.client.Do(request)
	r.must(err)
	r.Cleanup(func() { response.Body.Close() })
	return response
}

func (r *streamRig) subscribe(id video.ID) *stream {
	r.Helper()
	response := r.open("GET", id, "")
	if response.StatusCode != http.StatusOK {
		r.Fatalf("the answer is %s", response.Status)
	}
	return &stream{r, response, bufio.NewReader(response.Body)}
}

// next waits for the next block; the second result is false at the end.
func (s *stream) next() (b block, more bool) {
	s.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" && b == (block{}) {
			return b, false
		}
		s.must(err)
		if line == "\n" {
			return b, true
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		field := map[string]*string{"retry": &b.retry, "id": &b.id, "event": &b.event, "data": &b.data, "": &b.comment}[name]
		if field == nil || *field != "" {
			s.Fatalf("unexpected line %q", line)
		}
		*field = value
	}
}

// eventData is the part of an event that the tests check.
type eventData struct {
	Status   video.Status
	Progress float64
	Failure  *struct{ Code string }
}

// video waits for the next event, which must be a video event.
func (s *stream) video() (eventData, block) {
	s.Helper()
	b, more := s.next()
	var got eventData
	if err := json.Unmarshal([]byte(b.data), &got); err != nil || !more || b.event != "video" || b.id == "" {
		s.Fatalf("got %+v, more: %t, %v; want a video event", b, more, err)
	}
	return got, b
}

// want waits for an event with this status and progress.
func (s *stream) want(status video.Status, progress float64) block {
	s.Helper()
	got, b := s.video()
	if got.Status != status || got.Progress != progress {
		s.Fatalf("got %+v, want %s with progress %v", got, status, progress)
	}
	return b
}

func (s *stream) wantEnd() {
	s.Helper()
	if b, more := s.next(); more {
		s.Fatalf("got %+v, want the end of the stream", b)
	}
}
