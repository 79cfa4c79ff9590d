package e2e

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spool-video/spool/internal/backend/store/pgtest"
	"github.com/spool-video/spool/test/need"
)

// release is the version that is upgraded. Until it is tagged, the last commit that changed its schema stands for it.
const release = "v0.1.0"

// schema are the files that no commit changes once they are released.
var schema = []string{"internal/backend/store/migrations", "internal/backend/queue/local/migrations", "internal/backend/queue/river/migrations"}

// TestUpgrade fills a server of an older version with data of every kind, kills it in the middle of its
// work, and starts this version in its place.
func TestUpgrade(t *testing.T) {
	if os.Getenv("SPOOL_TEST_UPGRADE") != "1" && !need.Long() {
		t.Skip("long: it builds an older version (make test-upgrade)")
	}
	s := prepare(t)
	if onFleet() {
		s.env["SPOOL_DATABASE_URL"] = pgtest.Fresh(t) // those of other tests have the tables of this version
	}
	s.binary = olderVersion(t)
	s.launch()
	s.waitReadyz()
	old := s.fill()
	s.kill()
	s.binary = ""
	s.launch()
	s.waitReadyz()
	t.Run("what was finished", func(t *testing.T) { s.in(t).wantFinished(old) })
	t.Run("what was not", func(t *testing.T) { s.in(t).wantContinued(old) })
	t.Run("keys and limits", func(t *testing.T) { s.in(t).wantAccess(old) })
}

// olderCommit returns the commit of the version that is upgraded.
func olderCommit(t *testing.T) string {
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", repository}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	if tagged := git("rev-parse", "--verify", "--quiet", release+"^{commit}"); tagged != "" {
		return tagged
	}
	if git("rev-parse", "--is-shallow-repository") != "false" {
		t.Skip("this copy of the repository does not have its history: git fetch --unshallow")
	}
	return git(append([]string{"log", "-1", "--format=%H", "--"}, schema...)...)
}

// olderVersion builds the program of the version that is upgraded, from the history of this repository.
func olderVersion(t *testing.T) string {
	t.Helper()
	commit := olderCommit(t)
	dir := t.TempDir()
	cmd := exec.Command("sh", "-ec", `git -C "$1" archive "$2" | tar -x -C "$3" && cd "$3" && go build -tags crashtest -o spool ./cmd/spool`,
		"sh", repository, commit, dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", commit, err, out)
	}
	return filepath.Join(dir, "spool")
}

// legacy is what an older version was given, and what it answered.
type legacy struct {
	public, private   watch
	files             map[string][]byte // by the path of their address
	streams           []string          // paths of playlists and segments
	processing        []upload          // one is being encoded, one waits
	failing           upload
	pending, uploaded upload
	half              *resumable
	repeated          upload // made with an Idempotency-Key
	reader, revoked   key
}

