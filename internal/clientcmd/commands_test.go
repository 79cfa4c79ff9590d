package clientcmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/client"
)

const someID = "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"

// fullDisk is a standard output that takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// at returns an environment, and what is said on standard error.
func at(stdout io.Writer) (*Environment, *bytes.Buffer) {
	var stderr bytes.Buffer
	return &Environment{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: &stderr, Version: "test",
		Environ: func(string) (string, bool) { return "", false }, Size: func() (int, int) { return 0, 0 },
	}, &stderr
}

// answering returns a server with one answer to everything.
func answering(t *testing.T, answer string) Connection {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return Connection{Server: s.URL, APIKey: "key", JSON: true}
}

func TestAResultThatCannotBePrintedIsAnError(t *testing.T) {
	t.Parallel()
	video := `{"id": "` + someID + `", "status": "ready"}`
	u := &uploads{Upload: &Upload{Connection: Connection{JSON: true}}, board: &board{out: io.Discard}}
	u.env, _ = at(fullDisk{})
	u.printOutcome(t.Context(), "film.mov", u.board.add("film.mov"), client.Video{ID: someID}, nil)
	if u.tally.failures != 0 || !errors.Is(u.unsaid, syscall.ENOSPC) {
		t.Errorf("an upload whose result nobody gets: %d failures, %v", u.tally.failures, u.unsaid)
	}
	for name, c := range map[string]interface {
		Run(context.Context, *Environment) error
	}{
		"ls":         &List{Connection: answering(t, `{"videos": [`+video+`]}`), Limit: 50},
		"get":        &Get{Connection: answering(t, video), ID: someID, Life: time.Hour},
		"deliveries": &WebhookDeliveries{Connection: answering(t, `{"deliveries": [{"id": "x"}]}`), ID: someID, Limit: 20},
		"webhooks":   &WebhookList{answering(t, `{"webhooks": [{"id": "x"}]}`)},
	} {
		env, _ := at(fullDisk{})
		if err := c.Run(t.Context(), env); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s --json on a full disk ends with %v", name, err)
		}
	}
}

func TestALifeThatNoURLHasIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	nobody := Connection{Server: "http://127.0.0.1:1"}
	for _, life := range []time.Duration{0, -time.Hour, 8761 * time.Hour} {
		env, _ := at(io.Discard)
		upload := &Upload{Connection: nobody, Files: []string{"film.mov"}, Parallel: 1, Life: life}
		get := &Get{Connection: nobody, ID: someID, Life: life}
		for name, err := range map[string]error{"upload": upload.Run(t.Context(), env), "get": get.Run(t.Context(), env)} {
			if _, is := errors.AsType[*UsageError](err); !is || !strings.Contains(err.Error(), "--expires") {
				t.Errorf("%s --expires=%s: %v", name, life, err)
			}
		}
	}
}

func TestAPipeIsRefused(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "film.mov")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := (&uploads{Upload: &Upload{}}).send(t.Context(), pipe, &row{})
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("a pipe: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for somebody who writes into the pipe")
	}
}

func TestListeningToNobodyEndsSoon(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	env, said := at(io.Discard)
	err := (&WebhookListen{Connection: Connection{Server: "http://127.0.0.1:1", APIKey: "key"}}).Run(ctx, env)
	if ctx.Err() != nil || err == nil || !strings.Contains(said.String(), "nothing listens there") {
		t.Errorf("it ends with %v (%v), and says %q", err, ctx.Err(), said)
	}
}

