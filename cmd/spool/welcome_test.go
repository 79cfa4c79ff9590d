package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spool-video/spool/test/need"
)

func TestWelcomeOnLaterStarts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := welcome(&out, welcomeWords{Address: "http://127.0.0.1:8080"}); err != nil {
		t.Fatal(err)
	}
	want := "\nSpool listens on http://127.0.0.1:8080\nUpload and watch in a browser: http://127.0.0.1:8080/\n\nTo create another API key: spool keys create --name=NAME\n"
	if out.String() != want {
		t.Errorf("prints %q, want %q", out.String(), want)
	}
}

// People export SPOOL_API_KEY for the command line, and then start a server in the same shell.
func TestWelcomeSaysWhereTheKeyIsFrom(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("a-long-key-of-the-file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		env  map[string]string
		want string
	}{
		{nil, nil, ""},
		{nil, map[string]string{"SPOOL_API_KEY": "a-long-key-of-a-shell"}, "set by SPOOL_API_KEY is valid here. The commands that speak to a server\nread the same variable."},
		{[]string{"--api-key=a-long-key-of-a-flag"}, map[string]string{"SPOOL_API_KEY": "a-long-key-of-a-shell"}, "set by --api-key is valid here.\n\n"},
		{nil, map[string]string{"SPOOL_API_KEY_FILE": file}, "set by SPOOL_API_KEY_FILE is valid here.\n\n"},
	} {
		c, found, err := sources{args: test.args, env: test.env}.parseAndFind(t)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := welcome(&out, welcomeWords{Address: "http://127.0.0.1:8080", Origin: c.keyOrigin(found)}); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(out.String(), "is valid here"); told != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%v %v: prints %q, want %q in it", test.args, test.env, out.String(), test.want)
		}
	}
}

func TestPublicAddress(t *testing.T) {
	t.Parallel()
	tests := []struct {
		base string
		ip   string
		want string
	}{
		{"", "127.0.0.1", "http://127.0.0.1:8080"},
		{"", "0.0.0.0", "http://127.0.0.1:8080"},
		{"", "::", "http://127.0.0.1:8080"},
		{"", "::1", "http://[::1]:8080"},
		{"https://video.example.com/", "127.0.0.1", "https://video.example.com"},
	}
	for _, tt := range tests {
		addr := &net.TCPAddr{IP: net.ParseIP(tt.ip), Port: 8080}
		if got := publicAddress(tt.base, addr); got != tt.want {
			t.Errorf("publicAddress(%q, %s) = %s, want %s", tt.base, tt.ip, got, tt.want)
		}
	}
}

// fakeService answers the walk-through's requests as the interface promises,
// and checks what it is sent.
func fakeService(t *testing.T, key string) *httptest.Server {
	const id = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"
	var uploaded, asked atomic.Int64
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	api := func(pattern string, status int, body func() string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-API-KEY") != key {
				t.Errorf("%s came with the key %q", pattern, r.Header.Get("X-API-KEY"))
			}
			if r.URL.Path == "/api/video" && !json.Valid(readAll(t, r.Body)) {
				t.Errorf("%s came without JSON", pattern)
			}
			w.WriteHeader(status)
			io.WriteString(w, body())
		})
	}
	api("POST /api/video", 201, func() string {
		return fmt.Sprintf(`{"id":"%s","uploadUrl":"%s/upload/1.k.s/%s","contentType":"video/mp4","isPublic":true,"resolutions":{"720p":{"status":"pending_upload"}}}`, id, srv.URL, id)
	})
	mux.HandleFunc("PUT /upload/{token}/{id}", func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Content-Type"); got != "video/mp4" {
			t.Errorf("the upload came as %q", got)
		}
		uploaded.Store(int64(len(readAll(t, r.Body))))
	})
	api("POST /api/video/"+id+"/complete-upload", 201, func() string {
		if uploaded.Load() < 1000 {
			t.Errorf("complete-upload came after %d bytes", uploaded.Load())
		}
		return `{"id":"` + id + `"}`
	})
	api("GET /api/video/"+id+"/public", 200, func() string {
		status := "processing"
		if asked.Add(1) > 1 {
			status = "ready"
		}
		return fmt.Sprintf(`{"id":"%s","status":"%s","isPublic":true,"resolutions":{"720p":{"id":"x","status":"processing","videoUrl":"%s/v/%s/720p.mp4"},"360p":{"id":"y","status":"ready","videoUrl":"%s/v/%s/360p.mp4"}}}`,
			id, status, srv.URL, id, srv.URL, id)
	})
	return srv
}

func readAll(t *testing.T, r io.Reader) []byte {
	b, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return b
}

// TestTheWalkThroughWorksWhenPasted runs the lines that a first start prints.
func TestTheWalkThroughWorksWhenPasted(t *testing.T) {
	t.Parallel()
	need.Programs(t, "curl", "ffmpeg")
	for _, shell := range []string{"bash", "dash"} {
		t.Run(shell, func(t *testing.T) {
			if shell == "dash" {
				need.TimeFor(t, "bash is the shell that most people have, and the harder one: it reads byte by byte")
			}
			t.Parallel()
			pasteWalkThrough(t, need.Program(t, shell))
		})
	}
}

// pasteWalkThrough lets a shell read the lines from its standard input, as it reads what is pasted. bash
// reads byte by byte, so that a program that reads too takes the rest away.
func pasteWalkThrough(t *testing.T, program string) {
	t.Helper()
	const key = "sp_secret"
	srv := fakeService(t, key)
	var text bytes.Buffer
	if err := welcome(&text, welcomeWords{Address: srv.URL, Key: key, Link: srv.URL + "/signin/link/X"}); err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(text.String(), "into another terminal:\n")
	script, _, found := strings.Cut(script, "\nIt prints")
	if !found {
		t.Fatalf("no walk-through in:\n%s", text.String())
	}
	shell := exec.CommandContext(t.Context(), program, "-eu")
	shell.Dir = t.TempDir()
	shell.Stdin = strings.NewReader(script)
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the walk-through fails: %v\n%s", err, out)
	}
	want := "ready\n" + srv.URL + "/v/0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e/720p.mp4\n" + srv.URL + "/v/0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e/360p.mp4\n"
	if !strings.HasSuffix(string(out), want) {
		t.Errorf("the walk-through prints\n%s\nwant at its end\n%s", out, want)
	}
}
