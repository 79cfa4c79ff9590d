package main

import (
	"context"
	"fmt"
	"strings"
)

// mostRetried is how many failed tests are run once more. Where more fail, it is not
// the machine that is to blame.
const mostRetried = 4

// retry runs the tests that failed once more, when nothing else runs. A test that waits
// for other processes may wait too long on a machine that stands still for a while. If it
// passes now, the run is a success, but the test is named at its end. Races, panics, and
// what fails without a test are never run again.
func (r *report) retry(ctx context.Context) {
	count := 0
	for _, f := range r.failures {
		count += len(f.tests)
		if f.again == nil {
			return
		}
	}
	if count > mostRetried {
		return
	}
	failures := r.failures
	r.failures = nil
	for _, f := range failures {
		if ctx.Err() != nil || !f.again.passes(ctx, r) {
			r.failures = append(r.failures, f)
			continue
		}
		fmt.Fprintf(r.out, "\n%s", f.output)
		for _, test := range f.tests {
			r.unsteady = append(r.unsteady, f.again.what+" "+test)
		}
	}
}

// only returns the job that runs some tests of one package once more.
func (j job) only(pkg string, tests []string) *job {
	if j.packages == nil {
		return nil
	}
	j.what, j.packages = short(pkg), []string{pkg}
	j.flags = append(j.flags[:len(j.flags):len(j.flags)], "-count=1", "-run=^("+strings.Join(tests, "|")+")$")
	return &j
}

// passes runs a job by itself and reports whether its tests pass.
func (j job) passes(ctx context.Context, r *report) bool {
	second := newReport(r.out)
	j.runTests(ctx, second)
	return len(second.failures) == 0
}
