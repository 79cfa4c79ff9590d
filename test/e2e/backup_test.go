package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// outcomeOf runs a command to its end and returns its exit code and what it said.
func outcomeOf(t testing.TB, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("run %v: %v", cmd.Args, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), said.String()
}

// wantRun runs a command that must succeed.
func wantRun(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	code, out, said := outcomeOf(t, cmd)
	if code != 0 {
		t.Fatalf("spool %s exits with %d: %s%s", strings.Join(cmd.Args[1:], " "), code, out, said)
	}
	return out
}

// wantKilled runs a command that dies at a point as by kill -9.
func wantKilled(t testing.TB, cmd *exec.Cmd, point string) {
	t.Helper()
	cmd.Env = append(cmd.Env, "SPOOL_CRASH_AT="+point)
	_, out, said := outcomeOf(t, cmd)
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Fatalf("spool %s did not reach %s: %s%s", strings.Join(cmd.Args[1:], " "), point, out, said)
	}
}

// backupView is what backup and restore print as JSON.
type backupView struct {
	Snapshot string           `json:"snapshot"`
	Videos   int64            `json:"videos"`
	Objects  int64            `json:"objects"`
	Rows     map[string]int64 `json:"rows"`
	Missing  []string         `json:"missing"`
}

// filmOf returns the bytes of a resolution.
func (s *server) filmOf(w watch, name string) []byte {
	s.t.Helper()
	r := s.getReady(w.Resolutions[name].VideoURL)
	if r.status != http.StatusOK {
		s.t.Fatalf("GET %s answers %d", w.Resolutions[name].VideoURL, r.status)
	}
	return r.body
}

var miniVideo = newVideo{Filename: "mini.mp4", Resolutions: []string{"144p"}, IsPublic: true}

// A backup is made while clients upload and delete and films are encoded. Its copy has the same films
// under the same addresses, and what was being encoded becomes ready there. Before it, everything is
// killed once: that leaves nothing that could be taken for a backup or for a service.
func TestBackupBesideABusyServer(t *testing.T) {
	need.TimeFor(t, "package backup has each part of it, and the samples of docs/backup.md back up a server and restore it")
	t.Parallel()
	s := start(t, proxied())
	kept := s.submit(newVideo{Filename: "kept.mp4", Resolutions: []string{"144p"}, Thumbnails: []float64{0}}, clip(t, miniClip))
	film := s.filmOf(s.waitReady(kept), "144p")
	signed := strings.TrimPrefix(s.read(kept).Resolutions["144p"].VideoURL, s.url)
	file := filepath.Join(t.TempDir(), "spool.tar")
	s.killBackups(file)

	doomed := s.submit(miniVideo, clip(t, miniClip))
	working := s.submit(newVideo{Filename: "long.mp4", Resolutions: []string{"144p"}}, clip(t, longClip))
	waiting := s.create(miniVideo)
	var busy sync.WaitGroup
	busy.Go(func() { s.in(t).deleteVideo(doomed.ID) })
	busy.Go(func() { s.in(t).submit(miniVideo, clip(t, miniClip)) })
	view := printed[backupView](t, wantRun(t, s.command("backup", file, "--json")))
	busy.Wait()
	if view.Videos < 3 || len(view.Missing) > 0 || view.Rows["video"] < 3 {
		t.Errorf("backup of %+v; want three videos at least and nothing missing", view)
	}
	wantRun(t, s.command("backup", "--verify", file))
	s.deleteVideo(working.ID) // its work continues on the copy alone

	c := prepare(t, proxied(), withDataDir(filepath.Join(t.TempDir(), "copy")))
	c.killRestores(file)
	wantRun(t, c.command("restore", file))
	if code, _, said := outcomeOf(t, c.command("restore", file)); code != 1 || !strings.Contains(said, "not empty") {
		t.Errorf("a second restore exits with %d and says %q", code, said)
	}
	c.launch()
	c.waitReadyz()
	if got := c.filmOf(c.waitReady(kept), "144p"); !bytes.Equal(got, film) {
		t.Errorf("the film of the copy has %d bytes; want the same %d", len(got), len(film))
	}
	if r := c.get(c.url + signed); r.status != http.StatusOK || !bytes.Equal(r.body, film) {
		t.Errorf("a signed address of the original answers %d on the copy", r.status)
	}
	c.wantStatus(waiting, "pending_upload")
	w := c.waitReady(working)
	if r := c.get(w.Resolutions["144p"].VideoURL); r.status != http.StatusOK || int64(len(r.body)) != w.Resolutions["144p"].SizeBytes {
		t.Errorf("the film that was encoded meanwhile answers %d, %d bytes", r.status, len(r.body))
	}
	if r := s.get(s.read(kept).Resolutions["144p"].VideoURL); r.status != http.StatusOK {
		t.Errorf("the original answers %d after the copy was started", r.status)
	}
}

