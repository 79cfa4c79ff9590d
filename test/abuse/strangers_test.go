package abuse

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// trustStrangers has the server take attackers for a trusted proxy, so that it speaks HTTP/2 to them.
const trustStrangers = "SPOOL_TRUSTED_PROXIES=" + stranger + "/32"

// attackWithCaptions has many clients without a key ask for captions that are as expensive as may be.
func attackWithCaptions(t *testing.T, o *outcome) {
	s := start(t, trustStrangers)
	mallory, alice := s.newKey("mallory"), s.newKey("alice")
	video := mallory.submit(`["144p"]`, "", smallClip(t))
	mallory.wait(video.ID, 2*time.Minute)
	put := func(cues int, text string) reply {
		all := strings.Repeat("00:00:00.000 --> 999:00:00.000\n"+text+"\n\n", cues)
		return mallory.send("PUT", "/api/video/"+video.ID+"/captions/en", strings.NewReader("WEBVTT\n\n"+all), "Content-Type", "text/vtt")
	}
	refused := put(45_000, "a")
	o.holds(refused.status == 400 && refused.code() == "invalid_captions", "45,000 texts at the same time are refused", "%d %s", refused.status, refused.code())
	if r := put(1000, strings.Repeat("x", 90)); r.status != 201 {
		t.Fatalf("as many texts as may be are answered %d %s", r.status, r.body)
	}
	path := s.captions(mallory, video.ID)
	s.cheap(o, "a segment of captions", path+"-0.vtt")
	other := alice.create(`["144p"]`, "")
	quiet := alice.measure("/api/video/"+other.ID, 200)
	before := s.forgetPeak()
	readers := act(t, "slow", order{URL: s.url, From: stranger, Count: 1000, Send: segments(path, 40)})
	heads := act(t, "flood", order{URL: s.url + path + "-0.vtt", From: stranger, Method: "HEAD", Parallel: 8})
	hold(t, s, stranger, 12, path+"-1.vtt", "")
	o.responsive(quiet, alice.measure("/api/video/"+other.ID, 200))
	s.grows(o, before, 100<<20, fmt.Sprintf("%d stalled readers and 1,200 streams of HTTP/2", readers.stop().Connected))
	heads.stop()
}

// captions returns the path of a video's captions without its ending.
func (s *server) captions(c *client, id string) string {
	s.t.Helper()
	address := c.read(id).Captions[0].URL
	u, err := url.Parse(address)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSuffix(u.Path, ".vtt")
}

// segments are requests for so many segments of captions.
func segments(path string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("GET %s-%d.vtt HTTP/1.1\r\nHost: h\r\n\r\n", path, i))
	}
	return all
}

