package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The early clip is made in chunks that begin at second 0, 9.25, 14, 22, 26, 30, 38, 46 and 58. lastChunkRun is
// the last one, of either set of renditions.
const lastChunkRun = "trim=start_pts=593920"

// TestAFilmIsWatchedWhileItIsEncoded holds the last chunk of a film back, watches what is there, kills
// the server, plays the film to its end in a browser, and wants the finished film to be the same to the byte.
func TestAFilmIsWatchedWhileItIsEncoded(t *testing.T) {
	usuallyOneBackend(t, "chunk files are stored and read as renditions are, of which TestAStreamIsTheVideo plays the stream there")
	t.Parallel()
	g := newGate(t, lastChunkRun, hold)
	s := start(t, g.tools())
	t.Run("deleted", func(t *testing.T) { s.in(t).deleteEarly() })
	names := []string{"720p", "360p", "144p"}
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: names}, clip(t, earlyClip))
	master := s.waitGrown(u)
	early := s.watchEarly(master)
	preview := func(part string) watch {
		return decode[watch](t, s.call("GET", "/api/video/"+u.ID+"/private/3600?"+part, nil), http.StatusOK)
	}
	if text := string(s.fetch(beside(preview("start=5&end=9").HLSURL, "144p.m3u8"))); !strings.Contains(text, "#EXT-X-ENDLIST") || strings.Contains(text, "144p-5.m4s") {
		t.Errorf("a preview of what is there is\n%s", text)
	}
	for _, part := range []string{"start=5", "start=5&end=60"} {
		s.get(preview(part).HLSURL).problem(t, http.StatusNotFound, "not_ready")
	}

	s.restart()
	early.agrees(t, s.moveHLS(master, early))
	s.get(beside(s.rebase(master), "144p-14.m4s")).problem(t, http.StatusNotFound, "not_ready")
	release := sync.OnceFunc(g.release)
	t.Run("played through", func(t *testing.T) { playThrough(t, s.rebase(master), release) })
	release()
	w := s.waitReady(u)
	if !w.Playable {
		t.Error("a ready video is not playable")
	}
	early.agrees(t, s.moveHLS(master, early))
	if all := s.variants(w.HLSURL); len(all) != len(names) {
		t.Errorf("the finished film has the variants %+v", all)
	}
	for name, r := range w.Resolutions { // one continuous film, as the MP4 is
		if onFleet() && name != "144p" {
			continue // its segments come from the storage as those of the smallest do
		}
		want := perform(t, r.VideoURL, r.VideoURL, true)
		want.check(t, name, perform(t, beside(w.HLSURL, name+".m3u8"), beside(w.HLSURL, "audio.m3u8"), true))
		if len(want.pictures) != 256 {
			t.Errorf("%s has %d frames, want 256", name, len(want.pictures))
		}
	}
	if text := string(s.fetch(w.DASHURL)); !strings.Contains(text, `type="static"`) {
		t.Errorf("the manifest of the finished film is not static:\n%.400s", text)
	}
}

// deleteEarly wants that nothing of a film can be played when its deletion is confirmed.
func (s *server) deleteEarly() {
	s.t.Helper()
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true}, clip(s.t, earlyClip))
	s.until("the film to be playable", readyTimeout, func() bool { return s.read(u).Playable })
	master := s.read(u).HLSURL
	files := []string{"master.m3u8", "manifest.mpd", "144p.m3u8", "144p-init.mp4", "144p-0.m4s", "audio.m3u8", "audio-0.m4s"}
	for _, file := range files {
		s.fetch(beside(master, file))
	}
	s.deleteVideo(u.ID)
	for _, file := range files {
		s.get(beside(master, file)).problem(s.t, http.StatusNotFound, "not_found")
	}
}

// waitGrown waits until nothing is left to do but what the gate holds, and returns the address of the
// stream.
func (s *server) waitGrown(u upload) (master string) {
	s.t.Helper()
	var w watch
	s.until("all but the last chunk", readyTimeout, func() bool {
		if w = s.read(u); w.Status != "processing" {
			s.t.Fatalf("the video is %s: %+v", w.Status, w.Failure)
		}
		return w.Playable && strings.Count(string(s.hop(beside(w.HLSURL, "144p.m3u8")).body), "#EXTINF") == 14
	})
	return w.HLSURL
}

