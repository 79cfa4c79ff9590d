package main

import (
	"slices"
	"strings"
	"testing"
)

// Only serve refuses them; the sentence is a warning elsewhere. The server of the commands is no setting of serve.
func TestMisspeltVariables(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"SPOOL_LISSTEN=1":                     "there is no setting SPOOL_LISSTEN; did you mean SPOOL_LISTEN?",
		"SPOOL_DATADIR=/x":                    "did you mean SPOOL_DATA_DIR?",
		"SPOOL_SANDBX=off":                    "did you mean SPOOL_SANDBOX?",
		"SPOOL_LISTEN=:1":                     "",
		"SPOOL_LISTENS=:1":                    "",
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
		// The value of another setting keeps serve from starting; all faults are told together.
		code, said := runWith(t, map[string]string{"SPOOL_WORKERS": "many"}, variable, "serve")
		if code != exitUsage || !strings.Contains(said, want) || want == "" && strings.Contains(said, "no setting") {
			t.Errorf("%s: serve exits with %d and says %q; want %q", variable, code, said, want)
		}
		code, said = runWith(t, nil, variable, "keys", "list")
		if code != exitOK || want == "" && strings.Contains(said, "warning") || want != "" && (!strings.HasPrefix(said, "spool: warning: ") || !strings.Contains(said, want)) {
			t.Errorf("%s: keys list exits with %d and says %q; want a warning: %q", variable, code, said, want)
		}
		if code, said = runWith(t, nil, variable, "version"); code != exitOK || said != "" {
			t.Errorf("%s: version exits with %d and says %q", variable, code, said)
		}
	}
	if _, said := runWith(t, nil, "SPOOL_SERVR=http://x", "keys", "list"); !strings.Contains(said, "did you mean SPOOL_SERVER?") {
		t.Errorf("SPOOL_SERVR: it says %q", said)
	}
}

// runWith runs a command with one more variable and returns its exit code and what it says on stderr.
func runWith(t *testing.T, env map[string]string, variable string, command ...string) (int, string) {
	t.Helper()
	p, _, stderr := newProcess(&fakeKeys{}, env)
	p.settings.Variables = func() []string { return []string{"PATH=/bin", variable} }
	return p.run(t.Context(), command), stderr.String()
}

func TestUnknownVariablesAreNamed(t *testing.T) {
	t.Parallel()
	p, _, _ := newProcess(&fakeKeys{}, nil)
	p.settings.Variables = func() []string {
		return []string{"SPOOL_WEATHER=1", "SPOOL_SERVICE_PORT=1", "SPOOL_ROLE=api", "SPOOL_PORT=8080"}
	}
	p.run(t.Context(), []string{"keys", "list"})
	if got := p.settings.Unknown(); !slices.Equal(got, []string{"SPOOL_PORT", "SPOOL_WEATHER"}) {
		t.Errorf("unknown = %q", got)
	}
}
