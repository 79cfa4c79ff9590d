package clientcmd

import (
	"bytes"
	"encoding/json"
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

// inFolder writes files and returns their folder.
func inFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAListSaysTheSameInBothForms(t *testing.T) {
	t.Parallel()
	dir := inFolder(t, map[string]string{
		"a.mp4": "film", "a.en.vtt": "WEBVTT",
		"list.csv": "\ufeffpath, title,tags,isPublic,metadata.course,trim,expiresAt,captions,sourceUrl\n" +
			"a.mp4,\"One, two\",x; y,yes,42,1-2,2030-05-01T12:00:00Z,a.en.vtt,\n\n,,,,,,,,https://example.com/b.mp4\n",
		"list.jsonl": `{"path": "a.mp4", "title": "One, two", "tags": ["x", "y"], "isPublic": true, "customMetadata": {"course": "42"}, "trim": {"startSeconds": 1, "endSeconds": 2}, "expiresAt": "2030-05-01T12:00:00Z", "captions": ["a.en.vtt"]}` +
			"\n\n" + `{"sourceUrl": "https://example.com/b.mp4"}` + "\n",
	})
	want := client.NewVideo{Title: "One, two", Tags: []string{"x", "y"}, Public: true, Metadata: client.Metadata{"course": "42"},
		Trim: &client.Trim{Start: 1, End: 2}, ExpiresAt: time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)}
	for _, name := range []string{"list.csv", "list.jsonl"} {
		lines, err := readList(filepath.Join(dir, name))
		if err != nil || len(lines) != 2 {
			t.Fatalf("%s: %+v, %v", name, lines, err)
		}
		if one := lines[0]; !reflect.DeepEqual(one.video, want) || one.path != filepath.Join(dir, "a.mp4") || one.captions[0] != filepath.Join(dir, "a.en.vtt") {
			t.Errorf("%s: the first line is %+v", name, one)
		}
		if two := lines[1]; two.video.SourceURL != "https://example.com/b.mp4" || two.path != "" {
			t.Errorf("%s: the second line is %+v", name, two)
		}
	}
}

func TestAFaultyListIsRefusedWhole(t *testing.T) {
	t.Parallel()
	dir := inFolder(t, map[string]string{"a.mp4": "film", "words.vtt": "WEBVTT"})
	for text, want := range map[string]string{
		"path\nb.mp4\n": "line 2: there is no file",
		"path\n.\n":     "line 2: . is not a regular file",
		"path,sourceUrl\na.mp4,https://example.com\n": "line 2: give either path or sourceUrl",
		"title\nHello\n":                   "line 2: give either path or sourceUrl",
		"path\na.mp4\na.mp4\n":             "line 3: is the same as line 2",
		"path,isPublic\na.mp4,maybe\n":     `line 2: isPublic: "maybe" is neither true nor false`,
		"path,trim\na.mp4,5\n":             "line 2: trim",
		"path,captions\na.mp4,words.vtt\n": "does not say its language",
		"path,colour\na.mp4,red\n":         `there is no column "colour"; there are acceptAudio,`,
		"path,title\na.mp4\n":              "line 2: ",
		"path\n\"a.mp4\n":                  "list.csv: ",
		"":                                 "list.csv: EOF",
		"path\n":                           "names no video",
	} {
		list := filepath.Join(dir, "list.csv")
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if lines, err := readList(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", text, lines, err, want)
		}
	}
}

// A list of thousands of faults does not scroll away what is wrong with it.
func TestNotEveryFaultIsTold(t *testing.T) {
	t.Parallel()
	dir := inFolder(t, map[string]string{"list.jsonl": strings.Repeat("{\"path\": \"none.mp4\"}\n", 500)})
	if _, err := readList(filepath.Join(dir, "list.jsonl")); err == nil || !strings.Contains(err.Error(), "and 480 more") || strings.Count(err.Error(), "\n") != 21 {
		t.Errorf("it says %v", err)
	}
}

