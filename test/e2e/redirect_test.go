package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// hop asks for an address and does not follow where it leads.
func (s *server) hop(url string, headers ...header) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range headers {
		req.Header.Set(h.name, h.value)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatalf("GET %s: %v", url, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("GET %s: %v", url, err)
	}
	return reply{res.StatusCode, res.Header, text}
}

// sentTo returns the address of the bucket's to which a playback address leads.
func (s *server) sentTo(url string) string {
	s.t.Helper()
	r := s.hop(url)
	if r.status != http.StatusFound {
		s.t.Fatalf("GET %s answers %d %s; want 302", url, r.status, r.body)
	}
	return r.header.Get("Location")
}

// TestPlayersAreSentToTheBucket follows the addresses of a video and a picture.
func TestPlayersAreSentToTheBucket(t *testing.T) {
	fleetOnly(t)
	t.Parallel()
	s := start(t)
	ask := newVideo{Filename: oddName, Resolutions: []string{"144p"}, Thumbnails: []float64{0}}
	for _, visibility := range []string{"public", "private"} {
		t.Run(visibility, func(t *testing.T) {
			s := s.in(t)
			ask.IsPublic = visibility == "public"
			w := s.publish(ask, clip(t, miniClip))
			s.waitIdle() // thumbnails may come later than the video
			film := w.Resolutions["144p"]
			place := s.bucket.url + visibility + "/" + w.ID + "/"
			checkRedirect(t, s.hop(film.VideoURL), place+"144p.mp4", visibility)
			checkRedirect(t, s.hop(film.ThumbnailImageURLs[0]), place+"144p-0.jpg", visibility)
			checkBehindRedirect(t, s, film)
			checkRedirect(t, s.hop(film.VideoURL+"?download=1"), place+"144p.mp4", visibility)
			checkDownload(t, s, film, s.get(film.VideoURL).body)
			checkOnlyForReading(t, s, s.sentTo(film.VideoURL), place)
		})
	}
}

// checkRedirect wants an answer that leads to this object of the bucket, for
// pages of any origin, and that caches keep no longer than its address lives.
func checkRedirect(t testing.TB, r reply, object, visibility string) {
	t.Helper()
	if to := r.header.Get("Location"); r.status != http.StatusFound || !strings.HasPrefix(to, object+"?") {
		t.Fatalf("the answer is %d, to %q; want 302 to %s", r.status, to, object)
	}
	if got := r.header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("Access-Control-Allow-Origin is %q", got)
	}
	if got := r.header.Get("Referrer-Policy"); got != "no-referrer" {
		t.Errorf("Referrer-Policy is %q: the signed address would be told to others", got)
	}
	cache := r.header.Get("Cache-Control")
	var seconds int
	if _, err := fmt.Sscanf(cache, visibility+", max-age=%d", &seconds); err != nil {
		t.Fatalf("Cache-Control is %q, want %s with an age", cache, visibility)
	}
	left := time.Until(expiry(t, r.header.Get("Location")))
	if age := time.Duration(seconds) * time.Second; age <= 0 || age > left+2*time.Second {
		t.Errorf("caches may keep the redirect for %s, its address lives %s", age, left)
	}
}

// checkBehindRedirect wants the bucket to play like the server: a player sees
// the same video, whichever of them answers.
func checkBehindRedirect(t testing.TB, s *server, film resolution) {
	t.Helper()
	whole := s.get(film.VideoURL)
	if whole.status != http.StatusOK || int64(len(whole.body)) != film.SizeBytes || whole.header.Get("Content-Type") != "video/mp4" {
		t.Fatalf("the bucket answers %d with %d bytes of %s; want %d of video/mp4",
			whole.status, len(whole.body), whole.header.Get("Content-Type"), film.SizeBytes)
	}
	for asked, want := range map[string][]byte{
		"bytes=0-99": whole.body[:100], "bytes=100-": whole.body[100:], "bytes=-50": whole.body[len(whole.body)-50:],
	} {
		if r := s.get(film.VideoURL, header{"Range", asked}); r.status != http.StatusPartialContent || !bytes.Equal(r.body, want) {
			t.Errorf("%s: the bucket answers %d with %d bytes, want 206 with %d", asked, r.status, len(r.body), len(want))
		}
	}
	checkResuming(t, s, film, whole)
	head := s.send("HEAD", film.VideoURL, nil)
	if head.status != http.StatusOK || head.header.Get("Content-Length") != fmt.Sprint(film.SizeBytes) || head.header.Get("ETag") != whole.header.Get("ETag") {
		t.Errorf("HEAD answers %d %v, want 200 with the length and the bucket's ETag %s", head.status, head.header, whole.header.Get("ETag"))
	}
	if head.header.Get("X-Request-Id") == "" {
		t.Error("HEAD was not answered by the server: the bucket's address is for GET alone")
	}
}