// killBackups kills backups to a file and to a folder, and then makes one in the folder.
func (s *server) killBackups(file string) {
	s.t.Helper()
	folder := filepath.Join(s.t.TempDir(), "folder") + "/"
	wantKilled(s.t, s.command("backup", file), "object-backed-up")
	if _, err := os.Stat(file); err == nil {
		s.t.Error("a killed backup has left a file of its name")
	}
	wantKilled(s.t, s.command("backup", folder), "object-backed-up")
	if code, _, said := outcomeOf(s.t, s.command("backup", "--verify", folder)); code != 1 || !strings.Contains(said, "no complete backup") {
		s.t.Errorf("verifying what a killed backup left exits with %d: %s", code, said)
	}
	view := printed[backupView](s.t, wantRun(s.t, s.command("backup", folder, "--keep=3", "--json")))
	if list := wantRun(s.t, s.command("restore", "--list", folder)); !strings.Contains(list, view.Snapshot) {
		s.t.Errorf("--list prints %s without %s", list, view.Snapshot)
	}
	wantRun(s.t, s.command("backup", "--verify", folder))
}

// killRestores kills restores. Nobody may use what they left.
func (s *server) killRestores(file string) {
	s.t.Helper()
	wantKilled(s.t, s.command("restore", file), "database-made") // which has tables then, and nothing in them
	for _, point := range []string{"object-restored", "database-made", "rows-restored"} {
		wantKilled(s.t, s.command("restore", file), point)
		if code, _, said := outcomeOf(s.t, s.command("keys", "list")); code != 1 || !strings.Contains(said, "was not finished") {
			s.t.Errorf("a command on half a restore exits with %d: %s", code, said)
		}
	}
	if code, _, said := outcomeOf(s.t, s.command("serve")); code != 1 || !strings.Contains(said, "was not finished") {
		s.t.Errorf("a server on half a restore exits with %d: %s", code, said)
	}
}

// From one machine to PostgreSQL and S3, or back: to what the tests of this run do not use.
func TestMigrateToTheOtherBackend(t *testing.T) {
	t.Parallel()
	s := start(t, proxied())
	u := s.submit(newVideo{Filename: "mini.mp4", Resolutions: []string{"144p"}}, clip(t, miniClip))
	film := s.filmOf(s.waitReady(u), "144p")

	dataDir := filepath.Join(t.TempDir(), "moved")
	settings := fmt.Sprintf("data_dir = %q\n", dataDir)
	c := prepare(t, proxied(), withDataDir(dataDir))
	if onFleet() {
		for _, name := range []string{"SPOOL_STORAGE_URL", "SPOOL_DATABASE_URL"} {
			delete(c.env, name)
		}
	} else {
		c.useFleet()
		settings += fmt.Sprintf("database_url = %q\nstorage_url = %q\n", c.env["SPOOL_DATABASE_URL"], c.env["SPOOL_STORAGE_URL"])
	}
	file := filepath.Join(t.TempDir(), "new.toml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	migrate := func() *exec.Cmd {
		cmd := s.command("migrate", "--to="+file, "--json")
		for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
			cmd.Env = append(cmd.Env, name+"="+c.env[name])
		}
		return cmd
	}
	if code, _, said := outcomeOf(t, migrate()); code != 1 || !strings.Contains(said, "using") && !strings.Contains(said, "in use") {
		t.Errorf("beside a running server it exits with %d: %s", code, said)
	}
	s.stop()
	wantKilled(t, migrate(), "object-backed-up")
	view := printed[backupView](t, wantRun(t, migrate()))
	if view.Videos != 1 || view.Objects < 2 {
		t.Errorf("migrated %+v; want a video with its files", view)
	}
	c.launch()
	c.waitReadyz()
	if got := c.filmOf(c.read(u), "144p"); !bytes.Equal(got, film) {
		t.Errorf("the film has %d bytes there; want the same %d", len(got), len(film))
	}
}

func TestBackupOnAFullDisk(t *testing.T) {
	t.Parallel()
	oneBackend(t, "the disk of the backup is the same on both")
	s := shared(t)
	s.waitReady(s.submit(miniVideo, clip(t, miniClip)))
	dir := rig.Disk(t, 1)
	rig.Fill(t, dir)
	code, _, said := outcomeOf(t, s.command("backup", filepath.Join(dir, "spool.tar")))
	if code != 1 || !strings.Contains(said, "the disk of "+dir) && !strings.Contains(said, "no space left") {
		t.Errorf("on a full disk it exits with %d: %s", code, said)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("it has left %v, %v", names, err)
	}
}
