package e2e

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/test/rig"
)

// tidyTimeout is how long a server may take to put its house in order. Left-overs
// are removed by a task, so this is a matter of seconds.
const tidyTimeout = 30 * time.Second

// moved returns u as it is after a restart: the server listens on another port,
// while the signature in the address stays good.
func (s *server) moved(u upload) upload {
	s.t.Helper()
	if onFleet() {
		return u // the bucket is where it was
	}
	address, err := url.Parse(u.UploadURL)
	if err != nil {
		s.t.Fatalf("upload address: %v", err)
	}
	u.UploadURL = s.url + address.RequestURI()
	return u
}

// wantTidy waits until the server has nothing to do, and then wants its data
// directory to hold the given videos and nothing else: one source each, the
// files of each ready resolution, no temporary file, no scratch, no child.
// Videos that failed for their own reasons keep their source, too.
func (s *server) wantTidy(live ...upload) {
	s.t.Helper()
	var found, wanted []string
	deadline := time.Now().Add(tidyTimeout)
	for {
		idle := s.idle()
		found, wanted = s.files(), s.wantedFiles(live)
		if idle && slices.Equal(found, wanted) && len(children(s.dataDir)) == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the server did not come to rest (idle: %t, children: %v)\nit keeps\n  %s\nwant\n  %s", idle,
				children(s.dataDir), strings.Join(found, "\n  "), strings.Join(wanted, "\n  "))
		}
		time.Sleep(4 * pollPause)
	}
}

