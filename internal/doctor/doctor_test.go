package doctor

import (
	"os"
	"strings"
	"testing"
	"time"
)

// doctorFor returns a doctor for settings, and what it found.
func doctorFor(c Config) (*doctor, *[]Finding) {
	var found []Finding
	if c.DataDir == "" {
		c.DataDir = os.TempDir()
	}
	return newDoctor(c, time.Now, func(f Finding) { found = append(found, f) }), &found
}

// wantFinding wants a single finding. What is wrong has a fix.
func wantFinding(t *testing.T, found []Finding, result, text string) {
	t.Helper()
	last := len(found) - 1
	if last < 0 || found[last].Result != result || !strings.Contains(found[last].Text, text) || (found[last].Fix == "") != (result == OK) {
		t.Errorf("found %+v; want at the end %s and %q", found, result, text)
	}
}
