package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// ruled is what this file reads of a video.
type ruled struct {
	ID, ExpiresAt string
	Tags          []string
}

// TestTagsAndExpiryAreToldEverywhere changes both, and looks wherever they are told.
func TestTagsAndExpiryAreToldEverywhere(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true, Tags: []string{" b ", "a", "b"}, ExpiresAt: "2130-01-02T12:00:00+02:00"})
	other := s.create(newVideo{Filename: "b.mp4", Resolutions: []string{"144p"}, IsPublic: true, Tags: []string{"a", "A"}})
	want := func(tags, expires string) {
		t.Helper()
		all := []ruled{
			decode[ruled](t, s.call("GET", "/api/video/"+u.ID, nil), http.StatusOK),
			decode[ruled](t, s.call("GET", "/api/video/"+u.ID+"/public", nil), http.StatusOK),
		}
		for _, v := range decode[struct{ Videos []ruled }](t, s.call("GET", "/api/video", nil), http.StatusOK).Videos {
			if v.ID == u.ID {
				all = append(all, v)
			}
		}
		for _, v := range all {
			if got := strings.Join(v.Tags, ","); got != tags || v.Tags == nil || v.ExpiresAt != expires || len(all) != 3 {
				t.Errorf("%d reads have the tags %q and expire at %q; want %q, %q", len(all), v.Tags, v.ExpiresAt, tags, expires)
			}
		}
	}
	tags := func(want string) {
		t.Helper()
		var got []string
		for _, tag := range decode[struct{ Tags []struct{ Tag, Videos any } }](t, s.call("GET", "/api/tag", nil), http.StatusOK).Tags {
			got = append(got, strings.TrimSpace(strings.Join([]string{tag.Tag.(string), strings.Repeat("|", int(tag.Videos.(float64)))}, " ")))
		}
		if text := strings.Join(got, ","); text != want {
			t.Errorf("the tags are %q; want %q", text, want)
		}
	}
	found := func(want string, query ...string) {
		t.Helper()
		if got := strings.Join(idsOf(s.listAll(s.key, url.Values{"tag": query}, nil)), " "); got != want {
			t.Errorf("a search for %q finds %q; want %q", query, got, want)
		}
	}
	want("b,a", "2130-01-02T10:00:00Z")
	tags("A |,a ||,b |")
	found(other.ID+" "+u.ID, "a")
	found(u.ID, "a", " b")
	found(other.ID, "A")
	found("", "A", "b")

	decode[ruled](t, s.call("PATCH", "/api/video/"+u.ID, `{"tags":["c"],"expiresAt":null}`), http.StatusOK)
	want("c", "")
	tags("A |,a |,c |")
	found(other.ID, "a")
	s.call("PATCH", "/api/video/"+u.ID, `{"expiresAt":"2020-01-01T00:00:00Z"}`).problem(t, http.StatusBadRequest, "invalid_request")
	s.call("DELETE", "/api/video/"+other.ID, nil)
	tags("c |")
	s.call("GET", "/api/video?tags=c", nil).problem(t, http.StatusBadRequest, "invalid_request")
	decode[ruled](t, s.call("PATCH", "/api/video/"+u.ID, `{"tags":null}`), http.StatusOK)
	want("", "")
	tags("")
}

func TestALongerVideoThanAcceptedFails(t *testing.T) {
	usuallyOneBackend(t, "the plan decides")
	t.Parallel()
	s := shared(t)
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true, MaxDuration: 0.1}, clip(t, miniClip))
	if w := s.waitFinished(u); w.Status != "fail" || w.Failure == nil || w.Failure.Code != "too_long" || !strings.Contains(w.Failure.Message, "0.1") {
		t.Errorf("the video is %s, %+v", w.Status, w.Failure)
	}
}
