package e2e

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// axe is the checker of accessibility, as a script.
var axe = sync.OnceValues(func() (string, error) { return expandFile("testdata/axe/axe.min.js.gz") })

// expandFile returns the text of a compressed file.
func expandFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	script, err := io.ReadAll(z)
	return string(script), err
}

func axeScript(t testing.TB) string {
	t.Helper()
	script, err := axe()
	if err != nil {
		t.Fatalf("read axe-core: %v", err)
	}
	return script
}

// wantAccessible has axe-core look at the page as it is now.
func (b *tab) wantAccessible(page string) {
	b.t.Helper()
	if eval[bool](b, `window.axe === undefined`) { // it is large
		eval[any](b, `(() => {`+axeScript(b.t)+`; return 0})()`)
	}
	faults := eval[[]string](b, `axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.flatMap((v) =>
		v.nodes.map((n) => v.id + ": " + n.html.slice(0, 200) + " " + n.failureSummary)))`)
	if len(faults) > 0 {
		b.t.Errorf("%s is not accessible:\n%s", page, strings.Join(faults, "\n"))
	}
}

// TestTheCheckerFindsFaults: without it, a script that never ran would find every page clean.
func TestTheCheckerFindsFaults(t *testing.T) {
	oneBackend(t, "it needs no server")
	t.Parallel()
	b := openTab(t)
	eval[any](b, `(() => {`+axeScript(t)+`; document.body.append(document.createElement("img")); return 0})()`)
	if n := eval[int](b, `axe.run(document).then((r) => r.violations.filter((v) => v.id === "image-alt").length)`); n != 1 {
		t.Errorf("a picture without words is %d faults, want 1", n)
	}
}
