package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// listing is the answer to a list request.
type listing struct {
	Videos     []listedVideo `json:"videos"`
	NextCursor string        `json:"nextCursor"`
}

// listedVideo is a video. It has the addresses of its pictures and no others.
type listedVideo struct {
	watch
	Filename  string    `json:"filename"`
	CreatedAt time.Time `json:"createdAt"`
}

// list reads one page as the holder of a key.
func (s *server) list(key string, query url.Values) listing {
	s.t.Helper()
	r := s.callAs(key, "GET", "/api/video?"+query.Encode(), nil)
	all := decode[listing](s.t, r, http.StatusOK)
	rest := string(r.body)
	for _, v := range all.Videos {
		for _, address := range []string{v.PosterURL, v.ThumbnailURL, v.StoryboardURL, v.PreviewURL} {
			if address != "" {
				rest = strings.ReplaceAll(rest, address, "")
			}
		}
	}
	for _, address := range []string{"http:", "https:", "videoUrl", "thumbnailImageUrls"} {
		if strings.Contains(rest, address) {
			s.t.Errorf("a list has addresses: %s", r.body)
		}
	}
	return all
}

// listAll follows the cursors to the end, and calls between after every page.
func (s *server) listAll(key string, query url.Values, between func(page int)) (all []listedVideo) {
	s.t.Helper()
	query = url.Values(http.Header(query).Clone())
	for page := 0; ; page++ {
		l := s.list(key, query)
		all = append(all, l.Videos...)
		if l.NextCursor == "" {
			return all
		}
		query.Set("cursor", l.NextCursor)
		if between != nil {
			between(page)
		}
	}
}

func idsOf(all []listedVideo) []string {
	ids := make([]string, len(all))
	for i, v := range all {
		ids[i] = v.ID
	}
	return ids
}

// TestAListWhileVideosComeAndGo pages through a list while others create and
// delete. What was there from before until after is told once, newest first.
func TestAListWhileVideosComeAndGo(t *testing.T) {
	t.Parallel()
	s := shared(t)
	var stay, leave []string
	for i := range 30 {
		u := s.create(newVideo{Filename: fmt.Sprintf("%d.mp4", i), Resolutions: []string{"144p"}, IsPublic: true})
		if i%3 == 0 {
			leave = append(leave, u.ID)
		} else {
			stay = append([]string{u.ID}, stay...)
		}
	}
	all := s.listAll(s.key, url.Values{"limit": {"2"}}, func(page int) {
		if page < len(leave) {
			s.deleteVideo(leave[len(leave)-1-page])
		}
		s.create(tinyVideo)
	})
	ids := idsOf(all)
	if n := len(slices.Compact(slices.Sorted(slices.Values(ids)))); n != len(ids) {
		t.Errorf("%d of %d entries are told twice", len(ids)-n, len(ids))
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(stay, id) })
	if !slices.Equal(ids, stay) {
		t.Errorf("of the videos that stayed %q are listed, want %q", ids, stay)
	}
	if !slices.IsSortedFunc(all, func(a, b listedVideo) int { return b.CreatedAt.Compare(a.CreatedAt) }) {
		t.Error("the list does not have the newest first")
	}
	for _, v := range s.list(s.key, url.Values{"limit": {"100"}}).Videos {
		if slices.Contains(leave, v.ID) {
			t.Errorf("%s was deleted and is listed", v.ID)
		}
	}
}

