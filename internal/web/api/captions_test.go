package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/video"
)

const captionsURL = "/api/video/" + testID + "/captions/en-us"

func TestPutCaptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		key      string
		replaced bool
		status   int
		want     string
	}{
		{testKey, false, 201, `{"language":"en","label":"English","kind":"subtitles","source":"uploaded","url":"http://example.com/captions-en-1.vtt"}`},
		{testKey, true, 200, `{"language":"en","label":"English","kind":"subtitles","source":"uploaded","url":"http://example.com/captions-en-1.vtt"}`},
		{writeKey, false, 201, `{"language":"en","label":"English","kind":"subtitles","source":"uploaded"}`},
	} {
		f := &fakeService{replaced: tt.replaced}
		r := request("PUT", captionsURL+"?label=a%20b&kind=captions", "WEBVTT\n")
		r.Header.Set("Content-Type", "text/vtt; charset=utf-8")
		r.Header.Set("X-API-KEY", tt.key)
		w := do(newHandler(t, f, Config{}), r)
		if w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.want {
			t.Errorf("the answer is %d %s, want %d %s", w.Code, w.Body, tt.status, tt.want)
		}
		want := captions.Upload{Language: "en-us", Label: "a b", Kind: video.CaptionsKind, Text: []byte("WEBVTT\n")}
		if diff := cmp.Diff(want, f.captions); diff != "" || f.id != testID {
			t.Errorf("captions of %s (-want +got):\n%s", f.id, diff)
		}
	}
}

func TestCaptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	f := &fakeService{}
	h := newHandler(t, f, Config{})
	send := func(contentType, body, key string) int {
		r := request("PUT", captionsURL, body)
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("X-API-KEY", key)
		return do(h, r).Code
	}
	for _, tt := range []struct {
		contentType, body, key string
		want                   int
	}{
		{"application/json", "{}", testKey, 415},
		{"text/html", "WEBVTT", testKey, 415},
		{"text/plain", strings.Repeat("x", captions.MaxSize+1), testKey, 413},
		{"text/plain", "WEBVTT", readKey, 403},
	} {
		if got := send(tt.contentType, tt.body, tt.key); got != tt.want {
			t.Errorf("%s of %d bytes is answered %d, want %d", tt.contentType, len(tt.body), got, tt.want)
		}
	}
	if f.calls > 0 {
		t.Error("the service was asked")
	}
	for _, contentType := range []string{"application/x-subrip", "text/plain", "text/vtt"} {
		if got := send(contentType, strings.Repeat("x", captions.MaxSize), testKey); got != 201 {
			t.Errorf("%s is answered %d", contentType, got)
		}
	}
}
