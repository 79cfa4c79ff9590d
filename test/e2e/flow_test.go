package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var uuidShape = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// TestFromCreateToPlay walks through everything that a client sees of a video.
func TestFromCreateToPlay(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{true, false} {
		t.Run(map[bool]string{true: "public", false: "private"}[public], func(t *testing.T) {
			t.Parallel()
			s := shared(t)
			u := s.create(newVideo{Filename: "holiday.MP4", Resolutions: []string{"360p", "144p"}, IsPublic: public, Thumbnails: []float64{1, 0}})
			checkCreated(t, s, u, public)
			before := checkWaiting(t, s, u, "pending_upload")

			s.put(u, clip(t, tinyClip))
			checkWaiting(t, s, u, "pending_upload")
			checkCompleted(t, s.complete(u.ID), u, "processing")

			ready := s.waitReady(u)
			checkReady(t, s, ready, u)
			if public && before.Resolutions["360p"].VideoURL != ready.Resolutions["360p"].VideoURL {
				t.Errorf("a public address changed from %s to %s", before.Resolutions["360p"].VideoURL, ready.Resolutions["360p"].VideoURL)
			}
			checkCompleted(t, s.complete(u.ID), u, "ready")
			s.putLate(u, http.StatusConflict, "upload_closed")
			checkCompleted(t, s.complete(u.ID), u, "ready")
			checkOtherRoute(t, s, u)
		})
	}
}

func checkCreated(t testing.TB, s *server, u upload, public bool) {
	t.Helper()
	if !uuidShape.MatchString(u.ID) {
		t.Errorf("id is %q, want a uuid", u.ID)
	}
	if !strings.HasPrefix(u.UploadURL, s.uploadsAt()) || u.ContentType != "video/mp4" || u.IsPublic != public {
		t.Errorf("create answers %+v, want an upload address below %s, video/mp4, isPublic %v", u, s.uploadsAt(), public)
	}
	if life := time.Until(u.UploadExpiresAt); life < 59*time.Minute || life > time.Hour {
		t.Errorf("the upload address lives %s, want an hour", life)
	}
	if u.MaxUploadBytes != 5<<30 {
		t.Errorf("maxUploadBytes is %d, want 5 GiB", u.MaxUploadBytes)
	}
	checkStatuses(t, u.Resolutions, "pending_upload")
}

func checkStatuses(t testing.TB, got statuses, want string) {
	t.Helper()
	if len(got) != 2 || got["360p"].Status != want || got["144p"].Status != want {
		t.Errorf("resolutions are %+v, want 360p and 144p, both %s", got, want)
	}
}

func checkCompleted(t testing.TB, c completed, u upload, want string) {
	t.Helper()
	if c.ID != u.ID || c.IsPublic != u.IsPublic {
		t.Errorf("complete answers %+v about %+v", c, u)
	}
	checkStatuses(t, c.Resolutions, want)
}

// checkWaiting reads a video before its files exist: its addresses are there
// and say that they are not ready yet.
func checkWaiting(t testing.TB, s *server, u upload, status string) watch {
	t.Helper()
	w := s.read(u)
	if w.ID != u.ID || w.Status != status || w.IsPublic != u.IsPublic || w.Failure != nil || len(w.Resolutions) != 2 {
		t.Errorf("read answers %+v, want %s without a failure", w, status)
	}
	s.get(w.PosterURL).problem(t, http.StatusNotFound, "not_ready")
	for name, r := range w.Resolutions {
		if r.Status != status || !uuidShape.MatchString(r.ID) || len(r.ThumbnailImageURLs) != 2 {
			t.Errorf("%s is %+v, want %s with an id and two thumbnails", name, r, status)
		}
		for _, url := range append([]string{r.VideoURL}, r.ThumbnailImageURLs...) {
			answer := s.get(url)
			answer.problem(t, http.StatusNotFound, "not_ready")
			if answer.header.Get("Retry-After") == "" {
				t.Errorf("not_ready comes without Retry-After")
			}
		}
	}
	return w
}

func checkReady(t testing.TB, s *server, w watch, u upload) {
	t.Helper()
	if w.ID != u.ID || w.IsPublic != u.IsPublic || w.Progress != 1 || w.DurationSeconds != 2 || string(w.CustomMetadata) != "null" {
		t.Errorf("read answers %+v, want progress 1, 2 seconds and customMetadata null", w)
	}
	if poster := s.get(w.PosterURL); poster.status != http.StatusOK || poster.header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("the poster of a ready video answers %d %v, want a JPEG", poster.status, poster.header)
	}
	for name, r := range w.Resolutions {
		film := s.get(r.VideoURL)
		if film.status != http.StatusOK || film.header.Get("Content-Type") != "video/mp4" || int64(len(film.body)) != r.SizeBytes {
			t.Errorf("%s plays %d bytes with %d %v, want %d bytes of video/mp4", name, len(film.body), film.status, film.header, r.SizeBytes)
		}
		want := map[string][2]int{"360p": {640, 360}, "144p": {256, 144}}[name]
		if r.Status != "ready" || r.Progress != 1 || [2]int{r.Width, r.Height} != want || r.Bitrate <= 0 || r.Failure != nil {
			t.Errorf("%s is %+v, want ready at %v", name, r, want)
		}
		for _, url := range r.ThumbnailImageURLs {
			if still := s.getReady(url); still.status != http.StatusOK || still.header.Get("Content-Type") != "image/jpeg" {
				t.Errorf("thumbnail answers %d %v, want a JPEG", still.status, still.header)
			}
		}
	}
}

