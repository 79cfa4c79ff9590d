package e2e

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/service/failpoint"
	"github.com/spool-video/spool/test/need"
)

// How many frames two clips have.
const (
	smallFrames = 12
	tinyFrames  = 50
)

var tinyVideo = newVideo{Filename: "tiny.mp4", Resolutions: []string{"144p", "240p"}, IsPublic: true, Thumbnails: []float64{0, 1}}

// crossing drives a video through one of the places where a crash hurts most.
type crossing struct {
	// before brings the video to where the next step meets the point, and
	// meets it nowhere itself.
	before func(s *server, u upload)
	// meet takes that step. The server dies on it, or some time after it.
	meet func(s *server, u upload)
	// after does on the next server what a client would do that had no answer.
	after func(s *server, u upload)
	// codecs, if any, are those of the video beside H.264.
	codecs  []string
	private bool   // the video is private at first
	want    string // "ready", "gone", "private", "public", or the name of the resolution that is left
}

var crossings = map[failpoint.Point]crossing{
	failpoint.UploadStored: {meet: dyingPut, after: func(s *server, u upload) {
		s.wantStatus(u, "pending_upload")
		s.put(u, clip(s.t, smallClip))
		s.complete(u.ID)
	}, want: "ready"},
	failpoint.SourcePinned: {before: putSmall, meet: dyingComplete, after: func(s *server, u upload) {
		s.wantStatus(u, "pending_upload")
		s.complete(u.ID)
	}, want: "ready"},
	failpoint.UploadAccepted:   {before: putSmall, meet: dyingComplete, after: completeAgain, want: "ready"},
	failpoint.PartStored:       {before: putSmall, meet: dyingWork, after: completeAgain, want: "ready"},
	failpoint.RenditionStaged:  {before: putSmall, meet: dyingWork, after: completeAgain, want: "ready"},
	failpoint.RenditionLinked:  {before: putSmall, meet: dyingWork, after: completeAgain, want: "ready"},
	failpoint.ThumbnailsStaged: {before: putSmall, meet: dyingWork, after: completeAgain, want: "ready"},
	failpoint.FilesStaged:      {before: putSmall, meet: dyingWork, after: completeAgain, want: "ready"},
	failpoint.VariantStored:    {codecs: []string{"av1"}, before: putSmall, meet: dyingWork, after: completeAgain, want: "ready"},
	failpoint.VariantStaged:    {codecs: []string{"av1"}, before: putSmall, meet: dyingWork, after: completeAgain, want: "ready"},
	failpoint.VariantLinked:    {codecs: []string{"av1"}, before: putSmall, meet: dyingWork, after: completeAgain, want: "ready"},
	failpoint.TrackStored: {before: readySmall, meet: dyingTrack, after: func(s *server, u upload) {
		if all := s.sound(u).AudioTracks; len(all) != 1 {
			s.t.Errorf("the tracks are %v", all)
		}
		s.addTrack(u, "fr")
	}, want: "dubbed"},
	failpoint.TrackStaged:     {before: readySmall, meet: func(s *server, u upload) { s.addTrack(u, "fr") }, after: completeAgain, want: "dubbed"},
	failpoint.FilmsStaged:     {before: dubbedSmall, meet: anotherDefault, after: completeAgain, want: "remixed"},
	failpoint.FilmsLinked:     {before: dubbedSmall, meet: anotherDefault, after: completeAgain, want: "remixed"},
	failpoint.VideoDeleted:    {before: readySmall, meet: dyingDelete, after: deleteAgain, want: "gone"},
	failpoint.ObjectsRemoved:  {before: readySmall, meet: dyingDelete, after: deleteAgain, want: "gone"},
	failpoint.ReplacePrepared: {before: readySmall, meet: dyingReplace, after: completeAgain, want: "replaced"},
	failpoint.ReplaceWritten:  {before: readySmall, meet: dyingReplace, after: completeAgain, want: "replaced"},
	failpoint.Replaced:        {before: readySmall, meet: dyingReplace, after: completeAgain, want: "replaced"},
	failpoint.ResolutionGone: {before: readySmall, meet: func(s *server, u upload) {
		s.die("DELETE", s.url+"/api/video/resolution/"+s.read(u).Resolutions["144p"].ID, "")
	}, after: func(s *server, u upload) {
		if _, there := s.read(u).Resolutions["144p"]; there {
			s.t.Error("the resolution came back")
		}
	}, want: "240p"},
	failpoint.VisibilityRecorded: {before: readySmall, meet: dyingChange(false), after: changeAgain(false), want: "private"},
	failpoint.VisibilityOpened:   {private: true, before: readySmall, meet: dyingChange(true), after: changeAgain(true), want: "public"},
	failpoint.VisibilityCopied:   {before: readySmall, meet: dyingChange(false), after: changeAgain(false), want: "private"},
	failpoint.VisibilityMoved:    {before: readySmall, meet: dyingChange(false), after: changeAgain(false), want: "private"},
}