// checkResuming wants a client that has a part of a file to get the rest of it, and all of another file.
func checkResuming(t testing.TB, s *server, film resolution, whole reply) {
	t.Helper()
	for held, want := range map[string]int{
		whole.header.Get("ETag"):          http.StatusPartialContent,
		whole.header.Get("Last-Modified"): http.StatusPartialContent,
		`"anotherfile"`:                   http.StatusOK,
		"W/" + whole.header.Get("ETag"):   http.StatusOK, // it may be another one, by its bytes
		"Mon, 02 Jan 2006 15:04:05 GMT":   http.StatusOK,
	} {
		body := map[int][]byte{http.StatusOK: whole.body, http.StatusPartialContent: whole.body[10:]}[want]
		if r := s.get(film.VideoURL, header{"Range", "bytes=10-"}, header{"If-Range", held}); r.status != want || !bytes.Equal(r.body, body) {
			t.Errorf("who has a part of %s gets %d with %d bytes; want %d with %d", held, r.status, len(r.body), want, len(body))
		}
	}
}

// checkOnlyForReading wants an address of the bucket to be good for this one
// object, and for reading it.
func checkOnlyForReading(t testing.TB, s *server, address, place string) {
	t.Helper()
	checkMethods(t, s, address, "PUT", "POST", "DELETE")
	for _, other := range []string{
		strings.Replace(address, "144p.mp4", "144p-0.jpg", 1),
		strings.Replace(address, "X-Amz-Expires=", "X-Amz-Expires=1", 1),
		strings.Split(address, "?")[0],
		place,
	} {
		checkForbidden(t, s.get(other), "")
	}
}

func TestABucketsAddressDiesWithThePrivateOne(t *testing.T) {
	fleetOnly(t)
	t.Parallel()
	s := start(t)
	u := s.submit(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, clip(t, miniClip))
	s.waitReady(u)

	const life = 7
	before := time.Now()
	url := decode[watch](t, s.readPrivate(u.ID, life), http.StatusOK).Resolutions["144p"].VideoURL
	end := time.Now().Add(life * time.Second)
	address := s.sentTo(url)
	if got := s.get(address); got.status != http.StatusOK {
		t.Fatalf("a fresh address of the bucket answers %d %s", got.status, got.body)
	}
	if dies := expiry(t, address); dies.After(end) {
		t.Errorf("the bucket's address lives until %s, ours until %s", dies, end)
	}
	for ; time.Since(before) < life*time.Second-pollPause; time.Sleep(pollPause) {
		if to := s.hop(url).header.Get("Location"); to != "" && time.Until(expiry(t, to)) < time.Second {
			t.Fatalf("after %s the address leads to one that ends in %s, before a player is there", time.Since(before), time.Until(expiry(t, to)))
		}
		if r := s.get(url); r.status != http.StatusOK && time.Since(before) < life*time.Second {
			t.Fatalf("after %s the address answers %d %s, want it to lead to the video for %d s", time.Since(before), r.status, r.body, life)
		}
	}
	time.Sleep(time.Until(end.Add(time.Millisecond)))
	s.hop(url).problem(t, http.StatusForbidden, "url_expired")
	if r := s.get(address); r.status != http.StatusForbidden {
		t.Errorf("after its end the bucket's address answers %d", r.status)
	}
}

// TestADeletionReachesAddressesThatWereGivenOut deletes videos whose addresses in
// the bucket are known to a player.
func TestADeletionReachesAddressesThatWereGivenOut(t *testing.T) {
	fleetOnly(t)
	t.Parallel()
	s := start(t)
	ask := newVideo{Filename: "a.mp4", Resolutions: []string{"144p", "240p"}, IsPublic: true}
	w := s.publish(ask, clip(t, tinyClip))
	first, second := s.sentTo(w.Resolutions["144p"].VideoURL), s.sentTo(w.Resolutions["240p"].VideoURL)
	s.deleteResolution(w.Resolutions["144p"].ID)
	if r := s.get(first); r.status != http.StatusNotFound {
		t.Errorf("the file of a deleted resolution answers %d in the bucket", r.status)
	}
	if r := s.get(second); r.status != http.StatusOK {
		t.Errorf("the video that is left answers %d in the bucket", r.status)
	}
	s.deleteVideo(w.ID)
	if r := s.get(second); r.status != http.StatusNotFound {
		t.Errorf("a rendition of a deleted video answers %d in the bucket", r.status)
	}
}

// TestTheServerCanStandBeforeItsBucket: players that cannot reach the bucket are
// served by the server.
func TestTheServerCanStandBeforeItsBucket(t *testing.T) {
	fleetOnly(t)
	t.Parallel()
	s := start(t, proxied())
	film := s.publish(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}, clip(t, miniClip)).Resolutions["144p"]
	if r := s.hop(film.VideoURL); r.status != http.StatusOK || int64(len(r.body)) != film.SizeBytes {
		t.Errorf("the server answers %d with %d bytes; want 200 with %d", r.status, len(r.body), film.SizeBytes)
	}
}
