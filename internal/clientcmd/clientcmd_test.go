package clientcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/client"
)

// hostile is a title that would take over a terminal.
const hostile = "a\x1b]0;owned\x07\x9b31m\u009b2J\u202Etxt.exe\r\nb\u2066\x7f"

func TestForeignTextIsNotObeyed(t *testing.T) {
	t.Parallel()
	got := forTerminal(hostile)
	if strings.ContainsFunc(got, obeyed) || !strings.HasPrefix(got, "a\ufffd]0;owned\ufffd") {
		t.Errorf("clean = %q", got)
	}
	if got := forTerminal("Grüße 漢字 🎬"); got != "Grüße 漢字 🎬" {
		t.Errorf("clean changes %q", got)
	}
	var out bytes.Buffer
	if err := printJSON(&out, client.Video{Title: "a\u009b2J\u202e\x1b\x7f"}); err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(out.String(), "\n")
	var back client.Video
	if err := json.Unmarshal([]byte(text), &back); err != nil || back.Title != "a\u009b2J\u202e\x1b\x7f" || strings.ContainsFunc(text, obeyed) {
		t.Errorf("JSON is %q, which reads as %q, %v", text, back.Title, err)
	}
}

func TestFiguresForPeople(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 230_000: "230 kB", 5_400_000_000: "5.4 GB"} {
		if got := formatBytes(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0:00", 61 * time.Second: "1:01", 3723 * time.Second: "1:02:03"} {
		if got := formatDuration(d); got != want {
			t.Errorf("clock(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestABarFitsItsTerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{10, 20, 40, 79, 200} {
		for _, phase := range []string{"uploading", "encoding"} {
			r := &row{name: strings.Repeat("long", 30), phase: phase, part: 0.5, sent: 50, total: 100, began: time.Now().Add(-10 * time.Second)}
			line := r.line(columns)
			if n := len([]rune(line)); n > columns {
				t.Errorf("in %d columns: %q has %d", columns, line, n)
			}
			if columns >= 79 && (!strings.Contains(line, "50 %") || !strings.Contains(line, "#-")) {
				t.Errorf("in %d columns: %q shows no half bar", columns, line)
			}
		}
	}
}

func TestABarShowsTheNameOfTheFile(t *testing.T) {
	t.Parallel()
	r := &row{name: "/a/very/long/way/through/many/folders/to/the/film of the summer.mov", phase: "encoding", part: 0.5}
	if line := r.line(79); !strings.HasPrefix(line, "film of the summer.mov  encoding") {
		t.Errorf("the bar is %q", line)
	}
	r.name = "films/short.mov"
	if line := r.line(79); !strings.HasPrefix(line, "films/short.mov  encoding") {
		t.Errorf("the bar is %q", line)
	}
}

func TestARefusedFileIsExplainedInWordsForPeople(t *testing.T) {
	t.Parallel()
	err := &client.Error{Status: 422, Code: "not_a_video", Detail: "The file is not a video. You can upload to the same address and complete again until 2030-01-02T03:04:05Z."}
	if got := new(Connection).explain(err); got != "The file is not a video. (422 not_a_video)" {
		t.Errorf("it says %q", got)
	}
}

func TestAFilmIsNoCaptions(t *testing.T) {
	t.Parallel()
	film := filepath.Join(t.TempDir(), "film.mp4")
	if err := os.WriteFile(film, make([]byte, 3_456_789), 0o600); err != nil {
		t.Fatal(err)
	}
	err := checkCaptions(film)
	if _, usage := errors.AsType[*UsageError](err); !usage || !strings.Contains(err.Error(), "has 3.5 MB, and captions may have 2.1 MB") {
		t.Errorf("%v; want the size of the file and the limit", err)
	}
}

func TestAnEventIsOneShortLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	listen := &WebhookListen{}
	e := client.FetchedEvent{Type: "video.ready", Body: `{"type":"video.ready","data":{"id":"0198c5b6","filename":"a.mov","title":"Our \u001bholiday","status":"ready","resolutions":{"720p":{}}}}`}
	if err := listen.printOutcome(&Environment{Stdout: &out}, e, client.DeliveryOutcome{}); err != nil {
		t.Fatal(err)
	}
	if _, line, _ := strings.Cut(out.String(), "  "); line != "video.ready               0198c5b6  ready  Our \ufffdholiday\n" {
		t.Errorf("prints %q", out.String())
	}
}

func TestTheLanguageOfAFile(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"film.en.vtt": "en", "/a/b.c/film.pt-BR.srt": "pt-BR", "film.vtt": "", "my.film.vtt": "", "en.vtt": ""} {
		got, err := languageOf(file)
		if _, usage := errors.AsType[*UsageError](err); got != want || usage != (want == "") {
			t.Errorf("languageOf(%s) = %q, %v; want %q", file, got, err, want)
		}
	}
}