// fill leaves a server with data of every kind.
func (s *server) fill() legacy {
	s.t.Helper()
	film := clip(s.t, tinyClip)
	l := legacy{files: map[string][]byte{}}
	l.public = s.publish(newVideo{Filename: "Our holiday.mov", Resolutions: []string{"240p", "144p"}, IsPublic: true,
		Thumbnails: []float64{0, 1}, CustomMetadata: json.RawMessage(`{"album":42}`)}, film)
	l.private = s.publish(newVideo{Filename: "secret.mp4", Resolutions: []string{"144p"}, Thumbnails: []float64{0}}, film)
	s.cli("signing-keys", "rotate") // what was signed before stays valid
	for _, w := range []watch{l.public, l.private} {
		for _, r := range w.Resolutions {
			for _, address := range append(r.ThumbnailImageURLs, r.VideoURL) {
				l.files[pathOf(s.t, address)] = s.getReady(address).body
			}
		}
		l.streams = append(l.streams, s.streamPaths(w)...)
	}
	l.failing = s.create(newVideo{Filename: "bad.mp4", Resolutions: []string{"144p"}})
	s.putBody(l.failing, sized{strings.NewReader("this is not a video"), 19})
	s.tryComplete(l.failing.ID).problem(s.t, 422, "not_a_video")
	l.pending = s.create(newVideo{Filename: "later.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	l.uploaded = s.create(newVideo{Filename: "uploaded.mp4", Resolutions: []string{"144p"}})
	s.put(l.uploaded, film)
	l.half = s.begin(newVideo{Filename: "half.mp4", Resolutions: []string{"144p"}, IsPublic: true}, bulky(s.t, 20*mib))
	l.half.patch(0, 9*mib)
	l.repeated = decode[upload](s.t, s.call("POST", "/api/video", againVideo, header{"Idempotency-Key", "again"}), 201)
	l.reader, l.revoked = parsed[key](s.t, s.printKey("--scopes=read")), parsed[key](s.t, s.printKey())
	s.cli("keys", "revoke", l.revoked.ID)
	s.cli("tenants", "set", "acme", "--max-videos=7")
	for range 2 {
		l.processing = append(l.processing, s.submit(newVideo{Filename: "long.mp4", Resolutions: []string{"144p", "240p"}, IsPublic: true,
			Thumbnails: []float64{3}}, clip(s.t, longClip)))
	}
	s.until("the encode to begin", readyTimeout, func() bool { return s.read(l.processing[0]).Progress > 0 })
	if status := s.read(l.processing[1]).Status; status != "processing" {
		s.t.Errorf("all videos are %s before the upgrade: nothing is left to do", status)
	}
	return l
}

var againVideo = newVideo{Filename: "again.mp4", Resolutions: []string{"144p"}, IsPublic: true}

func pathOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.RequestURI()
}

// streamPaths returns the playlists of a video and the first files that each names: what a player
// has in mind that began before the upgrade.
func (s *server) streamPaths(w watch) []string {
	s.t.Helper()
	paths, next := []string{}, []string{w.HLSURL}
	for len(next) > 0 && len(paths) < 20 {
		address := next[0]
		next = next[1:]
		paths = append(paths, pathOf(s.t, address))
		if !strings.Contains(address, ".m3u8") {
			continue
		}
		base, err := url.Parse(address)
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range strings.Lines(string(s.get(address).body)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				next = append(next, base.ResolveReference(&url.URL{Path: line}).String())
			}
		}
	}
	return paths
}

// wantFinished wants videos, addresses and files as they were.
func (s *server) wantFinished(l legacy) {
	s.t.Helper()
	for path, want := range l.files {
		if got := s.get(s.url + path); got.status != 200 || !bytes.Equal(got.body, want) {
			s.t.Errorf("%s answers %d with %d bytes; want the %d of before", path, got.status, len(got.body), len(want))
		}
	}
	if len(l.streams) < 6 {
		s.t.Errorf("only %d files of streams were seen", len(l.streams))
	}
	for _, path := range l.streams {
		if got := s.get(s.url + path); got.status != 200 || len(got.body) == 0 {
			s.t.Errorf("%s of a stream answers %d", path, got.status)
		}
	}
	w := s.read(upload{ID: l.public.ID, IsPublic: true})
	if w.Status != "ready" || string(w.CustomMetadata) != `{"album":42}` || !w.Playable || w.DurationSeconds != l.public.DurationSeconds {
		s.t.Errorf("the public video is %+v", w)
	}
	for name, r := range l.public.Resolutions {
		if now := w.Resolutions[name]; now.ID != r.ID || pathOf(s.t, now.VideoURL) != pathOf(s.t, r.VideoURL) || now.SizeBytes != r.SizeBytes {
			s.t.Errorf("%s was %+v and is %+v", name, r, now)
		}
	}
	if title := decode[struct{ Title string }](s.t, s.call("GET", "/api/video/"+l.public.ID, nil), 200).Title; title != "Our holiday" {
		s.t.Errorf("the title is %q", title)
	}
	if got := s.get(s.url + "/embed/" + l.public.ID); got.status != 200 {
		s.t.Errorf("its embed page answers %d", got.status)
	}
	if w := s.read(upload{ID: l.failing.ID}); w.Status != "fail" || w.Failure.Code != "not_a_video" {
		s.t.Errorf("the video that had failed is %s, %+v", w.Status, w.Failure)
	}
	list := string(s.call("GET", "/api/video?limit=100", nil).body)
	for _, id := range []string{l.public.ID, l.private.ID, l.processing[0].ID, l.processing[1].ID, l.failing.ID, l.pending.ID, l.uploaded.ID, l.half.u.ID, l.repeated.ID} {
		if !strings.Contains(list, id) {
			s.t.Errorf("the list does not have %s", id)
		}
	}
	if found := s.call("GET", "/api/video?metadata.album=42", nil).body; !strings.Contains(string(found), l.public.ID) {
		s.t.Errorf("a search by metadata finds %s", found)
	}
	if r := s.call("POST", "/api/video/"+l.public.ID+"/resolutions", map[string]string{"resolution": "360p"}); r.status != 201 {
		s.t.Errorf("a resolution cannot be added: %d %s", r.status, r.body)
	}
	s.waitReady(upload{ID: l.public.ID, IsPublic: true})
}