// earlyFiles are files of a stream by their names.
type earlyFiles map[string][]byte

// firstDifference shows where two files of the same length begin to differ.
func firstDifference(a, b []byte) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf(": at %d %x became %x", i, a[i:min(i+16, len(a))], b[i:min(i+16, len(b))])
		}
	}
	return ""
}

// agrees wants that no segment differs, and that playlists have grown at most.
func (e earlyFiles) agrees(t testing.TB, later earlyFiles) {
	t.Helper()
	for name, body := range e {
		now, there := later[name]
		switch {
		case !there:
			t.Errorf("%s is gone", name)
		case strings.HasSuffix(name, ".m3u8"):
			// An EVENT must not change but at its end (RFC 8216, section 4.3.3.5).
			if !bytes.HasPrefix(now, bytes.TrimSuffix(body, []byte("#EXT-X-ENDLIST\n"))) || !bytes.Contains(now, []byte("#EXT-X-TARGETDURATION:6\n")) {
				t.Errorf("%s was\n%s\nand is\n%s", name, body, now)
			}
		case !bytes.Equal(body, now):
			t.Errorf("%s has other %d bytes, it had %d%s", name, len(now), len(body), firstDifference(body, now))
		}
	}
}

// watchEarly gets everything that a player can get of a film that grows.
func (s *server) watchEarly(master string) earlyFiles {
	s.t.Helper()
	var files []string
	for _, v := range s.variants(master) {
		files = append(files, v.file)
	}
	if !slices.Equal(slices.Sorted(slices.Values(files)), []string{"144p.m3u8", "360p.m3u8"}) {
		s.t.Errorf("the variants are %v, want the small ones", files)
	}
	all := earlyFiles{}
	for _, file := range append(files, "audio.m3u8", "144p-iframes.m3u8") {
		r := s.hop(beside(master, file))
		text := string(r.body)
		growing := strings.Contains(text, "#EXT-X-PLAYLIST-TYPE:EVENT\n") && !strings.Contains(text, "ENDLIST") && r.header.Get("Cache-Control") == "no-cache"
		if file != "audio.m3u8" && !growing { // the audio is complete
			s.t.Errorf("%s is cached as %q and says\n%s", file, r.header.Get("Cache-Control"), text)
		}
		all[file] = r.body
		names := []string{initLine.FindStringSubmatch(text)[1]}
		for _, m := range segmentLine.FindAllStringSubmatch(text, -1) {
			names = append(names, m[2])
		}
		for _, name := range names {
			r := s.hop(beside(master, name))
			// A sound track that is finished is a file already.
			cached := strings.HasSuffix(r.header.Get("Cache-Control"), ", max-age=60") || strings.HasPrefix(name, "audio-")
			if r.status != http.StatusOK || !cached {
				s.t.Errorf("%s answers %d, cached as %q", name, r.status, r.header.Get("Cache-Control"))
			}
			all[name] = r.body
		}
	}
	manifest := string(s.fetch(beside(master, "manifest.mpd")))
	for _, want := range []string{`type="dynamic"`, `minimumUpdatePeriod="`, `availabilityStartTime="`, `id="144p"`, `id="360p"`} {
		if !strings.Contains(manifest, want) {
			s.t.Errorf("the manifest lacks %s:\n%s", want, manifest)
		}
	}
	return all
}

// moveHLS gets the files again that were there before, from a server that may have moved.
func (s *server) moveHLS(master string, before earlyFiles) earlyFiles {
	s.t.Helper()
	all := earlyFiles{}
	for name := range maps.Keys(before) {
		if r := s.hop(beside(s.rebase(master), name)); r.status == http.StatusOK {
			all[name] = r.body
		}
	}
	return all
}

// rebase returns an address after a restart.
func (s *server) rebase(address string) string {
	return s.url + address[strings.Index(address, "/v/"):]
}
