package rig

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Session is a testing.TB for what the tests of a run share. What is started with
// it outlives the test that needs it first, and ends with the run.
type Session struct {
	// TB is the test that needs the thing first. It hears of failures while the
	// thing is started, and of nothing afterwards.
	testing.TB
	dir string

	mu       sync.Mutex
	cleanups []func()
	skipped  string
}

// NewSession returns a session whose files lie below dir, which the caller removes.
func NewSession(t testing.TB, dir string) *Session { return &Session{TB: t, dir: dir} }

// Cleanup has a function called at the end of the session.
func (s *Session) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

// Skip skips the first test. Later ones that need the thing are to do as it did: the
// machine lacks a tool for them, too.
func (s *Session) Skip(args ...any) {
	s.TB.Helper()
	s.skipped = fmt.Sprint(args...)
	s.TB.Skip(args...)
}

// SkipReason returns why the first test was skipped, or nothing.
func (s *Session) SkipReason() string { return s.skipped }

// Context never ends: the processes that it is for are ended by a cleanup.
func (s *Session) Context() context.Context { return context.Background() }

// Failed reports false: the tests that use what is shared tell of their own faults.
func (s *Session) Failed() bool { return false }

// TempDir returns a new folder, which goes with the folder of the session.
func (s *Session) TempDir() string {
	dir, err := os.MkdirTemp(s.dir, "session-")
	if err != nil {
		panic(fmt.Sprintf("make a folder for the tests: %v", err)) // the first test may have ended
	}
	return dir
}

// Close calls the cleanups, the last one first.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.cleanups) > 0 {
		last := s.cleanups[len(s.cleanups)-1]
		s.cleanups = s.cleanups[:len(s.cleanups)-1]
		last()
	}
}
