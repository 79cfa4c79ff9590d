package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/test/rig"
)

// refused runs a command that must fail, and returns what it said.
func refused(t testing.TB, cmd *exec.Cmd, code int) string {
	t.Helper()
	var said strings.Builder
	cmd.Stderr = &said
	_ = cmd.Run() // how it ended is looked at below
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("%v ends with %v, want exit code %d; it said %s", cmd.Args[1:], cmd.ProcessState, code, said.String())
	}
	return said.String()
}

func TestASecondServerIsKeptOut(t *testing.T) {
	t.Parallel()
	s := start(t)
	said := refused(t, s.command("serve"), 1)
	if pid := fmt.Sprint(s.cmd.Process.Pid); !strings.Contains(said, pid) || !strings.Contains(said, s.dataDir) || !strings.Contains(said, "another spool") {
		t.Errorf("the second server says %q, want who uses the data directory", said)
	}
	if r := s.get(s.url + "/readyz"); r.status != http.StatusOK {
		t.Errorf("the first server answers %d afterwards", r.status)
	}
}

// A database, or a setting, that was lost: the videos must be there when it is found again.
func TestAnotherDatabaseDoesNotCostTheVideos(t *testing.T) {
	oneMachineOnly(t, "the same rule holds for a bucket, which has no database beside it to lose")
	t.Parallel()
	s := start(t)
	u := s.submit(tinyVideo, clip(t, smallClip))
	s.waitReady(u)
	s.until("the chunk files to be purged", readyTimeout, s.idle)
	s.stop()
	files := s.filesOf(u.ID)
	hidden := filepath.Join(t.TempDir(), "spool.db")
	if err := os.Rename(filepath.Join(s.dataDir, "spool.db"), hidden); err != nil {
		t.Fatal(err)
	}
	s.restart()
	s.until("the server to say that the videos are another's", readyTimeout, func() bool { return strings.Contains(s.log.String(), "videos of another database") })
	s.stop()
	if err := os.Rename(hidden, filepath.Join(s.dataDir, "spool.db")); err != nil {
		t.Fatal(err)
	}
	s.restart()
	if got := s.filesOf(u.ID); len(files) == 0 || !slices.Equal(got, files) {
		t.Errorf("objects = %v; want %v", got, files)
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	oneBackend(t, "the port decides")
	t.Parallel()
	s := start(t)
	other := prepare(t, withEnv("SPOOL_LISTEN", strings.TrimPrefix(s.url, "http://")))
	if said := refused(t, other.command("serve"), 1); !strings.Contains(said, "already; stop it or choose another --listen") {
		t.Errorf("the server says %q", said)
	}
}

func TestWrongSettingsAreExplained(t *testing.T) {
	oneBackend(t, "settings are checked before anything is opened")
	t.Parallel()
	s := prepare(t, withEnv("SPOOL_UPLOAD_URL_TTL", "59s"), withEnv("SPOOL_LOG_FORMAT", "xml"), withEnv("SPOOL_ROLE", "boss"))
	said := refused(t, s.command("serve"), 2)
	for _, setting := range []string{"upload_url_ttl", "log_format", "role"} {
		if !strings.Contains(said, setting) {
			t.Errorf("the server says %q, want a word about %s", said, setting)
		}
	}
	if _, err := os.Stat(s.dataDir); !os.IsNotExist(err) {
		t.Errorf("a server that did not start left a data directory (%v)", err)
	}
}

func TestWrongCommandsAreExplained(t *testing.T) {
	oneBackend(t, "the command line decides")
	t.Parallel()
	s := start(t)
	tests := []struct {
		args, says string
		code       int
	}{
		{"keys create --name=x --scopes=owner", "owner", 2},
		{"keys create --name=x --expires=yesterday", "yesterday", 2},
		{"keys create", "--name", 2},
		{"keys revoke " + nobody, "", 1},
		{"dance", "dance", 2},
		{"serve --dance", "--dance", 2},
	}
	for _, tt := range tests {
		if said := refused(t, s.command(strings.Fields(tt.args)...), tt.code); !strings.Contains(said, tt.says) || said == "" {
			t.Errorf("spool %s says %q, want a word about %q", tt.args, said, tt.says)
		}
	}
}

var keyShown = regexp.MustCompile(`spool_[A-Za-z0-9_-]{40,}`)

func TestTheFirstStartShowsAKeyOnce(t *testing.T) {
	t.Parallel()
	s := start(t, withEnv("SPOOL_API_KEY", ""))
	secret := keyShown.FindString(s.out.String())
	if r := s.callAs(secret, "POST", "/api/video", someVideo); r.status != http.StatusCreated {
		t.Fatalf("the key %q of the first start answers %d %s", secret, r.status, r.body)
	}
	s.restart()
	if again := keyShown.FindString(s.out.String()); again != "" {
		t.Errorf("the second start shows a key, too")
	}
	if r := s.callAs(secret, "POST", "/api/video", someVideo); r.status != http.StatusCreated {
		t.Errorf("after the second start the key answers %d %s", r.status, r.body)
	}
	if strings.Contains(s.log.String(), secret) {
		t.Errorf("the log shows the key")
	}
	for place, text := range s.stored() {
		if strings.Contains(text, secret) {
			t.Errorf("%s holds the key itself, not only its hash", place)
		}
	}
}

// stored returns everything that the server has written down: the files of its
// data directory and the content of its database.
func (s *server) stored() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(s.dataDir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[filepath.Base(path)] = string(content(s.t, path))
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if onFleet() {
		all["the database"] = s.databaseText()
	}
	return all
}

func TestAKeyFromAFile(t *testing.T) {
	oneBackend(t, "the file decides")
	t.Parallel()
	file := save(t, "key", []byte("from-a-file-0123456789abcdef\n"))
	s := start(t, withEnv("SPOOL_API_KEY", ""), withEnv("SPOOL_API_KEY_FILE", file))
	if r := s.callAs("from-a-file-0123456789abcdef", "POST", "/api/video", someVideo); r.status != http.StatusCreated {
		t.Errorf("the key from the file answers %d %s", r.status, r.body)
	}
}

func TestAddressesBeginAsTheOperatorWants(t *testing.T) {
	usuallyOneBackend(t, "the API makes the addresses")
	t.Parallel()
	s := start(t)
	liar := []header{{"X-Forwarded-Host", "evil.example"}, {"X-Forwarded-Proto", "https"}, {"Forwarded", "host=evil.example"}}
	checkAddresses(t, s, liar, s.url)

	s.kill()
	s.env["SPOOL_BASE_URL"] = "https://video.example.com/"
	s.launch()
	address := regexp.MustCompile(`"listen":"([0-9.:]+)"`)
	s.until("the server to log where it listens", startTimeout, func() bool { return len(address.FindAllString(s.log.String(), -1)) == 2 })
	s.url = "http://" + address.FindAllStringSubmatch(s.log.String(), -1)[1][1]
	s.until("the server to be ready", startTimeout, func() bool {
		r, err := s.trySend("GET", s.url+"/readyz", nil)
		return err == nil && r.status == http.StatusOK
	})
	if !strings.Contains(s.out.String(), "Spool listens on https://video.example.com\n") {
		t.Errorf("the welcome is %q", s.out.String())
	}
	checkAddresses(t, s, liar, "https://video.example.com")
}

// checkAddresses wants the addresses of a video to begin like this, whatever
// the headers of a request say. Those of a bucket have their own beginning.
func checkAddresses(t testing.TB, s *server, headers []header, base string) {
	t.Helper()
	u := decode[upload](t, s.call("POST", "/api/video", someVideo, headers...), http.StatusCreated)
	if want := byBackend(base+"/upload/", s.bucket.url+"upload/"); !strings.HasPrefix(u.UploadURL, want) {
		t.Errorf("the upload address is %s; want it to begin with %s", u.UploadURL, want)
	}
	w := decode[watch](t, s.call("GET", "/api/video/"+u.ID+"/public", nil, headers...), http.StatusOK)
	if film := w.Resolutions["144p"].VideoURL; !strings.HasPrefix(film, base+"/v/") {
		t.Errorf("the playback address is %s; want it to begin with %s/v/", film, base)
	}
}

// The other tests run a program that can be told to crash. This is the one that people run.
func TestSIGTERMEndsTheServerQuickly(t *testing.T) {
	usuallyOneBackend(t, "TestRollingRestart of test/cluster stops processes there")
	t.Parallel()
	s := start(t, func(x *server) { x.binary = rig.Build(t) })
	s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, miniClip))
	if took := s.stop(); took > 3*time.Second {
		t.Errorf("an idle server took %s to stop", took)
	}
	s.restart()
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, chunksClip))
	s.until("ffmpeg to run", readyTimeout, func() bool { return s.runs("ffmpeg") })
	if took := s.stop(); took > 8*time.Second {
		t.Errorf("a busy server took %s to stop", took)
	}
	s.restart()
	if w := s.read(u); w.Status != "processing" && w.Status != "ready" {
		t.Errorf("after the stop the video is %s", w.Status)
	}
	s.deleteVideo(u.ID) // going on is the subject of other tests
}

func TestVersionAndHelp(t *testing.T) {
	oneBackend(t, "nothing is opened")
	t.Parallel()
	s := prepare(t)
	if out := s.cli("version"); !strings.HasPrefix(out, "spool ") && strings.TrimSpace(out) == "" {
		t.Errorf("spool version prints %q", out)
	}
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"keys", "--help"}, {"keys", "create", "--help"}, {"signing-keys", "--help"}} {
		if out := s.cli(args...); !strings.Contains(out, "Usage: spool") {
			t.Errorf("spool %v prints %q", args, out)
		}
	}
}
