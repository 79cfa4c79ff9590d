package api

import (
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/servicetest"
)

const someCaptions = "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n"

func TestPutCaptions(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	id := string(r.Ready(servicetest.Plan("720p", "240p")).ID)
	readWrite, write := r.newKey(auth.Read, auth.Write), r.newKey(auth.Write)
	for _, tt := range []struct {
		key, language string
		status        int
		want          string
	}{
		{readWrite, "en-us", 201, `{"language":"en-US","label":"a b","kind":"captions","source":"uploaded","url":"http://example.com/v/` + id + `/captions-`},
		{readWrite, "en-us", 200, `{"language":"en-US","label":"a b","kind":"captions","source":"uploaded","url":"http://example.com/v/` + id + `/captions-`},
		{write, "de", 201, `{"language":"de","label":"a b","kind":"captions","source":"uploaded"}`},
	} {
		q := request("PUT", "/api/video/"+id+"/captions/"+tt.language+"?label=a%20b&kind=captions", someCaptions)
		q.Header.Set("Content-Type", "text/vtt; charset=utf-8")
		q.Header.Set("X-API-KEY", tt.key)
		if w := r.send(q); w.Code != tt.status || !strings.HasPrefix(w.Body.String(), tt.want) {
			t.Errorf("the answer is %d %s, want %d %s", w.Code, w.Body, tt.status, tt.want)
		}
	}
}

func TestCaptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	v := r.Ready(servicetest.Plan("720p", "240p"))
	read := r.newKey(auth.Read)
	send := func(contentType, body, key string) int {
		q := request("PUT", "/api/video/"+string(v.ID)+"/captions/en", body)
		q.Header.Set("Content-Type", contentType)
		q.Header.Set("X-API-KEY", key)
		return r.send(q).Code
	}
	for _, tt := range []struct {
		contentType, body, key string
		want                   int
	}{
		{"application/json", "{}", r.key, 415},
		{"text/html", someCaptions, r.key, 415},
		{"text/plain", strings.Repeat("x", captions.MaxSize+1), r.key, 413},
		{"text/plain", someCaptions, read, 403},
	} {
		if got := send(tt.contentType, tt.body, tt.key); got != tt.want {
			t.Errorf("%s of %d bytes is answered %d, want %d", tt.contentType, len(tt.body), got, tt.want)
		}
	}
	if n := len(r.Video(v.ID).Files); n != len(v.Files) {
		t.Errorf("the video has %d files, want %d", n, len(v.Files))
	}
	largest := someCaptions + strings.Repeat("\n", captions.MaxSize-len(someCaptions))
	if got := send("text/vtt", largest, r.key); got != 201 {
		t.Errorf("the largest captions are answered %d", got)
	}
	if got := send("application/x-subrip", "1\n00:00:00,000 --> 00:00:01,000\nHello\n", r.key); got != 200 {
		t.Errorf("SubRip is answered %d", got)
	}
}
