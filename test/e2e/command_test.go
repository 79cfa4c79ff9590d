package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spool-video/spool/test/rig"
)

// remote returns a run of the program as a client of the server. Its state is in dir.
func (s *server) remote(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(lab.binary, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SPOOL_SERVER=" + s.url, "SPOOL_API_KEY=" + s.key, "TERM=xterm"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// outcome runs a command to its end.
func outcome(t testing.TB, cmd *exec.Cmd, code int) (stdout, stderr string) {
	t.Helper()
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	_ = cmd.Run() // how it ended is looked at below
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("spool %v ends with %v, want code %d; it printed %s and said %s", cmd.Args[1:], cmd.ProcessState, code, out.String(), said.String())
	}
	return out.String(), said.String()
}

// films puts files into a folder.
func films(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		text := []byte("this is not a video")
		if !strings.HasPrefix(name, "bad") {
			text = content(t, clip(t, miniClip))
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// cliResult is a line of upload --json, and of ls --json.
type cliResult struct {
	File, ID, Status, Title string
	CustomMetadata          map[string]string
	Resolutions             map[string]struct{ VideoURL, SameAs string }
	Error                   struct{ Code, Message string }
}

// jsonLines reads one object a line.
func jsonLines(t testing.TB, text string) map[string]cliResult {
	t.Helper()
	all := map[string]cliResult{}
	for line := range strings.Lines(text) {
		var r cliResult
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q is not one object a line: %v", line, err)
		}
		if r.File == "" {
			r.File = r.ID
		}
		all[r.File] = r
	}
	return all
}

func TestTheCommandLineUploads(t *testing.T) {
	usuallyOneBackend(t, "TestTheGoClient uploads to a bucket")
	t.Parallel()
	s := shared(t)
	evil := "e\x1b]0;owned\x07vil.mp4"
	dir := films(t, "one.mp4", evil, "bad.mp4")
	out, said := outcome(t, s.remote(dir, "upload", "one.mp4", evil, "bad.mp4", "missing.mp4", "--public", "--resolutions=144p", "--metadata=album=a=1", "--wait", "--json"), 3)
	all := jsonLines(t, out)
	one, bad := all["one.mp4"], all["bad.mp4"]
	if len(all) != 4 || one.Status != "ready" || one.CustomMetadata["album"] != "a=1" || all[evil].Status != "ready" {
		t.Errorf("it printed %s", out)
	}
	if bad.Error.Code != "not_a_video" || bad.Status != "fail" || all["missing.mp4"].Error.Message == "" {
		t.Errorf("it printed %s", out)
	}
	if r := s.get(one.Resolutions["144p"].VideoURL); r.status != 200 {
		t.Errorf("the film answers %d", r.status)
	}
	for _, step := range []string{"uploading ", "uploaded as " + one.ID, "ready\n"} {
		if !strings.Contains(said, "one.mp4: "+step) {
			t.Errorf("it does not say %q in %q", step, said)
		}
	}
	if strings.Contains(said+out, "\x1b") {
		t.Errorf("it said %q", said)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".local/state/spool/uploads/*")); err != nil || len(left) > 0 {
		t.Errorf("it left %v", left)
	}

	out, _ = outcome(t, s.remote(dir, "ls"), 0)
	if !strings.Contains(out, one.ID+"  ready") || strings.ContainsAny(out, "\x1b\x07") || strings.Count(out, "\n") != 4 {
		t.Errorf("ls prints %q", out)
	}
	out, _ = outcome(t, s.remote(dir, "ls", "--json", "--status=ready", "--metadata=album=a=1", "--sort=size", "--order=asc", "--limit=1"), 0)
	if len(jsonLines(t, out)) != 1 {
		t.Errorf("ls --limit=1 prints %s", out)
	}
	if out, _ = outcome(t, s.remote(dir, "get", one.ID), 0); !strings.Contains(out, "144p.mp4") || !strings.Contains(out, "album=a=1") {
		t.Errorf("get prints %s", out)
	}
	if out, _ = outcome(t, s.remote(dir, "watch", one.ID), 0); !strings.Contains(out, one.ID+"  ready") {
		t.Errorf("watch prints %s", out)
	}
	if _, said = outcome(t, s.remote(dir, "watch", one.ID, bad.ID), 3); !strings.Contains(said, "not_a_video") {
		t.Errorf("watch of a video that failed says %s", said)
	}
	outcome(t, s.remote(dir, "rm", one.ID), 0) // without a terminal nobody is asked
	if _, said = outcome(t, s.remote(dir, "rm", "--yes", bad.ID, one.ID), 3); !strings.Contains(said, one.ID+": There is no video") {
		t.Errorf("rm says %s", said)
	}
	if _, said = outcome(t, s.remote(dir, "get", one.ID), 1); !strings.Contains(said, "video_not_found") {
		t.Errorf("get says %s", said)
	}
}

func TestTheCommandLineExplains(t *testing.T) {
	oneBackend(t, "nothing is stored")
	t.Parallel()
	s := shared(t)
	dir := films(t, "one.mp4", "two.mp4")
	for line, want := range map[string]string{
		"upload":                               `2 expected "<file> ..."`,
		"upload one.mp4 two.mp4 --title=x":     "2 --title, --trim and --captions are for a single file",
		"upload one.mp4 --metadata=x":          "2 is not KEY=VALUE",
		"upload one.mp4 --captions=film.vtt":   "2 does not say its language",
		"upload one.mp4 --resolutions=721p":    "2 must be one of",
		"upload one.mp4 --api-key=wrong":       "1 does not accept this API key",
		"ls --server=http://127.0.0.1:1":       "1 nothing listens there. Start it with spool serve, or name the server with SPOOL_SERVER",
		"upload x --server=http://127.0.0.1:1": "1 nothing listens there",
		"ls --server=localhost:8080":           "2 must be a URL such as",
		"ls --status=good":                     "2 must be one of",
		"get nonsense":                         "2 invalid_request",
	} {
		code, text, _ := strings.Cut(want, " ")
		if _, said := outcome(t, s.remote(dir, strings.Fields(line)...), int(code[0]-'0')); !strings.Contains(said, text) {
			t.Errorf("spool %s says %q, want %q", line, said, text)
		}
	}
}

// TestTheCommandLineResumes an upload that was stopped with Ctrl-C, and then killed.
func TestTheCommandLineResumes(t *testing.T) {
	oneBackend(t, "how the server keeps its part is tested with the client")
	t.Parallel()
	s := shared(t)
	way := newCutter(t, s)
	dir := t.TempDir()
	whole := bulky(t, 24*mib)
	if err := os.WriteFile(filepath.Join(dir, "film.mp4"), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	begin := func() (*exec.Cmd, *rig.Transcript) {
		cmd := s.remote(dir, "upload", "film.mp4", "--resolutions=144p", "--server="+way.address)
		said := new(rig.Transcript)
		cmd.Stdout, cmd.Stderr = said, said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, said
	}
	way.hold.Store(8 * mib)
	stopped, said := begin()
	s.until("the first part to arrive", readyTimeout, func() bool { return way.held.Load() == 1 })
	if err := stopped.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = stopped.Wait() // how it ended is looked at below
	if code := stopped.ProcessState.ExitCode(); code != 1 || !strings.Contains(said.String(), "run the same command again to continue") {
		t.Errorf("Ctrl-C ends it with %v; it says %s", stopped.ProcessState, said)
	}
	killed, said := begin()
	s.until("the second part to arrive", readyTimeout, func() bool { return way.held.Load() == 2 })
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	if !strings.Contains(said.String(), "resuming at") {
		t.Errorf("the second command says %s", said)
	}
	way.hold.Store(0)
	last := s.remote(dir, "upload", "film.mp4", "--resolutions=144p", "--server="+way.address, "--json")
	out, words := outcome(t, last, 0)
	if !strings.Contains(words, "resuming at") {
		t.Errorf("the third command says %s", words)
	}
	r := jsonLines(t, out)["film.mp4"]
	for _, name := range s.objects("source/" + r.ID) {
		if stored, err := os.ReadFile(filepath.Join(s.objectsDir, name)); err != nil || !bytes.Equal(stored, whole) {
			t.Errorf("the source has %d bytes and differs from the %d that were sent (%v)", len(stored), len(whole), err)
		}
	}
	if out, _ := outcome(t, s.remote(dir, "ls"), 0); strings.Count(out, "\n") != 2 || !strings.Contains(out, r.ID) { // with the heading
		t.Errorf("there are several videos: %s", out)
	}
	s.deleteVideo(r.ID) // what becomes of it is the subject of other tests
}

// openTerminal returns both sides of a new terminal.
func openTerminal(t testing.TB) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this machine has no terminals: %v", err)
	}
	t.Cleanup(func() { ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	if err := unix.IoctlSetWinsize(int(theirs.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

func TestTheCommandLineOnATerminal(t *testing.T) {
	oneBackend(t, "it is about what a terminal shows")
	t.Parallel()
	s := shared(t)
	dir := films(t, "e\x1b]0;owned\x07vil.mp4")
	ours, theirs := openTerminal(t)
	screen := new(rig.Transcript)
	go func() { _, _ = io.Copy(screen, ours) }() // until it is closed
	run := func(want int, args ...string) {
		t.Helper()
		cmd := s.remote(dir, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
		if _ = cmd.Run(); cmd.ProcessState.ExitCode() != want {
			t.Errorf("spool %v ends with %v; the screen shows %q", args, cmd.ProcessState, screen)
		}
	}
	run(0, "upload", "e\x1b]0;owned\x07vil.mp4", "--resolutions=144p", "--wait")
	s.until("the result to be on the screen", readyTimeout, func() bool { return strings.Contains(screen.String(), "  ready  ") })
	shown := screen.String()
	if !strings.Contains(shown, "encoding  [") || !strings.Contains(shown, "\x1b[1A\x1b[J") || strings.Contains(shown, "\x1b]") || strings.Contains(shown, "\x07") {
		t.Errorf("the screen shows %q; want a bar that moves, and no title of another's", shown)
	}
	id := jsonLines(t, first(outcome(t, s.remote(dir, "ls", "--json"), 0)))
	for video := range id {
		if _, err := io.WriteString(ours, "n\n"); err != nil {
			t.Fatal(err)
		}
		run(1, "rm", video)
		if _, err := io.WriteString(ours, "y\n"); err != nil {
			t.Fatal(err)
		}
		run(0, "rm", video)
	}
	s.until("the question to be on the screen", readyTimeout, func() bool { return strings.Count(screen.String(), "for ever? [y/N]") == 2 })
	if len(id) != 1 || !strings.Contains(screen.String(), "Nothing was deleted.") {
		t.Errorf("the screen shows %q", screen)
	}
}

// TestTheCommandLineImports a list, is killed meanwhile, and goes on without making a video twice.
func TestTheCommandLineImports(t *testing.T) {
	t.Parallel()
	s := shared(t)
	way := newCutter(t, s)
	dir := films(t, "one.mp4", "two.mp4", "bad.mp4")
	if err := os.WriteFile(filepath.Join(dir, "big.mp4"), bulky(t, 24*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	list := "path,title,resolutions,tags,isPublic,metadata.course\n" +
		"one.mp4,\"Lesson, first\",144p,import;lesson,true,42\nbad.mp4,,144p,import,,\nbig.mp4,,144p,import,,\ntwo.mp4,,144p,import,,\n"
	if err := os.WriteFile(filepath.Join(dir, "list.csv"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	way.hold.Store(8 * mib)
	killed := s.remote(dir, "import", "list.csv", "--server="+way.address, "--parallel=1")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	s.until("a part of the large file to arrive", readyTimeout, func() bool { return way.held.Load() == 1 })
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	way.hold.Store(0)
	_, said := outcome(t, s.remote(dir, "import", "list.csv", "--server="+way.address), 3)
	for _, want := range []string{"1 of 4 lines are done already", "resuming at", "line 3: ", "3 of 4 lines are videos now; list.report.jsonl"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q in %q", want, said)
		}
	}
	all := jsonLines(t, first(outcome(t, s.remote(dir, "ls", "--json", "--tag=import", "--tag=lesson"), 0)))
	if len(all) != 1 {
		t.Errorf("the tags of the first line have %+v", all)
	}
	for _, v := range all {
		if v.Title != "Lesson, first" || v.CustomMetadata["course"] != "42" {
			t.Errorf("the first line became %+v", v)
		}
	}
	all = jsonLines(t, first(outcome(t, s.remote(dir, "ls", "--json", "--tag=import"), 0)))
	titles := map[string]int{}
	for id, v := range all {
		titles[v.Title]++
		s.deleteVideo(id)
	}
	if titles["bad"] != 2 || titles["big"] != 1 || titles["two"] != 1 || len(all) != 5 { // what failed is tried as another video
		t.Errorf("the videos are %v", titles)
	}
}

// TestTheCommandLineDownloads what was made, and what belongs to it.
func TestTheCommandLineDownloads(t *testing.T) {
	t.Parallel()
	s := shared(t)
	dir := films(t, "one.mp4")
	if err := os.WriteFile(filepath.Join(dir, "one.en.vtt"), []byte("WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := outcome(t, s.remote(dir, "upload", "one.mp4", "--resolutions=144p", "--captions=one.en.vtt", "--title=A/B", "--wait", "--json"), 0)
	id := jsonLines(t, out)["one.mp4"].ID
	short := id[:23] // others may be made in the same second
	outcome(t, s.remote(dir, "download", short), 0)
	if text, err := os.ReadFile(filepath.Join(dir, "A_B.mp4")); err != nil || !bytes.Equal(text[4:8], []byte("ftyp")) {
		t.Errorf("the file has %d bytes (%v)", len(text), err)
	}
	if _, said := outcome(t, s.remote(dir, "download", short), 2); !strings.Contains(said, "is there already") {
		t.Errorf("a second time it says %q", said)
	}
	if out, _ := outcome(t, s.remote(dir, "download", short, "--captions=en", "-o", "-"), 0); !strings.Contains(out, "Hello") {
		t.Errorf("the captions are %q", out)
	}
	if _, said := outcome(t, s.remote(dir, "download", short, "--resolution=480p"), 1); !strings.Contains(said, "there are 144p") {
		t.Errorf("of a resolution that it lacks it says %q", said)
	}
	if out, _ := outcome(t, s.remote(dir, "open", short, "--print"), 0); !strings.Contains(out, "/embed/") && !strings.Contains(out, "/watch/") {
		t.Errorf("its page is %q", out)
	}
	if out, _ := outcome(t, s.remote(dir, "captions", "ls", short), 0); !strings.Contains(out, "en ") || !strings.Contains(out, "uploaded") {
		t.Errorf("its captions are %q", out)
	}
	outcome(t, s.remote(dir, "captions", "rm", short, "en"), 0)
	if out, _ := outcome(t, s.remote(dir, "captions", "ls", short, "--json"), 0); out != "" {
		t.Errorf("its captions are %q", out)
	}
	s.deleteVideo(id)
}

func first(a, _ string) string { return a }

// TestTheDoctorIsHappyBesideAServer on both kinds of back end.
func TestTheDoctorIsHappyBesideAServer(t *testing.T) {
	t.Parallel()
	s := shared(t)
	out, _ := outcome(t, s.command("doctor", "--json", "--listen="+strings.TrimPrefix(s.url, "http://"), "--base-url="+s.url), 0)
	results := map[string]string{}
	for line := range strings.Lines(out) {
		var f struct{ Check, Result, Text, Fix string }
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if f.Result == "failure" || (f.Result == "ok") != (f.Fix == "") {
			t.Errorf("found %s", line)
		}
		results[f.Check] += f.Text + "\n"
	}
	if !strings.Contains(results["base_url"], "events pass") && !strings.Contains(results["base_url"], "holds events back") { // on a busy machine
		t.Errorf("of events it says %q", results["base_url"])
	}
	for check, want := range map[string]string{
		"ffmpeg": "encodes h264", "sandbox": "each layer is on", "limits": "cores", "disk": "MiB/s",
		"database": byBackend("SQLite 3", "PostgreSQL "), "storage": byBackend("linked", "copied, listed and deleted"),
		"server": "is ready", "base_url": "uploads of 5120 MiB pass", "webhooks": "",
	} {
		if results[check] == "" || !strings.Contains(results[check], want) {
			t.Errorf("%s: %q; want %q", check, results[check], want)
		}
	}
}
