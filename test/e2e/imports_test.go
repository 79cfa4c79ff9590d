package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// origin is a web server with films. Those below /held/ stop in the middle, and the rest comes when it is released.
type origin struct {
	*httptest.Server
	release chan struct{}
	mu      sync.Mutex
	ranges  []string // that were asked for
}

func newOrigin(t testing.TB, films map[string][]byte) *origin {
	o := &origin{release: make(chan struct{})}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		film, ok := films[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"1"`)
		o.mu.Lock()
		o.ranges = append(o.ranges, r.Header.Get("Range"))
		o.mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/held/") && r.Header.Get("Range") == "" {
			w.Header().Set("Content-Length", strconv.Itoa(len(film)))
			_, _ = w.Write(film[:len(film)*2/3])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		if strings.HasPrefix(r.URL.Path, "/held/") {
			select {
			case <-o.release:
			case <-r.Context().Done():
				return
			}
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(film))
	}))
	t.Cleanup(func() { o.CloseClientConnections(); o.Close() })
	return o
}

// last returns the range that was asked for last.
func (o *origin) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ranges[len(o.ranges)-1]
}

// importState is what reads say of an import.
type importState struct {
	Status         string
	ImportProgress *float64
	Failure        *failure
	Filename       string
	Replacement    *replacement
}

func (s *server) importState(id string) importState {
	s.t.Helper()
	return decode[importState](s.t, s.call("GET", "/api/video/"+id, nil), http.StatusOK)
}

// createImport creates a video whose file the server fetches.
func (s *server) createImport(address string, headers ...header) upload {
	s.t.Helper()
	body := fmt.Sprintf(`{"filename": "a.mp4", "resolutions": ["144p"], "isPublic": true, "sourceUrl": %q}`, address)
	headers = append(headers, header{"X-API-KEY", s.key}, header{"Content-Type", "application/json"})
	r := s.send("POST", s.url+"/api/video", strings.NewReader(body), headers...)
	for _, field := range []string{"uploadUrl", "tusUrl", "uploadExpiresAt", "maxUploadBytes", "9999"} {
		if strings.Contains(string(r.body), field) {
			s.t.Errorf("the reply has %s: %s", field, r.body)
		}
	}
	return decode[upload](s.t, r, http.StatusCreated)
}

// TestImports fetches a film, refuses what is none, and shows both to the clients.
func TestImports(t *testing.T) {
	t.Parallel()
	oneBackend(t, "TestAnImportSurvivesAKill fetches on both")
	page := []byte("<!DOCTYPE html><html><body>" + strings.Repeat("<p>no film</p>", 100) + "</body></html>")
	o := newOrigin(t, map[string][]byte{"/films/a.mp4": content(t, clip(t, miniClip)), "/page": page, "/held/page": bytes.Repeat(page, 40)})
	s := start(t, allowLoopback, withEnv("SPOOL_DEFAULT_RESOLUTIONS", "240p,144p"))

	key := header{"Idempotency-Key", "one"}
	u := s.createImport(o.URL+"/films/a.mp4", key)
	if again := s.createImport(o.URL+"/films/a.mp4", key); again.ID != u.ID {
		t.Errorf("a repeated request makes another video")
	}
	bad, missing := s.createImport(o.URL+"/page"), s.createImport(o.URL+"/nowhere")
	endless := s.createImport(o.URL + "/held/page") // refused by its beginning: the rest never comes
	for _, address := range []string{"http://169.254.169.254/latest/meta-data", "https://10.0.0.1/a.mp4", "http://2852039166/", "ftp://example.com/a", "nonsense", ""} {
		body := map[string]any{"filename": "a.mp4", "resolutions": []string{"144p"}, "isPublic": true, "sourceUrl": address}
		s.call("POST", "/api/video", body).problem(t, http.StatusBadRequest, "address_not_allowed")
	}
	s.waitReady(u)
	if got := s.importState(u.ID); got.ImportProgress == nil || *got.ImportProgress != 1 {
		t.Errorf("at the end, importProgress is %v; want 1", got.ImportProgress)
	}
	for id, code := range map[string]string{bad.ID: "not_a_video", endless.ID: "not_a_video", missing.ID: "import_refused"} {
		s.until(code, time.Minute, func() bool { return s.importState(id).Status == "fail" })
		if got := s.importState(id); got.Failure == nil || got.Failure.Code != code {
			t.Errorf("the failure is %+v; want %s", got.Failure, code)
		}
	}
	s.call("POST", "/api/video/"+missing.ID+"/complete-upload", nil).problem(t, http.StatusConflict, "import_unfinished")
	if r := s.call("POST", "/api/video/"+missing.ID+"/import", nil); r.status != http.StatusOK || !strings.Contains(string(r.body), `"pending_upload"`) {
		t.Errorf("another try answers %d %s", r.status, r.body)
	}
	if r := s.call("GET", "/api/audit?action=video.retry_import", nil); strings.Count(string(r.body), missing.ID) != 1 {
		t.Errorf("the audit log has %s", r.body)
	}
	s.until("the other try to fail", time.Minute, func() bool { return s.importState(missing.ID).Status == "fail" })
	s.call("POST", "/api/video/"+u.ID+"/import", nil).problem(t, http.StatusConflict, "upload_closed")
	s.importedAgain(u, o.URL)

	out, _ := outcome(t, s.remote(t.TempDir(), "upload", o.URL+"/films/a.mp4", "--wait", "--json"), 0)
	if got := jsonLines(t, out)[o.URL+"/films/a.mp4"]; got.Status != "ready" || got.Title != "a" || len(got.Resolutions) != 2 || got.Resolutions["144p"].VideoURL == "" {
		t.Errorf("spool upload of a URL prints %s", out)
	}
	dir := films(t, "one.mp4")
	out, _ = outcome(t, s.remote(dir, "upload", "one.mp4", "--wait", "--json"), 0)
	got := jsonLines(t, out)["one.mp4"]
	if got.Status != "ready" || len(got.Resolutions) != 2 || got.Resolutions["240p"].SameAs != "144p" || got.Resolutions["144p"].SameAs != "" {
		t.Errorf("spool upload of a file of 160x120 prints %s", out)
	}
	if out, _ = outcome(t, s.remote(dir, "get", got.ID), 0); !strings.Contains(out, "same as 144p") || !strings.Contains(out, "160x120") {
		t.Errorf("spool get prints %s", out)
	}
	metrics := string(s.send("GET", s.url+"/metrics", nil).body)
	if !strings.Contains(metrics, `spool_imports_total{outcome="completed"} 3`) || !strings.Contains(metrics, "spool_imports_running 0") {
		t.Error("the metrics do not show two completed imports")
	}
}

// TestAnImportSurvivesAKill of the process that fetches: what was stored is not fetched again.
func TestAnImportSurvivesAKill(t *testing.T) {
	t.Parallel()
	film := bulky(t, 38*mib)
	o := newOrigin(t, map[string][]byte{"/held/a.mp4": film})
	s := start(t, allowLoopback)
	u := s.createImport(o.URL + "/held/a.mp4")
	s.until("two thirds to be fetched", 2*time.Minute, func() bool {
		got := s.importState(u.ID)
		return got.ImportProgress != nil && *got.ImportProgress > 0.6 && got.Status == "pending_upload"
	})
	s.kill()
	close(o.release)
	s.restart()
	s.waitReady(u)
	if from := o.last(); !strings.HasPrefix(from, "bytes=") || from == "bytes=0-" {
		t.Errorf("after the kill, the rest was asked for with Range %q", from)
	}
	for _, name := range s.objects("source/" + u.ID) {
		if stored, err := os.ReadFile(filepath.Join(s.objectsDir, name)); err != nil || !bytes.Equal(stored, film) {
			t.Errorf("the source has %d bytes and differs from the %d of the file (%v)", len(stored), len(film), err)
		}
	}
	s.wantTidy(u)
	s.wantNoParts()
}

// importedAgain has the server fetch another file for a video, first from an address that has none.
func (s *server) importedAgain(u upload, origin string) {
	s.t.Helper()
	s.replace(u.ID, newFile{SourceURL: origin + "/nowhere"})
	s.until("the new file to fail", time.Minute, func() bool { return s.importState(u.ID).Replacement.Status == "fail" })
	if got := s.importState(u.ID); got.Status != "ready" || got.Replacement.Failure.Code != "import_refused" {
		s.t.Errorf("after a new file that is not there, the video is %+v", got)
	}
	s.replace(u.ID, newFile{SourceURL: origin + "/films/a.mp4", Filename: "again.mp4"})
	s.until("the file to be replaced", readyTimeout, func() bool { return s.importState(u.ID).Replacement == nil })
	if got := s.importState(u.ID); got.Filename != "again.mp4" {
		s.t.Errorf("the video is %+v", got)
	}
}
