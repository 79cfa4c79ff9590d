package e2e

import (
	"bytes"
	"net/http"
	"testing"
)

type addition struct {
	Resolution string `json:"resolution"`
}

// add has another resolution made of a video.
func (s *server) add(id, name string) watch {
	s.t.Helper()
	return decode[watch](s.t, s.call("POST", "/api/video/"+id+"/resolutions", addition{name}), http.StatusCreated)
}

// retry has a failed resolution made again.
func (s *server) retry(id string) watch {
	s.t.Helper()
	return decode[watch](s.t, s.call("POST", "/api/video/resolution/"+id+"/retry", nil), http.StatusOK)
}

func TestAddingResolutions(t *testing.T) {
	usuallyOneBackend(t, "passes are decided above the back ends, and each of those passes its suite")
	t.Parallel()
	s := start(t)
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, Thumbnails: []float64{0}}, clip(t, tinyClip))
	s.add(u.ID, "240p") // most likely while the first one is made
	s.waitReady(u)
	added := s.add(u.ID, "360p")
	if r := added.Resolutions["360p"]; added.Status != "processing" || r.Status != "processing" || r.ID == "" {
		t.Errorf("the added resolution is %+v of a video that is %s; want both processing", r, added.Status)
	}
	if again := s.add(u.ID, "360p").Resolutions["360p"].ID; again != added.Resolutions["360p"].ID {
		t.Errorf("added again, the resolution is %s; want the same", again)
	}
	checkPlays(t, s, s.read(u).Resolutions["144p"].VideoURL)

	w := s.waitReady(u)
	if len(w.Resolutions) != 3 {
		t.Fatalf("the resolutions are %+v; want three", w.Resolutions)
	}
	wantFrames(t, w, tinyFrames)
	for _, r := range w.Resolutions {
		checkPlays(t, s, r.ThumbnailImageURLs[0])
	}
	s.waitIdle()
	if files := s.workFiles(); len(files) > 0 {
		t.Errorf("the rounds left %q", files)
	}
	s.replaceResolution(u, "144p")
}

// replaceResolution deletes a resolution and adds it again, at the same address: a client that has a part of the old
// file must never get the rest of the new one.
func (s *server) replaceResolution(u upload, name string) {
	s.t.Helper()
	w := s.read(u)
	addresses := []string{w.Resolutions[name].VideoURL, beside(w.HLSURL, name+".m3u8"), beside(w.HLSURL, name+"-init.mp4")}
	var before []reply
	for _, a := range addresses {
		before = append(before, s.get(a))
	}
	if r := s.call("DELETE", "/api/video/resolution/"+w.Resolutions[name].ID, nil); r.status != http.StatusOK {
		s.t.Fatalf("the deletion answers %d %s", r.status, r.body)
	}
	s.add(u.ID, name)
	s.waitReady(u)
	for i, a := range addresses {
		old, now := before[i], s.get(a)
		etag := old.header.Get("ETag")
		if old.status != http.StatusOK || now.status != http.StatusOK || etag == "" {
			s.t.Fatalf("%s answers %d and then %d, with the ETag %s", a, old.status, now.status, etag)
		}
		same := now.header.Get("ETag") == etag
		if same && !bytes.Equal(old.body, now.body) {
			s.t.Errorf("%s has the ETag %s of a file that it was before", a, etag)
		}
		rest := s.get(a, header{"Range", "bytes=10-"}, header{"If-Range", etag})
		if want := map[bool]int{true: http.StatusPartialContent, false: http.StatusOK}[same]; rest.status != want {
			s.t.Errorf("the rest of the file that %s was before gets %d, want %d", a, rest.status, want)
		}
		if again := s.get(a, header{"If-None-Match", etag}); (again.status == http.StatusNotModified) != same {
			s.t.Errorf("%s says %d to who has another file", a, again.status)
		}
	}
}

func TestAddingResolutionsThatAreRefused(t *testing.T) {
	oneBackend(t, "requests are refused before anything is stored")
	t.Parallel()
	s := shared(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}})
	to := "/api/video/" + u.ID + "/resolutions"
	s.call("POST", to, addition{"9p"}).problem(t, http.StatusBadRequest, "invalid_request")
	s.call("POST", to, nil).problem(t, http.StatusBadRequest, "invalid_request")
	s.call("POST", "/api/video/"+u.ID[1:]+"0/resolutions", addition{"240p"}).problem(t, http.StatusBadRequest, "invalid_request")
	id := s.read(u).Resolutions["144p"].ID
	s.call("POST", "/api/video/"+id+"/resolutions", addition{"240p"}).problem(t, http.StatusNotFound, "video_not_found")
	s.call("POST", "/api/video/resolution/"+u.ID+"/retry", nil).problem(t, http.StatusNotFound, "resolution_not_found")
	s.tryComplete(u.ID).problem(t, http.StatusUnprocessableEntity, "upload_missing")
	s.call("POST", "/api/video/resolution/"+id+"/retry", nil).problem(t, http.StatusConflict, "upload_failed")
}