// TestAListIsTheTenantsOwn has videos of two tenants in several states.
func TestAListIsTheTenantsOwn(t *testing.T) {
	usuallyOneBackend(t, "storetest lists on both")
	t.Parallel()
	s := shared(t)
	stranger := s.stranger()
	if l := s.list(stranger, nil); l.Videos == nil || len(l.Videos) != 0 || l.NextCursor != "" {
		t.Errorf("the list of a new tenant is %+v", l)
	}
	v := tinyVideo
	v.CustomMetadata = json.RawMessage(`{"album":"holiday & <sea>","year":2030}`)
	ready := s.submit(v, clip(t, smallClip))
	v.CustomMetadata = json.RawMessage(`{"album":"party"}`)
	failed := s.create(v)
	s.tryComplete(failed.ID).problem(t, http.StatusUnprocessableEntity, "upload_missing")
	private := s.create(newVideo{Filename: "secret.mp4", Resolutions: []string{"144p"}})
	s.waitReady(ready)

	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"", []string{private.ID, failed.ID, ready.ID}},
		{"status=ready", []string{ready.ID}},
		{"status=fail", []string{failed.ID}},
		{"status=pending_upload", []string{private.ID}},
		{"status=processing", nil},
		{"metadata.album=party", []string{failed.ID}},
		{"metadata.album=holiday+%26+%3Csea%3E&metadata.year=2030", []string{ready.ID}},
		{"metadata.album=party&metadata.year=2030", nil},
		{"metadata.album=party&status=ready", nil},
		{"sort=oldest", []string{ready.ID, failed.ID, private.ID}},
		{"sort=createdAt&order=asc&metadata.album=party", []string{failed.ID}},
		{"sort=size", []string{ready.ID, private.ID, failed.ID}},
		{"sort=duration&order=asc", []string{failed.ID, private.ID, ready.ID}},
		{"sort=title&order=desc&isPublic=false", []string{private.ID}},
		{"sort=title&metadata.year=2030&q=mp4", []string{ready.ID}},
	} {
		query, err := url.ParseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []string{"1", "100"} {
			query.Set("limit", limit)
			if got := idsOf(s.listAll(s.key, query, nil)); !slices.Equal(got, tt.want) {
				t.Errorf("%s by %s: %q, want %q", tt.query, limit, got, tt.want)
			}
		}
	}
	if l := s.list(stranger, nil); len(l.Videos) != 0 {
		t.Errorf("another tenant is told %+v", l)
	}
	s.checkListed(ready)
	s.checkListed(failed)
	s.checkListed(private)
}

// stateByToken reads a video without URLs, as the holder of a token does.
func (s *server) stateByToken(id string) reply {
	s.t.Helper()
	made := decode[struct{ Token string }](s.t, s.call("POST", "/api/video/"+id+"/token", nil), http.StatusCreated)
	return s.get(s.url + "/api/video/" + id + "?token=" + made.Token)
}

// checkListed holds a video's entry in the list against its own state and
// against what a read with addresses tells.
func (s *server) checkListed(u upload) {
	s.t.Helper()
	all := s.list(s.key, nil).Videos
	i := slices.IndexFunc(all, func(v listedVideo) bool { return v.ID == u.ID })
	state := decode[json.RawMessage](s.t, s.stateByToken(u.ID), http.StatusOK)
	var one listedVideo
	if err := json.Unmarshal(state, &one); err != nil || i < 0 {
		s.t.Fatalf("entry %d of the list, state %s: %v", i, state, err)
	}
	read, poster := s.read(u), all[i].PosterURL
	if (poster == "") != (read.PosterURL == "") || u.IsPublic && poster != read.PosterURL {
		s.t.Errorf("the poster is listed as %q, a read tells %q", poster, read.PosterURL)
	}
	if read.Status == "ready" {
		if r := s.get(poster); r.status != http.StatusOK {
			s.t.Errorf("the poster as it is listed answers %d", r.status)
		}
	}
	all[i].PosterURL, all[i].ThumbnailURL, all[i].StoryboardURL, all[i].PreviewURL = "", "", "", "" // the state has no address
	if got, want := string(encode(s.t, all[i])), string(encode(s.t, one)); got != want {
		s.t.Errorf("listed is %s, its state %s", got, want)
	}
	for n := range read.AudioTracks {
		read.AudioTracks[n].URL = ""
	}
	read.HLSURL, read.DASHURL, read.EmbedURL, read.WatchURL = "", "", "", ""
	read.PosterURL, read.ThumbnailURL, read.StoryboardURL, read.PreviewURL = "", "", "", ""
	for name, r := range read.Resolutions {
		r.VideoURL, r.ThumbnailImageURLs = "", nil
		read.Resolutions[name] = r
	}
	if got, want := string(encode(s.t, one.watch)), string(encode(s.t, read)); got != want || one.Filename == "" || one.CreatedAt.IsZero() {
		s.t.Errorf("the state is %s as %q, a read tells %s", got, one.Filename, want)
	}
}
