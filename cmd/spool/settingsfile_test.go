package main

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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
		p.settings.defaultFile = path
		if code := p.run(t.Context(), tt.args); code != exitOK || stderr.String() != tt.says {
			t.Errorf("spool %v exits with %d and says %q; want %q", tt.args, code, stderr, tt.says)
		}
	}
}

// A command that does not open the database must not let a file in the working directory decide
// where it sends an API key.
func TestOtherCommandsReadNoFile(t *testing.T) {
	t.Parallel()
	s := &settings{environ: lookup(map[string]string{"SPOOL_CONFIG": "env.toml"}), defaultFile: "spool.toml"}
	parser, err := newParser(new(cli), s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse([]string{"version"})
	if err != nil {
		t.Fatal(err)
	}
	if path, named := s.file(ctx); path != "" || named {
		t.Errorf("spool version would read %q", path)
	}
}

// fileOf is a file with an owner.
type fileOf struct {
	mode fs.FileMode
	uid  uint32
}

func (f fileOf) Name() string       { return "spool.toml" }
func (f fileOf) Size() int64        { return 0 }
func (f fileOf) Mode() fs.FileMode  { return f.mode }
func (f fileOf) ModTime() time.Time { return time.Time{} }
func (f fileOf) IsDir() bool        { return false }
func (f fileOf) Sys() any           { return &syscall.Stat_t{Uid: f.uid} }

func TestFilesOfOthersAreNotTrusted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		user    int
		file    fileOf
		trusted bool
	}{
		{"my own", 1000, fileOf{0o644, 1000}, true},
		{"root's", 1000, fileOf{0o644, 0}, true},
		{"my own, which my group can change", 1000, fileOf{0o664, 1000}, true},
		{"somebody else's", 1000, fileOf{0o644, 1001}, false},
		{"somebody else's, for root", 0, fileOf{0o644, 1001}, false},
		{"my own, which everybody can change", 1000, fileOf{0o646, 1000}, false},
	}
	for _, tt := range tests {
		s := &settings{user: tt.user}
		if why := s.distrust(tt.file); (why == "") != tt.trusted {
			t.Errorf("%s: %q; want trusted: %v", tt.name, why, tt.trusted)
		}
	}
}

// Somebody else may put anything into the folder in which a command is run.
func TestOnlyAnOrdinaryFileIsFound(t *testing.T) {
	t.Parallel()
	dir, user := t.TempDir(), os.Getuid()
	pipe, link := filepath.Join(dir, "pipe.toml"), filepath.Join(dir, "link.toml")
	err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/etc/passwd", link)) // a file of root's, whoever made the link
	if user == 0 {
		err = errors.Join(err, os.Lchown(link, 65534, -1))
	} else {
		user++
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "no ordinary file", dir: "no ordinary file", link: "the link to this file"} {
		if _, _, err := (&settings{user: user}).read(path, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", path, err, want)
		}
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
	p.settings.defaultFile = path
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
		{"", 0, `level=WARN msg="running as root, which nothing here needs; run Spool as a user of its own"`},
	} {
		var log bytes.Buffer
		p := &process{settings: settings{path: tt.path, user: tt.user}}
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