// stagings are the points before a transaction that publishes.
var stagings = []failpoint.Point{failpoint.RenditionStaged, failpoint.ThumbnailsStaged, failpoint.FilesStaged}

// variants are the points of another codec that have a twin among those of H.264.
var variants = []failpoint.Point{failpoint.VariantStored, failpoint.VariantStaged}

func TestACrashAtAnyPointLosesNothing(t *testing.T) {
	t.Parallel()
	if covered := slices.Collect(maps.Keys(crossings)); len(covered) != len(failpoint.All) {
		t.Errorf("crossings cover %d points, the program has %d", len(covered), len(failpoint.All))
	}
	for _, point := range failpoint.All {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			if point == failpoint.UploadStored {
				oneMachineOnly(t, "files go to the bucket, past the server")
			}
			if slices.Contains(stagings, point) {
				usuallyOneBackend(t, "what was staged is put again, and rendition-linked dies later in the same step")
			}
			if point == failpoint.PartStored {
				usuallyOneBackend(t, "the part is put again, and rendition-linked dies in a task that is delivered again in the same way")
			}
			if point == failpoint.VideoDeleted {
				usuallyOneBackend(t, "objects-removed dies later in the same step")
			}
			if point == failpoint.VisibilityRecorded || point == failpoint.VisibilityMoved {
				usuallyOneBackend(t, "what is on disk or in a bucket is the same at visibility-copied")
			}
			if point == failpoint.TrackStaged || point == failpoint.FilmsStaged {
				usuallyOneBackend(t, "films-linked dies later in the same steps")
			}
			if point == failpoint.ReplacePrepared {
				usuallyOneBackend(t, "replace-written dies later in the same step")
			}
			if slices.Contains(variants, point) {
				need.TimeFor(t, "AV1 takes the steps of H.264: part-stored and rendition-staged die there, and variant-linked dies later")
			}
			if point == failpoint.VariantLinked {
				usuallyOneBackend(t, "AV1 takes the steps of H.264, and rendition-linked dies there")
			}
			c, ok := crossings[point]
			if !ok {
				t.Fatal("no test crashes here")
			}
			c.run(t, point)
		})
	}
}

func (c crossing) run(t testing.TB, point failpoint.Point) {
	s := start(t, withEnv("SPOOL_CRASH_AT", string(point)))
	asked := tinyVideo
	asked.Codecs, asked.IsPublic = c.codecs, !c.private
	u := s.create(asked)
	if c.before != nil {
		c.before(s, u)
	}
	c.meet(s, u)
	state := s.waitExit(readyTimeout)
	if status, ok := state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the server ended with %v; want a death at %s", state, point)
	}
	s.wantNoChildren(10 * time.Second)

	s.restart(withEnv("SPOOL_CRASH_AT", ""))
	u = s.moved(u)
	c.after(s, u)
	switch c.want {
	case "gone":
		s.tryRead(u).problem(t, http.StatusNotFound, "video_not_found")
		s.wantTidy()
	case "replaced":
		s.until("the file to be replaced", readyTimeout, func() bool { return s.read(u).Replacement == nil })
		s.wantVideo(s.waitReady(u), tinyFrames)
	case "dubbed":
		all := s.sound(u).AudioTracks
		if made := s.waitTrack(u, all[len(all)-1].ID); made.Status != "ready" {
			t.Errorf("the track is %v", made)
		}
	case "remixed":
		s.until("the MP4 files to hold the new default", readyTimeout, func() bool {
			for _, r := range s.read(u).Resolutions {
				if pitchOf(t, s.getReady(r.VideoURL).body) != 1760 {
					return false
				}
			}
			return true
		})
		s.wantVideo(s.waitReady(u), smallFrames)
		s.wantTidy(u)
	case "ready":
		w := s.waitReady(u)
		s.wantVideo(w, smallFrames)
		if len(c.codecs) > 0 {
			s.wantVariants(u, smallFrames, append([]string{"h264"}, c.codecs...))
		}
		s.wantTidy(u)
	case "private", "public":
		u.IsPublic = c.want == "public"
		s.wantVideo(s.waitReady(u), smallFrames)
		s.wantTidy(u)
	default:
		s.wantTidy(u)
		w := s.waitReady(u)
		s.wantVideo(w, smallFrames)
		if names := slices.Collect(maps.Keys(w.Resolutions)); !slices.Equal(names, []string{c.want}) {
			t.Errorf("resolutions are %v; want %s alone", names, c.want)
		}
	}
}

