package e2e

import (
	"bytes"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"
)

// newFile is the body of a request to replace the file of a video.
type newFile struct {
	Filename    string   `json:"filename,omitempty"`
	Resolutions []string `json:"resolutions,omitempty"`
	SourceURL   string   `json:"sourceUrl,omitempty"`
}

// replace asks for another file of a video.
func (s *server) replace(id string, f newFile) upload {
	s.t.Helper()
	return decode[upload](s.t, s.call("POST", "/api/video/"+id+"/replace", f), http.StatusCreated)
}

// replaced gives a video another file and waits until it has it.
func (s *server) replaced(w watch, file string) watch {
	s.t.Helper()
	u := s.replace(w.ID, newFile{Filename: path.Base(file)})
	s.put(u, file)
	s.complete(w.ID)
	u.ID, u.IsPublic = w.ID, w.IsPublic
	var now watch
	s.until("the file to be replaced", readyTimeout, func() bool {
		now = s.read(u)
		if r := now.Replacement; r != nil && r.Failure != nil {
			s.t.Fatalf("the new file failed: %+v", r.Failure)
		}
		return now.Replacement == nil
	})
	return now
}

// TestReplacingAFile wants viewers of the old file to see nothing else, and everybody who comes later to see the new one.
func TestReplacingAFile(t *testing.T) {
	t.Parallel()
	s := shared(t)
	for name, public := range map[string]bool{"public": true, "private": false} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			before := s.publish(newVideo{Filename: "red.mp4", Resolutions: []string{"144p"}, IsPublic: public}, clip(t, redClip))
			old := s.segmentsOf(before)
			mp4 := s.get(before.Resolutions["144p"].VideoURL)

			u := s.replace(before.ID, newFile{Filename: "blue.mp4"})
			if u.ID != before.ID {
				t.Errorf("the answer is about %s", u.ID)
			}
			hidden := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindAllString(u.UploadURL, -1)
			s.wantHidden(hidden[len(hidden)-1])
			if r := s.call("DELETE", "/api/video/"+before.ID+"/replace", nil); r.status != http.StatusOK {
				t.Errorf("giving up answers %d %s", r.status, r.body)
			}
			var after watch
			if public {
				after = s.replaced(before, clip(t, blueClip))
			} else {
				out, _ := outcome(t, s.remote(t.TempDir(), "replace", before.ID, clip(t, blueClip), "--wait"), 0)
				if !strings.Contains(out, before.ID+"  replaced") {
					t.Errorf("spool replace prints %s", out)
				}
				u.IsPublic = false
				after = s.read(u)
			}

			for address, body := range old {
				if r := s.get(address); r.status == http.StatusOK && !bytes.Equal(r.body, body) {
					t.Errorf("%s is another file now", address)
				}
			}
			for address := range s.segmentsOf(after) {
				if _, same := old[address]; same {
					t.Errorf("both versions have %s", address)
				}
			}
			if before.Resolutions["144p"].ID != after.Resolutions["144p"].ID {
				t.Error("the resolution has another ID")
			}
			s.wantOtherMP4(after.Resolutions["144p"].VideoURL, mp4)
		})
	}
}

// segmentsOf returns the files that a player loads after the list of a video's renditions, by address.
func (s *server) segmentsOf(w watch) map[string][]byte {
	s.t.Helper()
	all := map[string][]byte{}
	name := regexp.MustCompile(`(?m)^[^#\s].*$|URI="([^"]*)"`)
	var load func(list string)
	load = func(list string) {
		for _, m := range name.FindAllStringSubmatch(string(s.get(list).body), -1) {
			file := m[0]
			if m[1] != "" {
				file = m[1]
			}
			address := beside(list, file)
			if _, known := all[address]; known {
				continue
			}
			if r := s.get(address); r.status == http.StatusOK {
				all[address] = r.body
			} else {
				s.t.Fatalf("%s answers %d %s", address, r.status, r.body)
			}
			if strings.HasSuffix(file, ".m3u8") {
				load(address)
			}
		}
	}
	load(w.HLSURL)
	return all
}

// wantOtherMP4 wants a client that has the beginning of the old file to get all of the new one.
func (s *server) wantOtherMP4(address string, old reply) {
	s.t.Helper()
	whole := s.get(address)
	if whole.status != http.StatusOK || bytes.Equal(whole.body, old.body) || whole.header.Get("ETag") == old.header.Get("ETag") {
		s.t.Fatalf("the MP4 file answers %d with the ETag %s; before it was %s", whole.status, whole.header.Get("ETag"), old.header.Get("ETag"))
	}
	rest := s.get(address, header{"Range", "bytes=100-"}, header{"If-Range", old.header.Get("ETag")})
	if rest.status != http.StatusOK || !bytes.Equal(rest.body, whole.body) {
		s.t.Errorf("the rest of the old file is answered %d with %d bytes; want all %d of the new one", rest.status, len(rest.body), len(whole.body))
	}
}

// wantHidden wants the video that has the new file until then not to be found.
func (s *server) wantHidden(id string) {
	s.t.Helper()
	for _, path := range []string{"", "/public", "/private/60", "/report", "/events"} {
		s.call("GET", "/api/video/"+id+path, nil).problem(s.t, http.StatusNotFound, "video_not_found")
	}
	for method, path := range map[string]string{"POST": "/complete-upload", "DELETE": "", "PATCH": ""} {
		body := any(nil)
		if method == "PATCH" {
			body = map[string]string{"title": "x"}
		}
		s.call(method, "/api/video/"+id+path, body).problem(s.t, http.StatusNotFound, "video_not_found")
	}
	if r := s.get(s.url + "/v/" + id + "/144p.mp4"); r.status != http.StatusNotFound {
		s.t.Errorf("its file answers %d", r.status)
	}
}

// TestAViewerPlaysThroughTheChange watches a red film in the player of the watch page while a blue one replaces it.
func TestAViewerPlaysThroughTheChange(t *testing.T) {
	oneBackend(t, "TestReplacingAFile loads the same files from a bucket")
	t.Parallel()
	findBrowser(t)
	s := start(t)
	before := s.publish(newVideo{Filename: "red.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, redClip))
	v := newVisitor(t, s)
	v.visit(before.WatchURL + "?autoplay=1&muted=1")
	v.waitPlaying()
	v.wait("red", shownColour+` === "red"`)
	s.replaced(before, clip(t, blueClip))
	eval[any](v.tab, inPlayer+".currentTime = 70")
	v.wait("the end of the film", inPlayer+".currentTime > 70.5 && "+inPlayer+".readyState >= 2")
	if got := eval[string](v.tab, shownColour); got != "red" {
		t.Errorf("after the change the viewer sees %s; want the film that began", got)
	}
	later := newVisitor(t, s) // with a cache of its own: a playlist may be kept for ten seconds
	later.visit(before.WatchURL + "?autoplay=1&muted=1")
	later.waitPlaying()
	later.wait("blue", shownColour+` === "blue"`)
}

// shownColour is JavaScript for the colour that the player shows.
const shownColour = `(() => {
  const media = ` + inPlayer + `.nativeEl ?? ` + inPlayer + `, canvas = document.createElement("canvas").getContext("2d");
  canvas.drawImage(media, 0, 0, 8, 8);
  const [r, , b] = canvas.getImageData(4, 4, 1, 1).data;
  return r > 150 && b < 100 ? "red" : b > 150 && r < 100 ? "blue" : r + "," + b;
})()`
