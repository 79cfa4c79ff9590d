package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestAVideoCanBeDeletedAtAnyStage deletes videos and looks whether anything
// of them is left.
func TestAVideoCanBeDeletedAtAnyStage(t *testing.T) {
	t.Parallel()
	s := start(t)
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"144p", "240p"}, IsPublic: true, Thumbnails: []float64{0}}
	create := func(s *server) upload { return s.create(ask) }
	tests := []struct {
		name  string
		reach func(*server) upload
	}{
		{"nothing uploaded", create},
		{"uploaded", func(s *server) upload {
			u := s.create(ask)
			s.put(u, clip(s.t, miniClip))
			return u
		}},
		{"refused", func(s *server) upload {
			u := s.create(ask)
			s.putBody(u, strings.NewReader("no video"))
			s.tryComplete(u.ID).problem(s.t, http.StatusUnprocessableEntity, "not_a_video")
			return u
		}},
		{"just completed", func(s *server) upload { return s.submit(ask, clip(s.t, smallClip)) }},
		{"ready", func(s *server) upload {
			u := s.submit(ask, clip(s.t, miniClip))
			s.waitReady(u)
			return u
		}},
		{"ready and private", func(s *server) upload {
			secret := ask
			secret.IsPublic = false
			u := s.submit(secret, clip(s.t, miniClip))
			s.waitReady(u)
			return u
		}},
	}
	var deleted []upload
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := s.in(t)
			u := tt.reach(s)
			w := s.read(u)
			s.deleteVideo(u.ID)
			checkGone(t, s, u, w)
			deleted = append(deleted, u)
		})
	}
	s.waitIdle()
	for _, u := range deleted {
		if files := s.filesOf(u.ID); len(files) > 0 {
			t.Errorf("files of a deleted video came back: %q", files)
		}
	}
}

// checkGone wants nothing to remember a video that was just deleted.
func checkGone(t testing.TB, s *server, u upload, before watch) {
	t.Helper()
	s.tryRead(u).problem(t, http.StatusNotFound, "video_not_found")
	s.tryComplete(u.ID).problem(t, http.StatusNotFound, "video_not_found")
	s.call("DELETE", "/api/video/"+u.ID, nil).problem(t, http.StatusNotFound, "video_not_found")
	for _, r := range before.Resolutions {
		s.call("DELETE", "/api/video/resolution/"+r.ID, nil).problem(t, http.StatusNotFound, "resolution_not_found")
		for _, url := range append(r.ThumbnailImageURLs, r.VideoURL) {
			s.get(url).problem(t, http.StatusNotFound, "not_found")
		}
	}
	if !onFleet() { // what becomes of it in a bucket has a test of its own
		s.putLate(u, http.StatusNotFound, "video_not_found")
	}
	if files := s.filesOf(u.ID); len(files) > 0 {
		t.Errorf("the deleted video left %q", files)
	}
}

func TestDeletingStopsTheWork(t *testing.T) {
	t.Parallel()
	s := start(t, withEnv("SPOOL_WORKERS", "1"))
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(t, chunksClip))
	s.until("a chunk to be encoded", readyTimeout, func() bool { return s.runs("ffmpeg") })
	w := s.read(u)
	if w.Status != "processing" {
		t.Fatalf("the video is %s already", w.Status)
	}
	s.deleteVideo(u.ID)
	checkGone(t, s, u, w)
	s.until("ffmpeg to be gone", 2*time.Second, func() bool { return !s.runs("ffmpeg") })
	s.waitIdle()
	if files := s.filesOf(u.ID); len(files) > 0 {
		t.Errorf("files of a deleted video came back: %q", files)
	}
	if scratch, err := os.ReadDir(filepath.Join(s.dataDir, "scratch")); err != nil || len(scratch) > 0 {
		t.Errorf("the scratch folder holds %v, %v; want it empty", scratch, err)
	}
	s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, clip(t, miniClip)) // the worker is free again
}

