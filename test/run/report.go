package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of go test -json. Lines about a build have an ImportPath.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Elapsed    float64
	Output     string
}

// testName names a test. A test that was skipped in one job may run in another.
type testName struct{ pkg, test string }

// report collects what all jobs tell.
type report struct {
	out io.Writer

	mu       sync.Mutex
	skipped  map[testName]string // with the reason
	ran      map[testName]bool
	failures []failure
	unsteady []string // the tests that failed, and passed when they ran once more
	cost     []cost
	slowest  []slowTest
}

func newReport(out io.Writer) *report {
	return &report{out: out, skipped: map[testName]string{}, ran: map[testName]bool{}}
}

// failure is a package or a check that failed.
type failure struct {
	output string // what it printed
	// again runs the failed tests once more; nil where that would prove nothing.
	again *job
	tests []string // that failed, without subtests
}

// line prints the end of a package or a check.
func (r *report) line(verdict, job, what string, seconds float64, note string) {
	fmt.Fprintln(r.out, strings.TrimRight(fmt.Sprintf("%-5s %-6s %7.1f s  %s %s", verdict, job, seconds, what, note), " "))
}

// passed notes the end of a check, which is not a test.
func (r *report) passed(job, what string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line("ok", job, what, took.Seconds(), "")
}

// failed notes a check that failed, or a job that could not run.
func (r *report) failed(job, what string, took time.Duration, output string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line("FAIL", job, what, took.Seconds(), "")
	r.failures = append(r.failures, failure{output: fmt.Sprintf("--- %s: %s\n%s", job, what, output)})
}

// transcript is what one job has printed so far, by test. The output of a package
// itself is that of the test with no name.
type transcript struct {
	job    job
	output map[testName]*strings.Builder
	failed map[string][]string // the failed tests of a package, in order
}

func newTranscript(j job) *transcript {
	return &transcript{job: j, output: map[testName]*strings.Builder{}, failed: map[string][]string{}}
}

// add notes a line of go test -json.
func (r *report) add(t *transcript, e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		if e.ImportPath != "" {
			name.pkg, _, _ = strings.Cut(e.ImportPath, " ") // "pkg [pkg.test]"
		}
		if t.output[name] == nil {
			t.output[name] = new(strings.Builder)
		}
		t.output[name].WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(t, e)
			return
		}
		r.timed(t.job.name, name, e.Elapsed)
		r.endTest(t, name, e.Action)
	}
}

func (r *report) endTest(t *transcript, name testName, action string) {
	switch action {
	case "skip":
		r.skipped[name] = reason(t.output[name])
	case "fail":
		t.failed[name.pkg] = append(t.failed[name.pkg], name.test)
	}
	if action != "skip" {
		r.ran[name] = true
	}
	if action != "fail" && !t.hasRace(name) {
		delete(t.output, name) // nobody will ask for it
	}
}

// hasRace reports whether the race detector wrote into the output of a test. It does
// so in the output of any test that runs at that moment, also of one that passes.
func (t *transcript) hasRace(name testName) bool {
	output := t.output[name]
	return output != nil && strings.Contains(output.String(), "WARNING: DATA RACE")
}

// reason returns what a test said when it skipped itself: the line between those
// of the test framework, without the place in the source.
func reason(output *strings.Builder) string {
	if output == nil {
		return ""
	}
	for line := range strings.Lines(output.String()) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "===") || strings.HasPrefix(line, "---") {
			continue
		}
		if _, text, ok := strings.Cut(line, ".go:"); ok {
			_, text, _ = strings.Cut(text, ": ")
			return text
		}
	}
	return ""
}

func (r *report) endPackage(t *transcript, e event) {
	own := t.output[testName{e.Package, ""}]
	if e.Action == "fail" {
		r.line("FAIL", t.job.name, short(e.Package), e.Elapsed, "")
		r.failures = append(r.failures, t.failure(e.Package))
		return
	}
	note := ""
	if own != nil && strings.Contains(own.String(), "(cached)") {
		note = "(cached)"
	}
	r.line("ok", t.job.name, short(e.Package), e.Elapsed, note)
}

// failure returns what a failed package printed, and how to run its failed tests again.
func (t *transcript) failure(pkg string) failure {
	f := failure{output: t.text(pkg), tests: topLevel(t.failed[pkg])}
	if len(f.tests) > 0 && !strings.Contains(f.output, "DATA RACE") && !strings.Contains(f.output, "panic: ") {
		f.again = t.job.only(pkg, f.tests)
	}
	return f
}

// topLevel returns the names of tests without those of their subtests.
func topLevel(tests []string) []string {
	var names []string
	for _, name := range tests {
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(names, top) {
			names = append(names, top)
		}
	}
	return names
}

// text returns what a failed package printed: its failed tests, or all of it when
// it ended in the middle of a test.
func (t *transcript) text(pkg string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s: %s\n", t.job.name, short(pkg))
	names := t.failed[pkg]
	var others []string
	for name := range t.output {
		if name.pkg == pkg && name.test != "" && (len(names) == 0 || t.hasRace(name) && !slices.Contains(names, name.test)) {
			others = append(others, name.test)
		}
	}
	slices.Sort(others)
	names = append(others, names...)
	for _, name := range append(names, "") {
		if output := t.output[testName{pkg, name}]; output != nil {
			b.WriteString(output.String())
		}
	}
	return b.String()
}

// finish prints the skipped tests and the failures, and reports whether there were
// none of the latter.
func (r *report) finish(took time.Duration) (ok bool) {
	r.printCost()
	r.printSkipped()
	for _, f := range r.failures {
		fmt.Fprintf(r.out, "\n%s", f.output)
	}
	if len(r.unsteady) > 0 {
		fmt.Fprintf(r.out, "\nUnsteady, each a fault to mend (failed above, passed when run once more):\n  %s\n", strings.Join(r.unsteady, "\n  "))
	}
	verdict := "All is well"
	if len(r.failures) > 0 {
		verdict = fmt.Sprintf("%d failed (see above)", len(r.failures))
	}
	fmt.Fprintf(r.out, "\n%s after %s.\n", verdict, took.Round(time.Second))
	return len(r.failures) == 0
}

// printSkipped lists the tests that did not run in any job, by reason.
func (r *report) printSkipped() {
	byReason := map[string][]string{}
	for name, why := range r.skipped {
		if !r.ran[name] {
			byReason[why] = append(byReason[why], short(name.pkg)+" "+name.test)
		}
	}
	if len(byReason) == 0 {
		return
	}
	fmt.Fprintln(r.out, "\nSkipped:")
	for _, why := range slices.Sorted(maps.Keys(byReason)) {
		tests := byReason[why]
		slices.Sort(tests)
		example := tests[0]
		if len(tests) > 1 {
			example = fmt.Sprintf("%s and %d more", tests[0], len(tests)-1)
		}
		fmt.Fprintf(r.out, "  %s\n      %s\n", why, example)
	}
}
