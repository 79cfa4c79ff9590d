package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/servicetest"
)

func TestPutChapters(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	id := string(r.Ready(servicetest.Plan("720p", "240p")).ID)
	for _, tt := range []struct {
		contentType, body string
		status            int
		want              string
	}{
		{"", `{"chapters":[{"startSeconds":0.0004,"title":" a \n b "},{"startSeconds":1e1,"title":"c","endSeconds":4}]}`, 200,
			`{"chapters":[{"startSeconds":0,"endSeconds":10,"title":"a b"},{"startSeconds":10,"endSeconds":40,"title":"c"}]}`},
		{"application/json", `{"chapters":[]}`, 200, `{"chapters":[]}`},
		{"text/plain; charset=utf-8", "0:00 One\n0:10 Two", 200, `{"chapters":[{"startSeconds":0,"endSeconds":10,"title":"One"},{"startSeconds":10,"endSeconds":40,"title":"Two"}]}`},
		{"text/vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\nOne\n", 200, `{"chapters":[{"startSeconds":0,"endSeconds":40,"title":"One"}]}`},
		{"application/json", `{"chapters":[{"startSeconds":"1","title":2},{"startSeconds":1e999,"title":""},5,{"startSeconds":3}]}`, 400,
			`"errors":[{"field":"chapters[0].startSeconds","code":"wrong_type","message":"must be a number"},{"field":"chapters[0].title","code":"wrong_type","message":"must be a string"},{"field":"chapters[2]",`},
		{"application/json", `{}`, 400, `"field":"chapters","code":"required"`},
		{"application/json", `{"chapters":[` + strings.Repeat(`{"startSeconds":1,"title":"a"},`, 200) + `{"startSeconds":1,"title":"a"}]}`, 400, `must have at most 200 elements, has 201`},
		{"application/json", `{"chapters":[{"startSeconds":40,"title":"a"}]}`, 400, `must be before the end of the video at 0:40`},
		{"text/plain", "1:00 Late", 400, `Line 1: the time must be before the end of the video at 0:40.`},
		{"text/html", "0:00 One", 415, "application/json, text/vtt or text/plain"},
		{"text/plain", strings.Repeat("x", 1<<20+1), 413, "body_too_large"},
	} {
		q := request("PUT", "/api/video/"+id+"/chapters", tt.body)
		if q.Header.Del("Content-Type"); tt.contentType != "" {
			q.Header.Set("Content-Type", tt.contentType)
		}
		if w := r.send(q); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %.60s is answered %d %s, want %d %s", tt.contentType, tt.body, w.Code, w.Body, tt.status, tt.want)
		}
	}
	read := r.ask("GET", "/api/video/"+id+"/public", "").Body.String()
	want := fmt.Sprintf(`"chapters":[{"startSeconds":0,"endSeconds":40,"title":"One"}],"chaptersUrl":"http://example.com/v/%s/chapters.vtt"`, id)
	if !strings.Contains(read, want) {
		t.Errorf("the video is read as %s, want %s", read, want)
	}
	q := request("PUT", "/api/video/"+id+"/chapters", `{"chapters":[]}`)
	q.Header.Set("X-API-KEY", r.newKey(auth.Read))
	if w := r.send(q); w.Code != 403 {
		t.Errorf("a key that may only read gets %d", w.Code)
	}
}