func putSmall(s *server, u upload) {
	s.t.Helper()
	s.put(u, clip(s.t, smallClip))
}

func readySmall(s *server, u upload) {
	s.t.Helper()
	putSmall(s, u)
	s.complete(u.ID)
	s.waitReady(u)
}

// dubbedSmall adds a track to the small video.
func dubbedSmall(s *server, u upload) {
	s.t.Helper()
	readySmall(s, u)
	s.waitTrack(u, s.addTrack(u, "fr").ID)
}

// anotherDefault makes that track the default; the server dies while it makes the MP4 files again.
func anotherDefault(s *server, u upload) {
	s.t.Helper()
	all := s.sound(u).AudioTracks
	decode[audioTrack](s.t, s.call("PATCH", "/api/video/"+u.ID+"/audio/"+all[len(all)-1].ID, map[string]any{"default": true}), http.StatusOK)
}

func dyingPut(s *server, u upload) {
	s.t.Helper()
	s.die("PUT", u.UploadURL, u.ContentType)
}

func dyingComplete(s *server, u upload) {
	s.t.Helper()
	s.die("POST", s.url+"/api/video/"+u.ID+"/complete-upload", "")
}

func dyingDelete(s *server, u upload) {
	s.t.Helper()
	s.die("DELETE", s.url+"/api/video/"+u.ID, "")
}

// dyingWork queues the work that meets the point, which may be so soon that the
// answer is lost.
func dyingWork(s *server, u upload) {
	_, _ = s.trySend("POST", s.url+"/api/video/"+u.ID+"/complete-upload", nil, header{"X-API-KEY", apiKey})
}

// dyingReplace has a new file for the video encoded.
func dyingReplace(s *server, u upload) {
	s.t.Helper()
	s.put(s.replace(u.ID, newFile{Filename: "new.mp4"}), clip(s.t, tinyClip))
	dyingWork(s, u)
}

// die sends a request on which the server must die without an answer. With a
// content type it carries the small clip.
func (s *server) die(method, address, contentType string) {
	s.t.Helper()
	headers := []header{{"X-API-KEY", apiKey}}
	body := strings.NewReader("")
	if contentType != "" {
		headers = append(headers, header{"Content-Type", contentType})
		body = strings.NewReader(readFile(s.t, clip(s.t, smallClip)))
	}
	if r, err := s.trySend(method, address, body, headers...); err == nil {
		s.t.Fatalf("%s answers %d %s; want the server to die first", method, r.status, r.body)
	}
}

// completeAgain repeats a call whose answer may have been lost.
func completeAgain(s *server, u upload) {
	s.t.Helper()
	s.complete(u.ID)
}

// deleteAgain repeats a deletion whose answer was lost. Whether the server has
// finished it by itself meanwhile decides between the two right answers.
func deleteAgain(s *server, u upload) {
	s.t.Helper()
	s.tryRead(u).problem(s.t, http.StatusNotFound, "video_not_found")
	if r := s.call("DELETE", "/api/video/"+u.ID, nil); r.status != http.StatusOK {
		r.problem(s.t, http.StatusNotFound, "video_not_found")
	}
}

func (s *server) wantStatus(u upload, status string) {
	s.t.Helper()
	if w := s.read(u); w.Status != status {
		s.t.Errorf("video is %s; want %s", w.Status, status)
	}
}
