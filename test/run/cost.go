package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// cost is the CPU time of a job: that of the compiler, the tests and all that they ran.
// Unlike the time on the clock it hardly depends on what else the machine does.
type cost struct {
	job, what string
	cpu       time.Duration
}

// slowTest is a test and the time that it took on the clock.
type slowTest struct {
	job     string
	name    testName
	seconds float64
}

// shownSlowest is how many tests the end of the output names.
const shownSlowest = 15

// spent notes what a process and its children cost.
func (r *report) spent(job, what string, p *os.ProcessState) {
	if p == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cost = append(r.cost, cost{job, what, p.UserTime() + p.SystemTime()})
}

// timed notes how long a test took, with its subtests.
func (r *report) timed(job string, name testName, seconds float64) {
	if strings.Contains(name.test, "/") {
		return
	}
	r.slowest = append(r.slowest, slowTest{job, name, seconds})
}

// printCost prints what each job cost, and the slowest tests.
func (r *report) printCost() {
	if len(r.cost) == 0 {
		return
	}
	total := time.Duration(0)
	fmt.Fprintln(r.out, "\nCPU time:")
	for _, c := range r.cost {
		total += c.cpu
		fmt.Fprintf(r.out, "  %6.0f s  %-6s %s\n", c.cpu.Seconds(), c.job, c.what)
	}
	fmt.Fprintf(r.out, "  %6.0f s  in all\n", total.Seconds())
	slices.SortFunc(r.slowest, func(a, b slowTest) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintln(r.out, "\nSlowest tests, by the clock:")
	for _, s := range r.slowest[:min(shownSlowest, len(r.slowest))] {
		fmt.Fprintf(r.out, "  %6.0f s  %-6s %s %s\n", s.seconds, s.job, short(s.name.pkg), s.name.test)
	}
}
