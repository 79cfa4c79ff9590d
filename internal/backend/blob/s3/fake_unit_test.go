package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
)

var errBroken = errors.New("connection reset by peer")

// server sends ranges of one object from memory.
type server struct {
	content []byte
	cut     func(request int) int // after how many bytes a response breaks; nil: never
	err     error                 // of every request from now on

	mu       sync.Mutex
	requests []blob.Range
	open     int // responses that were not closed
}

// serve returns a version of an object with this many random bytes.
func serve(size int) (version, *server) {
	s := &server{content: make([]byte, size)}
	_, _ = rand.NewChaCha8([32]byte{}).Read(s.content) // which never fails
	info := blob.Info{Key: "key", Size: int64(size), ETag: "1"}
	return version{info: info, backoff: backoff{max: time.Millisecond}, get: s.get}, s
}

func (s *server) get(ctx context.Context, off, end int64) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmp.Or(ctx.Err(), s.err); err != nil {
		return nil, err
	}
	s.requests = append(s.requests, blob.Range{From: off, To: end})
	s.open++
	var body io.Reader = bytes.NewReader(s.content[off:end])
	if s.cut != nil {
		if n := s.cut(len(s.requests)); n >= 0 {
			body = io.MultiReader(io.LimitReader(body, int64(n)), failingReader{})
		}
	}
	return &response{Reader: body, server: s}, nil
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errBroken }

// response counts itself as open until it is closed.
type response struct {
	io.Reader
	server *server
	closed bool
}

func (r *response) Close() error {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.server.open--
	}
	return nil
}

// wantRequests fails the test unless so many requests were sent since the last call.
func (s *server) wantRequests(t *testing.T, want int, when string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) != want {
		t.Errorf("%s: requests %v; want %d", when, s.requests, want)
	}
	s.requests = nil
}

func (s *server) wantNoneOpen(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != 0 {
		t.Errorf("%d responses were not closed", s.open)
	}
}