func TestAReportThatWasCutOffGoesOn(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "r.jsonl")
	first, err := openReport(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openReport(name); err == nil || !strings.Contains(err.Error(), "another spool import") {
		t.Errorf("a second import at the same time: %v", err)
	}
	for _, e := range []reported{{Hash: "done", ID: "1", Status: client.Ready}, {Hash: "failed", ID: "2", Error: &fault{}, Failed: true}, {Hash: "cutoff", ID: "3", Error: &fault{}}, {Hash: "waits", ID: "4", Status: client.Processing}} {
		if err := first.add(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.file.WriteString(`{"hash": "cut`); err != nil {
		t.Fatal(err)
	}
	first.close()
	again, err := openReport(name)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	all := []line{{hash: "done"}, {hash: "failed"}, {hash: "cutoff"}, {hash: "waits"}, {hash: "cut"}}
	if todo := again.todo(all, false); len(todo) != 3 || again.run != first.run {
		t.Errorf("to do is %+v of %q, was %q", todo, again.run, first.run)
	}
	if todo := again.todo(all, true); len(todo) != 4 || again.videos["waits"].ID != "4" {
		t.Errorf("with --wait, to do is %+v", todo)
	}
	// After a lost connection, the same request finds the video again.
	for hash, want := range map[string]string{"failed": "-failed-1", "cutoff": "-cutoff-0"} {
		if key := again.keyOf(line{hash: hash}); key != again.run+want {
			t.Errorf("the key of %s is %s", hash, key)
		}
	}
	if text, _ := os.ReadFile(name); bytes.Contains(text, []byte(`"hash": "cut`)) {
		t.Errorf("the report is %s", text)
	}
}

// listing returns a server with videos, and what it was asked for last.
func listing(t *testing.T, ids ...string) (*client.Client, *string) {
	t.Helper()
	asked := new(string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = r.URL.RawQuery
		var out struct{ Videos []map[string]string }
		for _, id := range ids {
			out.Videos = append(out.Videos, map[string]string{"id": id})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"videos": out.Videos})
	}))
	t.Cleanup(s.Close)
	api, err := client.New(s.URL, "key")
	if err != nil {
		t.Fatal(err)
	}
	return api, asked
}

func TestAShortenedIDIsCompleted(t *testing.T) {
	t.Parallel()
	other := "0198c5b6-7d5e-7fff-9b1e-1f2a3b4c5d6e"
	api, asked := listing(t, someID, other)
	for typed, want := range map[string]string{
		someID: someID, someID[:18]: someID, strings.ToUpper(someID[:18]): someID, someID[:30]: someID,
		"0198c5b6-7d5e-70": "0198c5b6-7d5e-70", // of no video: the server says so
		"0198c5b":          "0198c5b",          // too short
		"film.mp4":         "film.mp4",
	} {
		if got, err := complete(t.Context(), api, typed); err != nil || got != want {
			t.Errorf("%s becomes %s, %v; want %s", typed, got, err, want)
		}
	}
	*asked = ""
	if _, err := complete(t.Context(), api, someID); err != nil || *asked != "" {
		t.Errorf("of a whole ID it asks for %s (%v)", *asked, err)
	}
	if _, err := complete(t.Context(), api, someID[:13]); err == nil || !strings.Contains(err.Error(), "2 videos") || !strings.Contains(err.Error(), other) {
		t.Errorf("an ID of two videos: %v", err)
	}
	if !strings.Contains(*asked, "createdAfter=2025-08-20") { // what the ID says
		t.Errorf("it asked for %s", *asked)
	}
}

func TestOnlyATerminalShortensIDs(t *testing.T) {
	t.Parallel()
	env, _ := at(io.Discard)
	if got := env.shown(someID); got != someID {
		t.Errorf("a script gets %s", got)
	}
	env.Interactive = true
	if got := env.shown(someID); got != "0198c5b6-7d5e-7c3a" {
		t.Errorf("a person gets %s", got)
	}
}

func TestAnEditChangesWhatWasEdited(t *testing.T) {
	t.Parallel()
	before := editableOf(client.Video{Title: "Old", Tags: []string{"a"}, Metadata: client.Metadata{"n": json.Number("1")}, AllowedOrigins: []string{"example.com"}})
	after := before
	after.Title, after.Tags, after.Metadata, after.AllowedOrigins = "New", nil, nil, nil
	c, any := before.changesTo(after)
	text, err := json.Marshal(c)
	if want := `{"title":"New","customMetadata":{},"tags":[],"allowedOrigins":null}`; err != nil || !any || string(text) != want {
		t.Errorf("the request is %s, %v; want %s", text, err, want)
	}
	if c, any := before.changesTo(before); any {
		t.Errorf("without an edit it changes %+v", c)
	}
}

