package doctor

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/engine/sandbox"
	"github.com/spool-video/spool/test/child"
)

func TestTheDoctorLooksThroughTheProxy(t *testing.T) {
	t.Parallel()
	healthz := func(w http.ResponseWriter) { io.WriteString(w, `{"status":"ok"}`) }
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		result  string
		text    string
	}{
		"a good one": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				healthz(w)
				return
			}
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `{"status":403,"code":"url_invalid"}`)
		}, Warning, "answers a request for events with"}, // it is older than this program
		"one that limits bodies": {func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				healthz(w)
				return
			}
			http.Error(w, "<html>", http.StatusRequestEntityTooLarge)
		}, Failure, "a proxy refuses an upload of 64 MiB"},
		"one that leads elsewhere": {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") }, Failure, "does not lead to Spool"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(tt.handler)
			defer srv.Close()
			d, found := doctorFor(Config{BaseURL: srv.URL + "/"})
			d.checkBaseURL(t.Context())
			if tt.result == Failure && len(*found) > 2 {
				*found = (*found)[:2] // what events do is another Finding
			}
			wantFinding(t, *found, tt.result, tt.text)
		})
	}
	d, found := doctorFor(Config{})
	d.checkBaseURL(t.Context())
	wantFinding(t, *found, OK, "not set")
}

func TestTheDoctorLooksAtTheServer(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	d, found := doctorFor(Config{Address: "http://" + free.Addr().String()})
	d.checkServer(t.Context())
	wantFinding(t, *found, OK, "it can be started")
	for answer, want := range map[string]Finding{
		`{"status":"ready"}`: {Result: OK, Text: "is ready"},
		`{"status":503,"code":"not_ready","detail":"The database does not answer."}`: {Result: Failure, Text: "The database does not answer."},
		`<html>`: {Result: Warning, Text: "does not answer as Spool does"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, answer) }))
		defer srv.Close()
		d, found := doctorFor(Config{Address: srv.URL})
		d.checkServer(t.Context())
		wantFinding(t, *found, want.Result, want.Text)
	}
}

func TestTheDoctorKnowsScriptsAndBuckets(t *testing.T) {
	t.Parallel()
	if fix := sandboxFix(new(sandbox.UnfitError)); !strings.Contains(fix, "--ffmpeg") || strings.Contains(fix, "kernel") {
		t.Errorf("the fix for a script is %q", fix)
	}
	for storage, named := range map[string]bool{
		"s3://films?endpoint=http://localhost:9000&path_style=false": true, "s3://films?endpoint=http://localhost:9000": false,
		"s3://films?region=eu-central-1&path_style=false": false,
	} {
		if fix := bucketFix(storage); strings.Contains(fix, "path_style=true") != named || !strings.Contains(fix, "docs/storage.md") {
			t.Errorf("the fix for %s is %q", storage, fix)
		}
	}
}

func TestTheDoctorLooksAtTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, found := doctorFor(Config{DataDir: filepath.Join(dir, "not", "yet", "there")})
	d.checkDatabase(t.Context())
	wantFinding(t, *found, OK, "the first start of spool serve makes")
	d.checkStorage(t.Context())
	wantFinding(t, *found, OK, "can be written, linked, read and deleted")
	d.checkDisk(t.Context())
	if d.failures > 0 || !strings.Contains((*found)[len(*found)-1].Text, "MiB/s") {
		t.Errorf("found %+v", *found)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
	d, found = doctorFor(Config{DataDir: dir, MinFree: 1 << 62})
	d.checkDisk(t.Context())
	wantFinding(t, *found, Failure, "less than min_free")
	if err := os.WriteFile(filepath.Join(dir, datadir.Database), bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	d.checkDatabase(t.Context())
	wantFinding(t, *found, Failure, "not a database")
	child.AsNobody(t, func() { d.checkStorage(context.Background()) })
	if os.Geteuid() == 0 {
		wantFinding(t, *found, Failure, "permission denied")
	}
}
