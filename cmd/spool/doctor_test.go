package main

import (
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// doctorFor returns a doctor for settings, and what it found.
func doctorFor(c Config) (*doctor, *[]finding) {
	var found []finding
	if c.DataDir == "" {
		c.DataDir = os.TempDir()
	}
	return &doctor{
		Config: &c, http: &http.Client{Timeout: time.Minute}, log: slog.New(slog.DiscardHandler), now: time.Now,
		report: func(f finding) { found = append(found, f) },
	}, &found
}

// wantFinding wants a single finding. What is wrong has a fix.
func wantFinding(t *testing.T, found []finding, result, text string) {
	t.Helper()
	last := len(found) - 1
	if last < 0 || found[last].Result != result || !strings.Contains(found[last].Text, text) || (found[last].Fix == "") != (result == healthy) {
		t.Errorf("found %+v; want at the end %s and %q", found, result, text)
	}
}