func TestSpacesBetweenNamesDoNotCount(t *testing.T) {
	t.Parallel()
	env, _ := at(io.Discard)
	c := &Upload{Files: []string{" film.mov"}, Resolutions: []string{"1080p", " 480p"}, Parallel: 1, Life: time.Hour}
	if _, err := c.prepare(env); err != nil || !slices.Equal(c.Resolutions, []string{"1080p", "480p"}) || c.Files[0] != " film.mov" || c.Codecs != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// The address of a server may have a password for the proxy in front of it.
func TestNoMessageShowsThePasswordOfTheServer(t *testing.T) {
	t.Parallel()
	env, _ := at(io.Discard)
	for _, server := range []string{"http://spool:hunter2@127.0.0.1:1", "spool:hunter2@127.0.0.1", "http://spool:hun/ter2@127.0.0.1"} {
		c := &Connection{Server: server, APIKey: "key"}
		var said []string
		api, err := c.client(env, 0)
		if err == nil {
			_, err = api.Report(t.Context(), someID)
			said = append(said, c.explain(err), c.server())
		}
		if err == nil {
			t.Fatalf("%s answers", server)
		}
		if text := strings.Join(append(said, c.explain(err)), "\n"); strings.Contains(text, "ter2") || strings.Contains(text, "hun") {
			t.Errorf("of %s it says:\n%s", server, text)
		}
	}
}

// writeOnly is a server for a key that may not read.
func writeOnly(t *testing.T) Connection {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"status": 403, "code": "insufficient_scope", "detail": "This API key lacks the scope \"read\"."}`)
	})
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	mux.Handle("GET /api/key", answer(http.StatusOK, `{"scopes": ["write"], "defaultResolutions": ["144p"]}`))
	mux.Handle("POST /api/video", answer(http.StatusCreated, `{"id": "`+someID+`", "uploadUrl": "`+s.URL+`/upload", "contentType": "video/mp4", "resolutions": {"144p": {"status": "pending_upload"}}}`))
	mux.Handle("PUT /upload", answer(http.StatusOK, ""))
	mux.Handle("POST /api/video/{id}/complete-upload", answer(http.StatusCreated, `{"id": "`+someID+`", "resolutions": {"144p": {"status": "processing"}}}`))
	return Connection{Server: s.URL, APIKey: "key", JSON: true}
}

// In a pipe there is a line for each step, and for each quarter of a long one.
func TestLinesForSteps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mute bool
		want string
	}{
		{false, "a.mov: uploading 200 B\na.mov: uploading 50 %\na.mov: waiting\na.mov: encoding\na.mov: encoding 25 %\na.mov: encoding 51 %\na.mov: encoding 52 %\n"},
		{true, "a.mov: uploading 200 B\n"},
	} {
		var out bytes.Buffer
		r := (&board{out: &out, mute: tt.mute}).add("a.mov")
		for _, sent := range []int64{0, 10, 100, 110, 200} {
			r.uploading(sent, 200)
		}
		for _, part := range []float64{0, 0.1, 0.25, 0.26, 0.51} {
			r.follow(client.Video{Status: client.Processing, Progress: part})
		}
		r.printedAt = r.printedAt.Add(-linePause)
		for range 2 {
			r.follow(client.Video{Status: client.Processing, Progress: 0.52})
		}
		r.follow(client.Video{Status: client.Ready, Progress: 1})
		if out.String() != tt.want {
			t.Errorf("it prints %q; want %q", &out, tt.want)
		}
	}
}

func TestATestEventIsConfirmed(t *testing.T) {
	t.Parallel()
	c := answering(t, `{}`)
	for _, c.JSON = range []bool{true, false} {
		var out bytes.Buffer
		env, _ := at(&out)
		if err := (&WebhookTest{c, someID}).Run(t.Context(), env); err != nil || !strings.Contains(out.String(), someID) {
			t.Errorf("it ends with %v, and prints %q", err, &out)
		}
	}
}

func TestAMissingKeyIsAMissingSetting(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"status": 401, "code": "missing_api_key", "detail": "Send a key."}`)
	}))
	t.Cleanup(s.Close)
	c := Connection{Server: s.URL}
	for name, command := range map[string]interface {
		Run(context.Context, *Environment) error
	}{
		"upload": &Upload{Connection: c, Files: []string{"film.mov"}, Parallel: 1, Life: time.Hour}, "ls": &List{Connection: c, Limit: 50},
		"get": &Get{Connection: c, ID: someID, Life: time.Hour}, "watch": &Watch{c, []string{someID}}, "rm": &Remove{Connection: c, IDs: []string{someID, "b"}},
		"webhooks rm": &WebhookRemove{Connection: c, IDs: []string{someID, "b"}}, "webhooks test": &WebhookTest{c, someID},
	} {
		env, said := at(io.Discard)
		env.Environ = func(string) (string, bool) { return t.TempDir(), true }
		err := command.Run(t.Context(), env)
		if ended, ok := errors.AsType[*Ended](err); !ok || ended.Code != misused || strings.Count(said.String(), "SPOOL_API_KEY") != 1 {
			t.Errorf("%s without a key ends with %v, and says %q", name, err, said)
		}
	}
}

