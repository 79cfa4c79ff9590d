package e2e

import (
	"bufio"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAClientThatSendsFirstHearsTheRefusal sends a whole file before it looks
// for an answer, as many HTTP libraries do.
func TestAClientThatSendsFirstHearsTheRefusal(t *testing.T) {
	oneMachineOnly(t, "S3 answers uploads")
	t.Parallel()
	s := start(t, withEnv("SPOOL_MAX_UPLOAD_BYTES", "1000000"))
	const size = 24 << 20 // more than the buffers of both ends hold
	for name, more := range map[string]string{
		"413": "Content-Type: video/mp4\r\n",
		"403": "Content-Type: text/plain\r\n",
		"400": "Content-Type: video/mp4\r\nContent-Range: bytes 0-9/20\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			u := s.in(t).create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
			c := dial(t, u, size, more)
			if _, err := c.Write(make([]byte, size)); err != nil {
				t.Fatalf("the connection broke before everything was sent: %v", err)
			}
			if line, err := bufio.NewReader(c).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 "+name) {
				t.Errorf("the answer is %q, %v; want %s", line, err, name)
			}
		})
	}
	if files := s.objects(""); len(files) > 0 {
		t.Errorf("refused uploads left %q", files)
	}
}

// TestABodyThatNeverComesHoldsNothing begins requests that are never finished.
func TestABodyThatNeverComesHoldsNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, path := range []string{"/nothing", "/healthz", "/api/video", "/upload/x/" + nobody} {
		c := dial(t, upload{UploadURL: s.url + path}, 10, "")
		if line, err := bufio.NewReader(c).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 4") {
			t.Errorf("PUT %s answers %q, %v", path, line, err)
		}
	}
	if took := s.stop(); took > 5*time.Second {
		t.Errorf("the stop waited %s for them", took)
	}
}

// TestAnEmptyObjectNeedsNoType: the interface allows {} as the body of a
// completion, and some clients name a type only where there is a file.
func TestAnEmptyObjectNeedsNoType(t *testing.T) {
	t.Parallel()
	s := shared(t)
	k := header{"X-API-KEY", s.key}
	u := decode[upload](t, s.send("POST", s.url+"/api/video", strings.NewReader(someVideo), k), http.StatusCreated)
	s.put(u, clip(t, miniClip))
	r := s.send("POST", s.url+"/api/video/"+u.ID+"/complete-upload", strings.NewReader("{}"), k)
	decode[completed](t, r, http.StatusCreated)
	if got := r.header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("X-Content-Type-Options is %q, want nosniff", got)
	}
	s.deleteVideo(u.ID)
}

func TestNothingIsForOtherUsers(t *testing.T) {
	usuallyOneBackend(t, "it is about files of the server")
	t.Parallel()
	s := start(t)
	s.putBody(s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}), strings.NewReader("private"))
	s.cli("keys", "list") // it opens the database, too
	files := 0
	err := filepath.WalkDir(s.dataDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		if open := info.Mode().Perm() & 0o077; open != 0 {
			t.Errorf("%s has the mode %s", strings.TrimPrefix(path, s.dataDir), info.Mode())
		}
		return nil
	})
	if least := byBackend(6, 3); err != nil || files < least {
		t.Errorf("found %d files, %v; want scratch and the lock, and on one machine the database, its journal and an object", files, err)
	}
}

func TestKeysOfAMistypedPlaceAreRefused(t *testing.T) {
	oneMachineOnly(t, "its database has an address of its own")
	t.Parallel()
	s := prepare(t)
	want := fmt.Sprintf("no database in %s; start spool serve there once, or name the right --data-dir", s.dataDir)
	if said := refused(t, s.command("keys", "create", "--name=x"), 2); !strings.Contains(said, want) {
		t.Errorf("spool keys says %q, want %q", said, want)
	}
	if _, err := os.Stat(s.dataDir); !os.IsNotExist(err) {
		t.Errorf("spool keys made the data directory (%v)", err)
	}
}
