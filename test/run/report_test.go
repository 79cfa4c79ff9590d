package main

import (
	"strings"
	"testing"
	"time"
)

// told is what go test -json prints about a few packages: one passes, one fails,
// one does not compile.
const told = `{"Action":"run","Package":"github.com/spool-video/spool/a","Test":"TestGood"}
{"Action":"output","Package":"github.com/spool-video/spool/a","Test":"TestGood","Output":"chatter\n"}
{"Action":"pass","Package":"github.com/spool-video/spool/a","Test":"TestGood","Elapsed":1}
{"Action":"output","Package":"github.com/spool-video/spool/a","Test":"TestLate","Output":"=== RUN   TestLate\n"}
{"Action":"output","Package":"github.com/spool-video/spool/a","Test":"TestLate","Output":"    a_test.go:7: missing: PostgreSQL\n"}
{"Action":"output","Package":"github.com/spool-video/spool/a","Test":"TestLate","Output":"--- SKIP: TestLate (0.00s)\n"}
{"Action":"skip","Package":"github.com/spool-video/spool/a","Test":"TestLate","Elapsed":0}
{"Action":"pass","Package":"github.com/spool-video/spool/a","Elapsed":1.5}
{"Action":"output","Package":"github.com/spool-video/spool/b","Test":"TestBad","Output":"    b_test.go:3: it is 4; want 5\n"}
{"Action":"fail","Package":"github.com/spool-video/spool/b","Test":"TestBad","Elapsed":0}
{"Action":"fail","Package":"github.com/spool-video/spool/b","Elapsed":2}
{"ImportPath":"github.com/spool-video/spool/c [github.com/spool-video/spool/c.test]","Action":"build-output","Output":"c/c.go:1: undefined: x\n"}
{"ImportPath":"github.com/spool-video/spool/c [github.com/spool-video/spool/c.test]","Action":"build-fail"}
{"Action":"fail","Package":"github.com/spool-video/spool/c","Elapsed":0,"FailedBuild":"github.com/spool-video/spool/c [github.com/spool-video/spool/c.test]"}
`

func TestAReportEndsWithWhatFailed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out)
	if failures := r.read(newTranscript(job{name: "plain"}), strings.NewReader(told)); failures != 2 {
		t.Errorf("%d packages failed; want 2", failures)
	}
	if r.finish(90 * time.Second) {
		t.Error("the run is called a success")
	}
	place := -1
	for _, want := range []string{"ok    plain      1.5 s  a\n", "FAIL  plain      2.0 s  b\n", "\nSkipped:\n  missing: PostgreSQL\n      a TestLate\n",
		"--- plain: b\n", "it is 4; want 5", "undefined: x", "2 failed (see above) after 1m30s"} {
		at := strings.Index(out.String(), want)
		if at <= place {
			t.Errorf("%q is missing or too early in\n%s", want, out.String())
		}
		place = at
	}
	if strings.Contains(out.String(), "chatter") {
		t.Error("the report shows what a good test printed")
	}
}

func TestATestThatRanElsewhereWasNotSkipped(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out)
	r.read(newTranscript(job{name: "one"}), strings.NewReader(`{"Action":"skip","Package":"p","Test":"T"}`))
	r.read(newTranscript(job{name: "two"}), strings.NewReader(`{"Action":"pass","Package":"p","Test":"T"}`))
	if !r.finish(time.Second) || strings.Contains(out.String(), "Skipped") {
		t.Errorf("the report is\n%s", out.String())
	}
}

func TestEveryPackageIsTestedOnce(t *testing.T) {
	t.Parallel()
	packages := []string{module + "cmd/spool", module + "internal/engine/stream", module + "internal/engine/mp4", module + "internal/web/api",
		module + "internal/arch", module + "test/e2e", module + "test/cluster", module + "test/need"}
	lanes, err := plan("test", packages)
	if err != nil {
		t.Fatal(err)
	}
	raced, seen := map[string]bool{}, map[string]int{}
	checked := false
	for _, lane := range lanes {
		for _, j := range lane {
			checked = checked || len(j.then) > 0 && j.then[0].what == staticcheck.what && j.then[0].niced
			for _, arg := range j.packages {
				seen[short(arg)]++
				raced[short(arg)] = j.name == "race"
			}
		}
	}
	if !checked {
		t.Error("staticcheck does not run beside the tests")
	}
	for _, p := range packages {
		times := 1
		if short(p) == "test/e2e" { // on both back ends
			times = 2
		}
		if seen[short(p)] != times {
			t.Errorf("%s is tested %d times; want %d", short(p), seen[short(p)], times)
		}
	}
	if !raced["internal/engine/stream"] || !raced["internal/web/api"] || !raced["cmd/spool"] || raced["internal/engine/mp4"] || raced["test/need"] {
		t.Errorf("the race detector watches %v", raced)
	}
}

func TestARaceIsShownWhereverItWasPrinted(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out)
	r.read(newTranscript(job{name: "race"}), strings.NewReader(`{"Action":"output","Package":"p","Test":"TestGood","Output":"WARNING: DATA RACE\nWrite at 0x1\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"race detected during execution of test\n"}
{"Action":"fail","Package":"p","Test":"TestBad"}
{"Action":"fail","Package":"p"}
`))
	if r.finish(time.Second) || !strings.Contains(out.String(), "Write at 0x1") {
		t.Errorf("the report is\n%s", out.String())
	}
}