// TestAnIDThatIsNoneIsAWrongCommandLine wants one exit code of all commands that take an ID.
func TestAnIDThatIsNoneIsAWrongCommandLine(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"status": 400, "code": "invalid_request", "errors": [{"field": "id", "message": "must be a UUID"}]}`)
	}))
	t.Cleanup(s.Close)
	c := Connection{Server: s.URL, APIKey: "key"}
	for name, command := range map[string]interface {
		Run(context.Context, *Environment) error
	}{
		"get": &Get{Connection: c, ID: "nope", Life: time.Hour}, "watch": &Watch{c, []string{"nope", "no"}}, "rm": &Remove{Connection: c, IDs: []string{"nope", "no"}},
		"webhooks get": &WebhookGet{c, "nope"}, "webhooks rm": &WebhookRemove{Connection: c, IDs: []string{"nope"}},
		"webhooks replay": &WebhookReplay{c, []string{"nope"}}, "webhooks test": &WebhookTest{c, "nope"},
	} {
		env, said := at(io.Discard)
		err := command.Run(t.Context(), env)
		if ended, ok := errors.AsType[*Ended](err); !ok || ended.Code != misused || !strings.Contains(said.String(), "UUID") {
			t.Errorf("%s ends with %v, and says %q", name, err, said)
		}
	}
}

// newFilm makes a file to upload.
func newFilm(t *testing.T) string {
	t.Helper()
	film := filepath.Join(t.TempDir(), "film.mp4")
	if err := os.WriteFile(film, []byte("film"), 0o600); err != nil {
		t.Fatal(err)
	}
	return film
}

func TestAKeyThatMayOnlyWriteUploads(t *testing.T) {
	t.Parallel()
	film := newFilm(t)
	var out bytes.Buffer
	env, said := at(&out)
	state := t.TempDir()
	env.Environ = func(name string) (string, bool) { return state, name == "XDG_STATE_HOME" }
	c := &Upload{Connection: writeOnly(t), Files: []string{film}, Resolutions: []string{"144p"}, Parallel: 1, Life: time.Hour}
	if err := c.Run(t.Context(), env); err != nil {
		t.Fatalf("it ends with %v, and says %s", err, said)
	}
	for _, want := range []string{`"id":"` + someID + `"`, `"status":"processing"`, `"144p"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %s", &out, want)
		}
	}
}

// A video that has failed when the command ends was not done, also without --wait.
func TestAnUploadThatFailedAtOnceIsAFailure(t *testing.T) {
	t.Parallel()
	film := newFilm(t)
	var out bytes.Buffer
	env, said := at(&out)
	c := &Upload{Files: []string{film}, Resolutions: []string{"144p"}, Parallel: 1, Life: time.Hour}
	c.Connection = answering(t, `{"id": "`+someID+`", "status": "fail", "failure": {"code": "corrupt", "message": "The file is damaged."}, "uploadUrl": "http://127.0.0.1:1/", "resolutions": {"144p": {"status": "processing"}}}`)
	err := c.Run(t.Context(), env)
	if ended, ok := errors.AsType[*Ended](err); !ok || ended.Code != failed || !strings.Contains(said.String(), "The file is damaged.") || !strings.Contains(out.String(), `"corrupt"`) {
		t.Errorf("it ends with %v, prints %s and says %s", err, &out, said)
	}
}

func TestWhatIsNoSpoolIsCalledSo(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(s.Close)
	env, said := at(io.Discard)
	if err := (&List{Connection: Connection{Server: s.URL, APIKey: "key"}, Limit: 50}).Run(t.Context(), env); err == nil || !strings.Contains(said.String(), "it is no Spool") {
		t.Errorf("it ends with %v, and says %s", err, said)
	}
}

// Nothing says that a file was replaced which was not.
func TestAReplacementThatIsGivenUpIsNoSuccess(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ before, after, stdout, stderr string }{
		"given up":                    {"", "", "", "was given up"},
		"replaced":                    {"", `, "replacedAt": "2030-01-02T12:00:00Z"`, "replaced", ""},
		"given up, after another one": {`, "replacedAt": "2030-01-02T12:00:00Z"`, `, "replacedAt": "2030-01-02T12:00:00Z"`, "", "was given up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := ""
			mux := http.NewServeMux()
			mux.HandleFunc("GET /api/video/"+someID, func(w http.ResponseWriter, _ *http.Request) {
				more := tt.before
				if changed != "" {
					more = tt.after
				}
				_, _ = io.WriteString(w, `{"id": "`+someID+`", "status": "ready"`+more+`}`)
			})
			mux.HandleFunc("POST /api/video/"+someID+"/replace", func(w http.ResponseWriter, _ *http.Request) {
				changed = "yes"
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, `{"id": "`+someID+`"}`)
			})
			mux.HandleFunc("GET /api/video/"+someID+"/events", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusServiceUnavailable) // so it asks again and again
			})
			s := httptest.NewServer(mux)
			defer s.Close()
			var stdout bytes.Buffer
			env, stderr := at(&stdout)
			_ = (&Replace{Connection: Connection{Server: s.URL, APIKey: "key"}, ID: someID, File: "https://example.com/a.mp4", Wait: true}).Run(t.Context(), env)
			if !strings.Contains(stdout.String(), tt.stdout) || (stdout.Len() > 0) != (tt.stdout != "") || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("it prints %q and says %q", &stdout, stderr)
			}
		})
	}
}