func TestMetadataOnTheCommandLine(t *testing.T) {
	t.Parallel()
	m, err := parseMetadata([]string{"album=42", "note=a=b,c"})
	if err != nil || m["album"] != "42" || m["note"] != "a=b,c" {
		t.Errorf("parseMetadata = %v, %v", m, err)
	}
	for _, bad := range []string{"album", "=x"} {
		if _, err := parseMetadata([]string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ failures, refused, all, want int }{
		{0, 0, 3, 0}, {1, 0, 3, partly}, {1, 1, 3, partly}, {3, 0, 3, failed}, {3, 2, 3, failed}, {3, 3, 3, misused},
	} {
		code := 0
		if e, ok := errors.AsType[*Ended]((tally{tt.failures, tt.refused}).outcome(tt.all)); ok {
			code = e.Code
		}
		if code != tt.want {
			t.Errorf("%d of %d failed: %d, want %d", tt.failures, tt.all, code, tt.want)
		}
	}
}

func TestAnUploadIsRemembered(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "uploads")
	file := filepath.Join(t.TempDir(), "film.mov")
	stat := func(content string) os.FileInfo {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	begin := func(info os.FileInfo, v client.NewVideo) *resumeRecord {
		t.Helper()
		m, err := remember(dir, "http://host", file, info, v)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	info := stat("one")
	first := begin(info, client.NewVideo{})
	if _, err := remember(dir, "http://host", file, info, client.NewVideo{}); !errors.Is(err, errUploading) {
		t.Errorf("a second process gets %v", err)
	}
	first.release() // its process has died
	again := begin(info, client.NewVideo{})
	again.release()
	if first.Key == "" || again.Key != first.Key {
		t.Errorf("the keys are %q and %q; want the same", first.Key, again.Key)
	}
	other := begin(info, client.NewVideo{Public: true})
	changed := begin(stat("another"), client.NewVideo{})
	if other.Key == first.Key || changed.Key == first.Key {
		t.Error("other options, or another file, continue the same upload")
	}
	again = begin(info, client.NewVideo{})
	again.forget()
	again.release()
	if anew := begin(info, client.NewVideo{}); anew.Key == first.Key {
		t.Error("an upload that has ended is continued")
	}
}

func TestAnImportIsAskedForWithEveryOption(t *testing.T) {
	t.Parallel()
	var asked client.NewVideo
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id": "0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e"}`))
	}))
	defer server.Close()
	c, err := client.New(server.URL, "key")
	if err != nil {
		t.Fatal(err)
	}
	u := &uploads{client: c, Upload: &Upload{
		Resolutions: []string{"480p"}, Codecs: []string{"h264", "av1"}, Public: true, Title: "Holiday", Metadata: []string{"album=42"}, Wait: true,
	}}
	if u.wanted, err = u.newVideo(); err != nil {
		t.Fatal(err)
	}
	if _, err := u.fetch(t.Context(), "https://example.com/a.mp4", (&board{out: io.Discard}).add("a.mp4")); err != nil {
		t.Fatal(err)
	}
	want := client.NewVideo{
		Resolutions: u.Resolutions, Codecs: u.Codecs, Public: true, Title: "Holiday", Metadata: client.Metadata{"album": "42"}, SourceURL: "https://example.com/a.mp4",
	}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for %+v; want %+v", asked, want)
	}
}