// checkOtherRoute reads a video on the route of the other visibility.
func checkOtherRoute(t testing.TB, s *server, u upload) {
	t.Helper()
	r, code, rightRoute := s.readPrivate(u.ID, 60), "video_is_public", "/public"
	if !u.IsPublic {
		r, code, rightRoute = s.call("GET", "/api/video/"+u.ID+"/public", nil), "video_is_private", "/private/"
	}
	if p := r.problem(t, http.StatusForbidden, code); !strings.Contains(p.Detail, rightRoute) {
		t.Errorf("detail is %q, want it to name the route %s", p.Detail, rightRoute)
	}
}

func TestRacingCompletesMakeOneJob(t *testing.T) {
	t.Parallel()
	s := start(t)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	s.put(u, clip(t, miniClip))

	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r, err := s.trySend("POST", s.url+"/api/video/"+u.ID+"/complete-upload", nil, header{"X-API-KEY", apiKey})
			if err != nil || r.status != http.StatusCreated {
				t.Errorf("complete answers %d %s, %v; want 201", r.status, r.body, err)
			}
		})
	}
	all.Wait()
	s.waitReady(u)

	for _, kind := range []string{"inspect", "encode", "audio", "assemble"} {
		s.wantRuns(kind, 1)
	}
	if sources := s.objects("source/" + u.ID); len(sources) != 1 {
		t.Errorf("the sources kept are %q, want one", sources)
	}
}

func TestCustomMetadataComesBack(t *testing.T) {
	t.Parallel()
	s := shared(t)
	tests := []struct{ name, sent, want string }{
		{"an integer beyond 2^53", `{"n":9007199254740993,"m":-123456789012345678901234567890}`, ""},
		{"decimals as they were written", `{"a":1.10,"b":1e400,"c":-0.0}`, ""},
		{"unicode in keys and values", `{"grüße":"日本語 🎬 \u0000 \u00e9 <&>"}`, ""},
		{"nesting", `{"a":{"b":[1,[2,{"c":null}],true,""]},"d":{}}`, ""},
		{"the order of keys", `{"z":1,"a":2,"m":{"y":1,"b":2}}`, ""},
		{"an empty object", `{}`, ""},
		{"null", `null`, ""},
		{"nothing at all", ``, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := s.in(t)
			body := `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true,"customMetadata":` + tt.sent + `}`
			want := tt.sent
			if tt.sent == "" {
				body, want = `{"filename":"a.mp4","resolutions":["144p"],"isPublic":true}`, tt.want
			}
			u := decode[upload](t, s.call("POST", "/api/video", body), http.StatusCreated)
			got := string(s.read(u).CustomMetadata)
			if g, w := tokens(t, got), tokens(t, want); !slices.Equal(g, w) {
				t.Errorf("sent %s, read %s", want, got)
			}
		})
	}
}

func TestDuplicateResolutionsCollapse(t *testing.T) {
	t.Parallel()
	s := shared(t)
	r := s.call("POST", "/api/video", newVideo{Filename: "a.mp4", Resolutions: []string{"720p", "144p", "720p", "4k", "144p"}, IsPublic: true})
	u := decode[upload](t, r, http.StatusCreated)
	want := []string{"720p", "144p", "4k"}
	for name, body := range map[string][]byte{"create": r.body, "read": s.tryRead(u).body} {
		if got := keysOf(t, body, "resolutions"); !slices.Equal(got, want) {
			t.Errorf("%s shows %q, want %q", name, got, want)
		}
	}
}

func TestSmallSourcesAreNotBlownUp(t *testing.T) {
	oneBackend(t, "the engine decides")
	t.Parallel()
	s := start(t)
	w := s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"144p", "720p", "1080p"}, IsPublic: true}, clip(t, tinyClip))
	for name, size := range map[string][2]int{"144p": {256, 144}, "720p": {640, 360}, "1080p": {640, 360}} {
		r := w.Resolutions[name]
		if r.Status != "ready" || [2]int{r.Width, r.Height} != size {
			t.Errorf("%s is %s at %dx%d, want ready at %v", name, r.Status, r.Width, r.Height, size)
		}
		film := probe(t, s.download(r.VideoURL))
		if v := film.video(t); [2]int{v.Width, v.Height} != size {
			t.Errorf("the file of %s has %dx%d, want %v", name, v.Width, v.Height, size)
		}
	}
	s.wantRuns("assemble", 2) // names of one size share an encode
}

func TestContentTypeFollowsTheExtension(t *testing.T) {
	oneBackend(t, "the type follows from the name alone")
	t.Parallel()
	s := shared(t)
	for filename, want := range map[string]string{
		"a.mov": "video/quicktime", "a.WebM": "video/webm", "a.b.mkv": "video/x-matroska", "a.m2ts": "video/mp2t",
		"a.xyz": "application/octet-stream", "mp4": "application/octet-stream", "../../etc/passwd": "application/octet-stream",
	} {
		if u := s.create(newVideo{Filename: filename, Resolutions: []string{"144p"}}); u.ContentType != want {
			t.Errorf("%q is to be sent as %s, want %s", filename, u.ContentType, want)
		}
	}
}

// wantRuns wants so many tasks of a kind to have been done when nothing is left
// to do. A run is counted a moment after its task has ended.
func (s *server) wantRuns(kind string, want int) {
	s.t.Helper()
	s.waitIdle()
	var got float64
	s.until(fmt.Sprintf("%d tasks of kind %s to be counted", want, kind), startTimeout, func() bool {
		got = s.metrics()[taskRuns(kind, "done")]
		return got >= float64(want)
	})
	if got != float64(want) {
		s.t.Errorf("%v tasks of kind %s were done, want %d", got, kind, want)
	}
}

// taskRuns names the metric that counts the runs of tasks.
func taskRuns(kind, outcome string) string {
	return fmt.Sprintf(`spool_task_duration_seconds_count{kind=%q,outcome=%q}`, kind, outcome)
}
