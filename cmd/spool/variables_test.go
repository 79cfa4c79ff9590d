package main

import (
	"strings"
	"testing"
)

func TestMisspeltVariablesAreRefused(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"SPOOL_LISSTEN=1":                     "there is no setting SPOOL_LISSTEN; did you mean SPOOL_LISTEN?",
		"SPOOL_DATADIR=/x":                    "did you mean SPOOL_DATA_DIR?",
		"SPOOL_SANDBX=off":                    "did you mean SPOOL_SANDBOX?",
		"SPOOL_LISTEN=:1":                     "",
		"SPOOL_CONFIG=x":                      "",
		"SPOOL_SERVER=http://x":               "",
		"SPOOL_API_KEY_FILE=x":                "",
		"SPOOL_TEST_LONG=1":                   "",
		"SPOOL_PORT=tcp://10.0.0.1:80":        "",
		"SPOOL_SERVICE_HOST=10.0.0.1":         "",
		"SPOOL_API_PORT_8080_TCP_ADDR=10.0.0": "",
		"SPOOLLISTEN=1":                       "",
		"OTHER=1":                             "",
	} {
		p, _, stderr := newProcess(&fakeKeys{}, nil)
		p.settings.variables = func() []string { return []string{"PATH=/bin", variable} }
		code := p.run(t.Context(), []string{"keys", "list"})
		if want == "" && code != exitOK || want != "" && (code != exitUsage || !strings.Contains(stderr.String(), want)) {
			t.Errorf("%s: exits with %d and says %q; want %q", variable, code, stderr, want)
		}
	}
}

func TestUnknownVariablesAreNamed(t *testing.T) {
	t.Parallel()
	p, _, _ := newProcess(&fakeKeys{}, nil)
	p.settings.variables = func() []string { return []string{"SPOOL_WEATHER=1", "SPOOL_SERVICE_PORT=1", "SPOOL_ROLE=api"} }
	p.run(t.Context(), []string{"keys", "list"})
	if got := p.settings.unknown(); len(got) != 1 || got[0] != "SPOOL_WEATHER" {
		t.Errorf("unknown = %q", got)
	}
}