// wantedFiles lists what the API's answers say must be stored. Sources have
// random names, so their last part is a star.
func (s *server) wantedFiles(live []upload) []string {
	s.t.Helper()
	var all []string
	for _, u := range live {
		w := s.read(u)
		all = append(all, "objects/source/"+u.ID+"/*")
		place := "private"
		if u.IsPublic {
			place = "public"
		}
		for _, address := range []string{w.PosterURL, w.StoryboardURL, w.PreviewURL} {
			if finished := w.Status == "ready" || w.Status == "fail"; finished && address != "" {
				all = append(all, "objects/"+place+"/"+u.ID+"/"+lastElement(address))
			}
		}
		if w.Status == "ready" && w.StoryboardURL != "" { // of a clip of the tests it has one sprite
			all = append(all, "objects/"+place+"/"+u.ID+"/storyboard-0.jpg")
		}
		for _, t := range w.AudioTracks {
			if t.Status == "ready" && t.URL != "" {
				all = append(all, "objects/"+place+"/"+u.ID+"/"+lastElement(t.URL))
			}
		}
		for _, r := range w.Resolutions {
			if r.Status != "ready" {
				continue
			}
			for _, address := range append(r.ThumbnailImageURLs, r.VideoURL) {
				all = append(all, "objects/"+place+"/"+u.ID+"/"+lastElement(address))
			}
			for _, v := range r.Variants {
				if v.Codec != "h264" && v.Status == "ready" {
					all = append(all, "objects/"+place+"/"+u.ID+"/"+lastElement(v.VideoURL))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

func lastElement(address string) string { return address[strings.LastIndexByte(address, '/')+1:] }

// files lists the files below the folders of objects and scratch, sorted, the
// random names of sources as stars, without the one that says whose storage it is.
func (s *server) files() []string {
	s.t.Helper()
	var all []string
	for top, root := range map[string]string{"objects": s.objectsDir, "scratch": filepath.Join(s.dataDir, "scratch")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) { // removed since its folder was read
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			name = top + "/" + name
			if strings.HasPrefix(name, "objects/owner/") {
				return err
			}
			if dir, source := filepath.Split(name); strings.HasPrefix(dir, "objects/source/") && !strings.HasPrefix(source, ".") {
				name = dir + "*"
			}
			all = append(all, name)
			return err
		})
		if err != nil {
			s.t.Fatalf("list the data directory: %v", err)
		}
	}
	slices.Sort(all)
	return rig.WithoutAlternates(all)
}

// idle reports whether no task waits or runs.
func (s *server) idle() bool {
	s.t.Helper()
	shown, open := 0, 0.0
	for name, n := range s.metrics() {
		if strings.HasPrefix(name, "spool_queue_tasks{") {
			shown++
			open += n
		}
	}
	return shown > 0 && open == 0 // none is shown when the queue could not be asked
}

// children returns the processes that work below dir, as far as they live.
func children(dir string) []string {
	var found []string
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		proc := filepath.Join("/proc", e.Name())
		command, _ := os.ReadFile(filepath.Join(proc, "cmdline")) // empty for a zombie
		cwd, _ := os.Readlink(filepath.Join(proc, "cwd"))
		if len(command) > 0 && (strings.HasPrefix(cwd, dir+"/") || strings.Contains(string(command), dir+"/")) {
			found = append(found, fmt.Sprintf("%d %.80s", pid, strings.ReplaceAll(string(command), "\x00", " ")))
		}
	}
	return found
}

// wantNoChildren wants the children of a server that was killed to die with it.
func (s *server) wantNoChildren(limit time.Duration) {
	s.t.Helper()
	s.until("the children of the dead server to die", limit, func() bool { return len(children(s.dataDir)) == 0 })
}

// wantVideo wants every resolution of a ready video to have so many frames, and
// its thumbnails, which may come later than the video, to be frames.
func (s *server) wantVideo(w watch, frames int) {
	s.t.Helper()
	s.until("all work to be done", readyTimeout, s.idle)
	if len(w.Resolutions) == 0 {
		s.t.Errorf("video %s has no resolution", w.ID)
	}
	if a := s.get(w.PosterURL); a.status != 200 || !strings.HasPrefix(string(a.body), "\xff\xd8") {
		s.t.Errorf("the poster of %s answers %d with %d bytes; want a JPEG", w.ID, a.status, len(a.body))
	}
	wantFrames(s.t, w, frames)
	for _, r := range w.Resolutions {
		for _, address := range r.ThumbnailImageURLs {
			if a := s.get(address); a.status != 200 || !strings.HasPrefix(string(a.body), "\xff\xd8") {
				s.t.Errorf("thumbnail %s answers %d with %d bytes; want a JPEG", lastElement(address), a.status, len(a.body))
			}
		}
	}
}

// wantFrames wants every resolution of a video to have so many frames. One ffmpeg decodes them all.
func wantFrames(t testing.TB, w watch, frames int) {
	t.Helper()
	if len(w.Resolutions) == 0 {
		return
	}
	var inputs, outputs, names []string
	for name, r := range w.Resolutions {
		inputs = append(inputs, "-i", r.VideoURL)
		outputs = append(outputs, "-map", fmt.Sprintf("%d:v:0", len(names)))
		names = append(names, name)
	}
	list, err := output("ffmpeg", slices.Concat([]string{"-nostdin", "-v", "error"}, inputs, outputs,
		[]string{"-fps_mode", "passthrough", "-enc_time_base", "-1", "-f", "framecrc", "-"})...)
	if err != nil {
		t.Fatalf("count frames: %v", err)
	}
	counted := map[string]int{} // by the number of the input
	for line := range strings.Lines(list) {
		if input, _, found := strings.Cut(line, ","); found {
			counted[input]++
		}
	}
	for i, name := range names {
		if got := counted[strconv.Itoa(i)]; got != frames {
			t.Errorf("%s of %s has %d frames; want %d", name, w.ID, got, frames)
		}
	}
}

// taskEnds counts, over all lives of the server, how the tasks of a video ended:
// by their name such as "encode/0", and their outcome.
func (s *server) taskEnds(id string) map[string]map[string]int {
	ends := map[string]map[string]int{}
	for line := range strings.Lines(s.log.String()) {
		var entry struct{ Msg, Task, Outcome string }
		if !parseJSON(line, &entry) || entry.Msg != "task ended" {
			continue
		}
		parts := strings.Split(entry.Task, "/")
		if len(parts) != 3 || parts[1] != id {
			continue
		}
		name := parts[0] + "/" + parts[2]
		if ends[name] == nil {
			ends[name] = map[string]int{}
		}
		ends[name][cmp.Or(entry.Outcome, "?")]++
	}
	return ends
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return string(b)
}