func TestAnEditorIsRunUntilItsTextIsReadable(t *testing.T) {
	t.Parallel()
	env, said := at(io.Discard)
	dir := inFolder(t, map[string]string{"typed": "y\n"})
	typed, err := os.Open(filepath.Join(dir, "typed")) // the editor has it, too, as it has a terminal
	if err != nil {
		t.Fatal(err)
	}
	defer typed.Close()
	env.Stdin = typed
	editor := "printf x >> " + dir + `/runs; f() { if [ $(cat ` + dir + `/runs) = x ]; then echo broken > "$1"; else echo '{"title": "Mended", "tags": [], "customMetadata": {}, "isPublic": false, "expiresAt": null, "allowedOrigins": null, "allowNoOrigin": false}' > "$1"; fi; }; f`
	env.Environ = func(name string) (string, bool) { return editor, name == "EDITOR" }
	var e editable
	err = (&Edit{}).edit(t.Context(), env, editable{Title: "Old"}, func(changed editable) error { e = changed; return nil })
	if err != nil || e.Title != "Mended" || !strings.Contains(said.String(), "Edit it again?") {
		t.Errorf("it is %+v, %v, and said %q", e, err, said)
	}
}

// Who removes a line from the editor must not make a video playable everywhere.
func TestAnEditWithoutALineIsRefused(t *testing.T) {
	t.Parallel()
	dir := inFolder(t, map[string]string{"a.json": `{"title": "Mended"}`, "b.json": `{} {}`})
	if _, err := readEditable(filepath.Join(dir, "a.json")); err == nil || !strings.Contains(err.Error(), `"tags" is gone`) {
		t.Errorf("with the title alone: %v", err)
	}
	if _, err := readEditable(filepath.Join(dir, "b.json")); err == nil || !strings.Contains(err.Error(), "something follows") {
		t.Errorf("with two objects: %v", err)
	}
}

func TestEveryFieldOfACreateRequestIsAColumn(t *testing.T) {
	t.Parallel()
	for field := range reflect.TypeFor[client.NewVideo]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if _, is := columns[name]; !is && name != "-" && name != "clip" && name != "customMetadata" { // clips have no file; metadata has columns of its own
			t.Errorf("there is no column %s", name)
		}
	}
}

func TestOnlyPagesAreOpened(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"file:///bin/sh", "-a Terminal", "custom:thing", "https:///x"} {
		env, said := at(io.Discard)
		env.Environ = func(name string) (string, bool) { t.Error("a program is looked for"); return "", false }
		c := &Open{Connection: answering(t, `{"id": "`+someID+`", "watchUrl": "`+address+`"}`), ID: someID, Life: time.Hour}
		if err := c.Run(t.Context(), env); err == nil || !strings.Contains(said.String(), "no address of one") {
			t.Errorf("%s: %v, %q", address, err, said)
		}
	}
}

func TestNamesOfDownloads(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]client.Video{
		"Lesson 1.2 Loops.mp4":           {Title: "Lesson 1.2 Loops", Filename: "a.mov"},
		"a.mp4":                          {Filename: "a.mov"},
		"_rf.mp4":                        {Title: "-rf"},
		strings.Repeat("漢", 66) + ".mp4": {Title: strings.Repeat("漢", 200)},
	} {
		if got := localName(nameOf(v) + ".mp4"); got != want {
			t.Errorf("%+v becomes %s, want %s", v, got, want)
		}
	}
}

func TestASoundTrackIsAddedByAShortenedID(t *testing.T) {
	t.Parallel()
	var added string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			added = r.URL.Path
		}
		_, _ = io.WriteString(w, `{"videos": [{"id": "`+someID+`"}]}`)
	}))
	defer s.Close()
	env, said := at(io.Discard)
	c := &AudioAdd{Connection: Connection{Server: s.URL, APIKey: "key"}, ID: someID[:18], File: "https://example.com/dub.mp3"}
	if err := c.Run(t.Context(), env); err != nil || added != "/api/video/"+someID+"/audio" {
		t.Errorf("it is added at %q (%v, %q)", added, err, said)
	}
}