// wantContinued wants what was in work to be finished, and uploads to go on.
func (s *server) wantContinued(l legacy) {
	s.t.Helper()
	film := clip(s.t, tinyClip)
	for _, u := range l.processing {
		w := s.waitReady(u)
		if w.DurationSeconds < 64 || len(w.Resolutions) != 2 || len(w.Resolutions["144p"].ThumbnailImageURLs) != 1 {
			s.t.Errorf("a video that was in work is %+v", w)
		}
	}
	later := l.pending
	if !onFleet() { // the bucket has not moved
		later.UploadURL = s.url + pathOf(s.t, l.pending.UploadURL)
	}
	s.put(later, film)
	s.complete(later.ID)
	s.complete(l.uploaded.ID)
	l.half.at(s)
	at := l.half.offset()
	if at < byBackend(9*mib, 1) {
		s.t.Errorf("of the half upload, %d bytes are left", at)
	}
	l.half.patch(at, len(l.half.whole))
	s.complete(l.half.u.ID)
	for _, u := range []upload{later, l.uploaded, l.half.u} {
		s.waitReady(u)
	}
	again := s.call("POST", "/api/video", againVideo, header{"Idempotency-Key", "again"})
	if u := decode[upload](s.t, again, 201); u.ID != l.repeated.ID || again.header.Get("Idempotency-Replayed") != "true" {
		s.t.Errorf("the repeated create made another video")
	}
	s.deleteVideo(l.private.ID)
	s.until("the files of the deleted video to go", readyTimeout, func() bool { return len(s.objects("private/"+l.private.ID)) == 0 })
}

// wantAccess wants keys, scopes and limits as they were.
func (s *server) wantAccess(l legacy) {
	s.t.Helper()
	if r := s.callAs(l.reader.Secret, "GET", "/api/video/"+l.public.ID, nil); r.status != 200 {
		s.t.Errorf("the reader's key answers %d", r.status)
	}
	s.callAs(l.reader.Secret, "POST", "/api/video", againVideo).problem(s.t, 403, "insufficient_scope")
	s.callAs(l.reader.Secret, "GET", "/api/webhook", nil).problem(s.t, 403, "insufficient_scope")
	s.callAs(l.revoked.Secret, "GET", "/api/video", nil).problem(s.t, 401, "invalid_api_key")
	if r := s.call("GET", "/api/webhook", nil); r.status != 200 {
		s.t.Errorf("a key with all scopes cannot see webhooks: %d %s", r.status, r.body)
	}
	if limits := s.cli("tenants", "list", "--json"); !strings.Contains(limits, "acme") || !strings.Contains(limits, "7") {
		s.t.Errorf("the tenants are %s", limits)
	}
}