// age makes the files of a public video an hour older. The database is asked more about young ones, some of which
// are still being made.
func (s *server) age(id string) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dataDir, "objects", "public", id, "*"))
	if err != nil || len(files) == 0 {
		s.t.Fatalf("the video has %d files, %v", len(files), err)
	}
	for _, file := range files {
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// attackLongFilm asks for the playlists and the report of a long film. Making them takes longest.
func attackLongFilm(t *testing.T, o *outcome) {
	s := start(t)
	owner, alice := s.newKey("mallory"), s.newKey("alice")
	reader := s.newKey("mallory", "read")
	file := clip(t, "long.mp4", "-f lavfi -i color=gray:s=64x36:r=2:d=3600 -f lavfi -i anullsrc=r=8000 -shortest -c:v libx264 -preset ultrafast -pix_fmt yuv420p")
	video := owner.submit(`["144p"]`, "", file)
	owner.wait(video.ID, 15*time.Minute)
	s.age(video.ID)
	other := alice.create(`["144p"]`, "")
	path := "/v/" + video.ID + "/"
	for _, name := range []string{"master.m3u8", "manifest.mpd", "144p.m3u8", "audio.m3u8"} {
		s.cheap(o, name, path+name)
	}
	quiet := alice.measure("/api/video/"+other.ID, 200)
	before := s.forgetPeak()
	var sends []string
	for _, name := range []string{"144p.m3u8", "audio.m3u8", "manifest.mpd"} {
		sends = append(sends, "GET "+path+name+" HTTP/1.1\r\nHost: h\r\n\r\n")
	}
	readers := act(t, "slow", order{URL: s.url, From: stranger, Count: 1000, Send: sends})
	heads := act(t, "flood", order{URL: s.url + path + "manifest.mpd", From: stranger, Method: "HEAD", Parallel: 8})
	o.responsive(quiet, alice.measure("/api/video/"+other.ID, 200))
	s.grows(o, before, 100<<20, fmt.Sprintf("%d stalled readers of playlists", readers.stop().Connected))
	heads.stop()

	reports := &outcome{t: t, report: o.report, attack: "reports of a long film"}
	flood := act(t, "flood", order{URL: s.url + "/api/video/" + video.ID + "/report", Key: reader.key, Parallel: 16})
	reports.responsive(quiet, alice.measure("/api/video/"+other.ID, 200))
	reports.holds(true, "a read-only key reads on 16 connections", "%s", statuses(flood.stop().Statuses))
}

// attackDescriptors opens a public file as often as it can: on HTTP/2, on 2,000 connections of HTTP/1, and by
// way of a proxy that is trusted.
func attackDescriptors(t *testing.T, o *outcome) {
	const most = 4096
	s := startLimited(t, filepath.Join(t.TempDir(), "data"), most, trustStrangers)
	alice := s.newKey("alice")
	video := alice.submit(`["144p"]`, "", smallClip(t))
	alice.wait(video.ID, 2*time.Minute)
	log := len(s.log.String())
	const other = "127.0.0.3"
	path := "/v/" + video.ID + "/144p.mp4"
	hold(t, s, other, 205, path, "")
	readers := act(t, "slow", order{URL: s.url, From: other, Count: 2000, Send: []string{"GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n"}})
	hold(t, s, stranger, 40, path, "")
	until(t, "the files to be open", time.Minute, func() bool { return s.opened() > most/4 })
	second := alice.submit(`["144p"]`, "", smallClip(t))
	state, took := alice.wait(second.ID, 2*time.Minute)
	o.holds(state.Status == "ready", "an upload and its encoding go on", "%s after %s", state.Status, took.Round(time.Second))
	o.holds(s.opened() < most*3/4, "playback has at most half of the descriptors", "%d of %d are in use", s.opened(), most)
	written := len(s.log.String()) - log
	o.holds(written < 100<<10, "the log says little about it", "%d KiB", written>>10)
	s.memoryHolds(o)
	readers.stop()
}

// attackLog sends what is refused as fast as possible, without a key.
func attackLog(t *testing.T, o *outcome) {
	s := start(t)
	const id = "01a1f15f-a56c-7c7f-b388-64560670579e"
	for what, request := range map[string]order{
		"no key":                  {URL: "/api/video"},
		"a wrong key":             {URL: "/api/video", Key: "spool_wrong"},
		"an unknown path":         {URL: "/nothing"},
		"a page that is none":     {URL: "/watch/" + id},
		"an upload with no token": {URL: "/upload/1.a.b/x", Method: "PUT"},
		"the console":             {URL: "/"},
	} {
		before, began := len(s.log.String()), time.Now()
		request.URL, request.Parallel, request.From = s.url+request.URL, 4, stranger
		flood := act(t, "flood", request)
		time.Sleep(5 * time.Second)
		seen := flood.stop().Statuses
		each := float64(len(s.log.String())-before) / time.Since(began).Seconds()
		o.holds(each < 10_000, what+": less than 10 KB of log a second", "%.1f KB; %s", each/1000, statuses(seen))
	}
	named := 0
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, stranger) && !strings.Contains(line, "many invalid API keys") {
			named++
		}
	}
	o.holds(named == 0, "no line names the address, but for the one about invalid keys", "%d lines", named)
}

// attackWithHeads sends 3,000 requests whose heads do not end.
func attackWithHeads(t *testing.T, o *outcome) {
	s := start(t)
	alice := s.newKey("alice")
	video := alice.create(`["144p"]`, "")
	quiet := alice.measure("/api/video/"+video.ID, 200)
	before := s.forgetPeak()
	heads := act(t, "slow", order{URL: s.url, From: stranger, Count: 3000, Fill: 60_000, Send: []string{"GET / HTTP/1.1\r\nHost: h\r\nX-A: "}, Trickle: "a"})
	time.Sleep(5 * time.Second)
	o.responsive(quiet, alice.measure("/api/video/"+video.ID, 200))
	s.grows(o, before, 100<<20, "3,000 clients at a time that send no more than the heads of requests")
	heads.stop()
}