func TestDeletingResolutions(t *testing.T) {
	usuallyOneBackend(t, "the failpoint resolution-gone dies there, and TestADeletionReachesAddressesThatWereGivenOut looks for files")
	t.Parallel()
	s := start(t)
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p", "720p", "1080p"}, IsPublic: true, Thumbnails: []float64{0}}, clip(t, tinyClip))
	ready := s.waitReady(u)
	s.getReady(ready.Resolutions["144p"].ThumbnailImageURLs[0])
	s.call("DELETE", "/api/video/resolution/"+u.ID, nil).problem(t, http.StatusNotFound, "resolution_not_found")

	// 720p and 1080p are the same video: one must survive the other.
	left := []string{"144p", "720p", "1080p"}
	for len(left) > 0 {
		gone := ready.Resolutions[left[0]]
		left = left[1:]
		s.deleteResolution(gone.ID)
		s.call("DELETE", "/api/video/resolution/"+gone.ID, nil).problem(t, http.StatusNotFound, "resolution_not_found")
		for _, url := range append(gone.ThumbnailImageURLs, gone.VideoURL) {
			s.get(url).problem(t, http.StatusNotFound, "not_found")
		}
		r := s.tryRead(u)
		if got := keysOf(t, r.body, "resolutions"); fmt.Sprint(got) != fmt.Sprint(left) {
			t.Fatalf("the resolutions left are %q, want %q", got, left)
		}
		w := decode[watch](t, r, http.StatusOK)
		if w.Status != "ready" {
			t.Errorf("with %q left the video is %s, want ready", left, w.Status)
		}
		for _, r := range w.Resolutions {
			checkPlays(t, s, r.VideoURL)
			if still := s.getReady(r.ThumbnailImageURLs[0]); still.status != http.StatusOK {
				t.Errorf("a thumbnail that should be left answers %d", still.status)
			}
		}
	}
	if files, want := s.objects("public"), []string{"public/" + u.ID + "/audio.m4a", "public/" + u.ID + "/poster.jpg"}; !slices.Equal(files, want) {
		t.Errorf("the deleted resolutions left %q, want %q", files, want)
	}
	s.deleteVideo(u.ID)
}

func TestDeletingResolutionsInTheMiddleOfTheWork(t *testing.T) {
	usuallyOneBackend(t, "TestAVideoCanBeDeletedAtAnyStage and the failpoints delete there")
	t.Parallel()
	s := start(t, withEnv("SPOOL_WORKERS", "1"))
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"144p", "240p"}, IsPublic: true}
	some, all := s.submit(ask, clip(t, middleClip)), s.submit(ask, clip(t, middleClip))
	first := s.read(some).Resolutions["240p"]
	s.deleteResolution(first.ID)
	for _, r := range s.read(all).Resolutions {
		s.deleteResolution(r.ID)
	}
	if w := s.waitReady(some); len(w.Resolutions) != 1 || w.Resolutions["144p"].Status != "ready" {
		t.Errorf("what is left of the video is %+v, want 144p ready", w.Resolutions)
	}
	s.get(first.VideoURL).problem(t, http.StatusNotFound, "not_found")
	if w := s.waitFinished(all); w.Status != "fail" || len(w.Resolutions) != 0 {
		t.Errorf("the video without resolutions is %+v, want fail", w)
	}
	s.waitIdle()
	want := []string{"public/" + some.ID + "/144p.mp4", "public/" + some.ID + "/audio.m4a", "public/" + some.ID + "/poster.jpg"}
	files := slices.DeleteFunc(s.objects("public"), func(f string) bool { return strings.HasPrefix(f, "public/"+all.ID+"/") }) // poster and sound may have been made before
	if !slices.Equal(files, want) {
		t.Errorf("the public files are %q, want %q", files, want)
	}
}

// waitIdle waits until the server has no task left to do.
func (s *server) waitIdle() {
	s.t.Helper()
	s.until("the queue to be empty", readyTimeout, func() bool {
		for name, n := range s.metrics() {
			if strings.HasPrefix(name, "spool_queue_tasks{") && n > 0 {
				return false
			}
		}
		return true
	})
}

// runs reports whether the server runs a program of this name.
func (s *server) runs(program string) bool {
	s.t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		// "1234 (ffmpeg) S 1200 …": the id of the parent is the second field after the name.
		_, rest, _ := strings.Cut(string(b), " (")
		name, rest, _ := strings.Cut(rest, ") ")
		fields := strings.Fields(rest)
		if name == program && len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(s.cmd.Process.Pid) {
			return true
		}
	}
	return false
}
