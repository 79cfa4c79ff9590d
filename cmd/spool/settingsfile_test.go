package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/settings"
)

// The commands for keys work on the database that serve uses, so they read the same file. They say
// so, because the folder decides.
func TestCommandsSayWhichFileTheyFound(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "spool.toml"), "data_dir = '/srv/spool'")
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"keys", "list"}, "spool: settings from " + path + "\n"},
		{[]string{"signing-keys", "list"}, "spool: settings from " + path + "\n"},
		{[]string{"keys", "list", "--config", path}, ""}, // the operator knows
	} {
		p, _, stderr := newProcess(new(fakeKeys), nil)
		p.settings.DefaultFile = path
		if code := p.run(t.Context(), tt.args); code != exitOK || stderr.String() != tt.says {
			t.Errorf("spool %v exits with %d and says %q; want %q", tt.args, code, stderr, tt.says)
		}
	}
}

// A command that does not open the database must not let a file in the working directory decide
// where it sends an API key.
func TestOtherCommandsReadNoFile(t *testing.T) {
	t.Parallel()
	file := write(t, filepath.Join(t.TempDir(), "spool.toml"), "server = 'http://thief.example'")
	s := &settings.Settings{Environ: lookup(map[string]string{"SPOOL_CONFIG": file}), DefaultFile: file, User: os.Geteuid()}
	parser, err := newParser(new(cli), s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"ls"}); err != nil || s.Path != "" || len(s.Faults) > 0 {
		t.Errorf("spool ls reads %q: %v, %q", s.Path, err, s.Faults)
	}
}

// A file with settings names programs that are started, so what lies in the working directory by
// chance is not enough.
func TestAFileThatEverybodyCanChangeMustBeNamed(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "spool.toml"), "workers = 3")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	p, _, stderr := newProcess(nil, nil)
	p.settings.DefaultFile = path
	want := "spool: the settings in " + path + " cannot be read: every user can change this file; if you trust it, name it with --config=" + path + ".\n"
	if code := p.run(t.Context(), []string{"serve"}); code != exitUsage || stderr.String() != want {
		t.Errorf("serve exits with %d and says %q; want %d and %q", code, stderr, exitUsage, want)
	}
	if c, err := (sources{args: []string{"--config", path}}).parse(t); err != nil || c.Workers != 3 {
		t.Errorf("with --config: %+v, %v; want 3 workers", c, err)
	}
}

func TestServeLogsItsSettingsAndRoot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path string
		user int
		want string
	}{
		{"", 1000, ""},
		{"/etc/spool.toml", 1000, `level=INFO msg="settings read" file=/etc/spool.toml`},
		{"", 0, `level=WARN msg="running as root, which Spool does not need; run it as a user of its own"`},
	} {
		var log bytes.Buffer
		p := &process{settings: settings.Settings{Path: tt.path, User: tt.user}}
		p.logStart(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: withoutTime})))
		if got := strings.TrimSpace(log.String()); got != tt.want {
			t.Errorf("the log says %q; want %q", got, tt.want)
		}
	}
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
