package e2e

import (
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
