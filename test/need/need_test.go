package need

import (
	"runtime"
	"strings"
	"testing"
)

// ended records how a test was ended.
type ended struct {
	testing.TB
	how string
}

func (e *ended) Helper() {}

func (e *ended) Skip(args ...any) { e.end("skipped", args[0].(string)) }

func (e *ended) Skipf(format string, _ ...any) { e.end("skipped", format) }

func (e *ended) Fatalf(format string, _ ...any) { e.end("failed", format) }

func (e *ended) end(how, text string) {
	e.how = how + " " + text
	runtime.Goexit()
}

// endOf returns how a check ends a test, or "" when the test goes on.
func endOf(check func(testing.TB)) string {
	e, done := new(ended), make(chan struct{})
	go func() {
		defer close(done)
		check(e)
	}()
	<-done
	return e.how
}

func TestAMissingToolSkipsOrFails(t *testing.T) {
	lack := func(t testing.TB) { Programs(t, "sh", "no-such-program") }
	t.Setenv(requireAll, "")
	if got := endOf(lack); got != "skipped missing: no-such-program" {
		t.Errorf("the test %s; want it skipped", got)
	}
	t.Setenv(requireAll, "1")
	if got := endOf(lack); !strings.HasPrefix(got, "failed") {
		t.Errorf("the test %s; want it failed", got)
	}
	if got := endOf(func(t testing.TB) { Program(t, "no-such-program", "sh") }); got != "" {
		t.Errorf("the test %s although one of two programs is there", got)
	}
}

func TestLongTestsRunWhenAskedFor(t *testing.T) {
	check := func(t testing.TB) { TimeFor(t, "hours") }
	t.Setenv(longRun, "")
	if got := endOf(check); !strings.HasPrefix(got, "skipped") {
		t.Errorf("the test %s; want it skipped", got)
	}
	t.Setenv(longRun, "1")
	if got := endOf(check); got != "" {
		t.Errorf("the test %s; want it to run", got)
	}
}
