package panics_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/panics"
)

func TestCatch(t *testing.T) {
	t.Parallel()
	meant := errors.New("meant by the test")
	if err := panics.Catch(func() error { return meant }); err != meant {
		t.Errorf("Catch = %v; want the error of the function", err)
	}
	e, ok := errors.AsType[*panics.Error](panics.Catch(func() error { panic("boom") }))
	if !ok || e.Value != "boom" || !bytes.Contains(e.Stack, []byte("panics_test.go")) {
		t.Errorf("Catch = %+v; want the panic with its stack", e)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	if !panics.Log(t.Context(), log, "it panicked", func() {}) || out.Len() > 0 {
		t.Errorf("log of a function that returned: %s", &out)
	}
	if panics.Log(t.Context(), log, "it panicked", func() { panic("boom") }) {
		t.Error("a panic is reported as a return")
	}
	for _, want := range []string{"it panicked", "boom", "panics_test.go"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %q: %s", want, &out)
		}
	}
}

// passedOn is named in the stack of the goroutine that panics.
func passedOn() { panic("boom") }

func TestGroupPassesAPanicOn(t *testing.T) {
	t.Parallel()
	others := make(chan bool, 2)
	wait := func() (caught *panics.Error) {
		defer func() { caught = panics.Recovered(recover()) }()
		var g panics.Group
		g.Go(func() { others <- true })
		g.Go(passedOn)
		g.Go(func() { others <- true })
		g.Wait()
		return nil
	}
	caught := wait()
	if caught == nil || caught.Value != "boom" || !bytes.Contains(caught.Stack, []byte("passedOn")) {
		t.Errorf("Wait panicked with %v; want the panic of the goroutine with its stack", caught)
	}
	if len(others) != 2 {
		t.Errorf("%d other goroutines ended; want 2", len(others))
	}
}
