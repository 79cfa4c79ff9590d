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

// TestAVideoBecomesPrivateAndPublic wants the answer to have addresses that work, and all earlier ones to be dead, also
// of pages and pictures.
func TestAVideoBecomesPrivateAndPublic(t *testing.T) {
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "film.mp4", Resolutions: []string{"144p"}, IsPublic: true, Thumbnails: []float64{0}})
	s.put(u, clip(t, smallClip))
	s.complete(u.ID)
	s.waitReady(u)
	type read struct {
		IsPublic                                       bool
		HLSURL, DASHURL, EmbedURL, WatchURL, PosterURL string
		Resolutions                                    map[string]struct {
			VideoURL           string
			ThumbnailImageURLs []string
		}
	}
	addresses := func(r read) map[string]string {
		film := r.Resolutions["144p"]
		return map[string]string{"hls": r.HLSURL, "dash": r.DASHURL, "embed": r.EmbedURL, "watch": r.WatchURL, "poster": r.PosterURL, "film": film.VideoURL, "thumbnail": film.ThumbnailImageURLs[0]}
	}
	now := addresses(decode[read](t, s.call("GET", "/api/video/"+u.ID, nil), http.StatusOK))
	for _, public := range []bool{false, true, false} {
		body := map[bool]string{false: `{"isPublic":false,"title":"Now private"}`, true: `{"isPublic":true}`}[public]
		r := decode[read](t, s.call("PATCH", "/api/video/"+u.ID, body), http.StatusOK)
		if r.IsPublic != public || (r.WatchURL != "") != public {
			t.Errorf("%s is answered %+v", body, r)
		}
		for what, old := range now {
			if old == "" {
				continue
			}
			if status := s.send("GET", old, nil).status; status != http.StatusNotFound {
				t.Errorf("after %s the old address of %s is answered %d", body, what, status)
			}
		}
		now = addresses(r)
		for what, address := range now {
			if address == "" {
				continue
			}
			if status := s.send("GET", address, nil).status; status != http.StatusOK {
				t.Errorf("after %s the new address of %s is answered %d", body, what, status)
			}
		}
		status := s.send("GET", s.url+"/oembed?url="+url.QueryEscape(s.url+"/watch/"+u.ID), nil).status
		if (status == http.StatusOK) != public {
			t.Errorf("after %s oEmbed answers %d", body, status)
		}
	}
	s.call("PATCH", "/api/video/"+u.ID, `{"isPublic":null}`).problem(t, http.StatusBadRequest, "invalid_request")
	s.call("PATCH", "/api/video/"+u.ID, `{"isPublic":"yes"}`).problem(t, http.StatusBadRequest, "invalid_request")
}
