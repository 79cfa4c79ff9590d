package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// titled is what this file reads of a video.
type titled struct {
	ID, Title, Filename string
	CustomMetadata      map[string]any
}

// TestTitleAndMetadataCanBeChanged changes them, and looks wherever they are told.
func TestTitleAndMetadataCanBeChanged(t *testing.T) {
	t.Parallel()
	s := shared(t)
	plain := s.create(newVideo{Filename: "Holiday 2030.mov", Resolutions: []string{"144p"}, IsPublic: true})
	named := decode[upload](t, s.call("POST", "/api/video", `{"filename":"a.mp4","title":"Ünser <film>","resolutions":["144p"],"isPublic":true,"customMetadata":{"album":"sea"}}`), http.StatusCreated)
	wantTitle := func(u upload, want string) {
		t.Helper()
		state := s.call("GET", "/api/video/"+u.ID, nil)
		read := s.call("GET", "/api/video/"+u.ID+"/public", nil)
		for _, r := range []reply{state, read} {
			if got := decode[titled](t, r, http.StatusOK).Title; got != want {
				t.Errorf("the title is %q, want %q", got, want)
			}
		}
		found := false
		for _, v := range decode[struct{ Videos []titled }](t, s.call("GET", "/api/video", nil), http.StatusOK).Videos {
			found = found || v.ID == u.ID && v.Title == want
		}
		if !found {
			t.Errorf("the list does not have the title %q", want)
		}
	}
	wantTitle(plain, "Holiday 2030")
	wantTitle(named, "Ünser <film>")

	patch := func(u upload, body string) reply { return s.call("PATCH", "/api/video/"+u.ID, body) }
	changed := decode[titled](t, patch(plain, `{"title":"The sea","customMetadata":{"album":"sea","year":2030}}`), http.StatusOK)
	if changed.Title != "The sea" || changed.Filename != "Holiday 2030.mov" || changed.CustomMetadata["album"] != "sea" {
		t.Errorf("the answer is %+v", changed)
	}
	wantTitle(plain, "The sea")
	decode[titled](t, patch(named, `{"customMetadata":{"album":"party"}}`), http.StatusOK)
	wantTitle(named, "Ünser <film>")
	for album, want := range map[string]string{"sea": plain.ID, "party": named.ID} {
		if got := strings.Join(idsOf(s.listAll(s.key, url.Values{"metadata.album": {album}}, nil)), " "); got != want {
			t.Errorf("a search for %s finds %q, want %q", album, got, want)
		}
	}
	patch(plain, `{}`).problem(t, http.StatusBadRequest, "invalid_request")
	patch(plain, `{"title":"`+strings.Repeat("x", 201)+`"}`).problem(t, http.StatusBadRequest, "invalid_request")
	s.callAs(s.stranger(), "PATCH", "/api/video/"+plain.ID, `{"title":"mine"}`).problem(t, http.StatusNotFound, "video_not_found")
	wantTitle(plain, "The sea")
}
