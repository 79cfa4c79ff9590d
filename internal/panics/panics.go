// Package panics keeps a panic from ending the process with all its other requests and tasks. It is
// the only recoverer of the program: a loop logs the panic of one iteration and goes on (Log), a
// goroutine with a caller hands its panic to the caller (Catch, Group), and the HTTP server answers
// 500 (web/problem, by Recovered).
package panics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Error is a recovered panic.
type Error struct {
	Value any    // that the code panicked with
	Stack []byte // of the goroutine that panicked
}

func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Recovered returns the error for a value that recover has just returned, or nil for nil. A panic
// that a Group passed on keeps its first stack.
func Recovered(value any) *Error {
	if value == nil {
		return nil
	}
	if e, ok := value.(*Error); ok {
		return e
	}
	return &Error{Value: value, Stack: debug.Stack()}
}

// Catch calls f and returns its error, or its panic as an *Error.
func Catch(f func() error) (err error) {
	defer func() {
		if e := Recovered(recover()); e != nil {
			err = e
		}
	}()
	return f()
}

// Log calls f and logs a panic of it, with its stack, as what. It reports whether f returned.
func Log(ctx context.Context, log *slog.Logger, what string, f func()) bool {
	err := Catch(func() error { f(); return nil })
	if e, ok := errors.AsType[*Error](err); ok {
		log.ErrorContext(ctx, what, "err", e, "stack", string(e.Stack))
	}
	return err == nil
}

// Group is a sync.WaitGroup that passes panics on: Wait panics with the first of them. The caller's
// own recover then treats it like any other panic of the caller.
type Group struct {
	running sync.WaitGroup
	once    sync.Once
	first   error
}

// Go calls f in a goroutine.
func (g *Group) Go(f func()) {
	g.running.Go(func() {
		if err := Catch(func() error { f(); return nil }); err != nil {
			g.once.Do(func() { g.first = err })
		}
	})
}

// Wait waits for all goroutines of the group.
func (g *Group) Wait() {
	g.running.Wait()
	if g.first != nil {
		panic(g.first)
	}
}
