package cdn_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/captions"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/servicetest"
	"github.com/spool-video/spool/internal/video"
)

// edge is a CDN that counts what became of the requests to it.
type edge struct {
	mu       sync.Mutex
	status   int
	messages []cdn.Message
	outcomes map[cdn.Outcome]int
	changed  chan struct{}
}

func newEdge() *edge {
	return &edge{status: 200, outcomes: map[cdn.Outcome]int{}, changed: make(chan struct{}, 1000)}
}

func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m cdn.Message
	_ = json.NewDecoder(r.Body).Decode(&m) // what is missing is noticed
	e.mu.Lock()
	defer e.mu.Unlock()
	e.messages = append(e.messages, m)
	w.WriteHeader(e.status)
}

func (e *edge) tried(o cdn.Outcome) {
	e.mu.Lock()
	e.outcomes[o]++
	e.mu.Unlock()
	e.changed <- struct{}{}
}

func (e *edge) wait(t *testing.T, o cdn.Outcome, n int) {
	t.Helper()
	for end := time.After(2 * time.Minute); ; {
		e.mu.Lock()
		got := e.outcomes[o]
		e.mu.Unlock()
		if got >= n {
			return
		}
		select {
		case <-e.changed:
		case <-end:
			t.Fatalf("%d times %s, want %d", got, o, n)
		}
	}
}

// clock can be turned.
type clock struct {
	mu sync.Mutex
	by time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.by)
}

func (c *clock) turn(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by += by
}

// newRig returns services whose deletions are told to an edge.
func newRig(t *testing.T) (*servicetest.Rig, *edge, *clock) {
	t.Helper()
	e, c := newEdge(), &clock{}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	b := servicetest.New(t, func(config *servicetest.Config) { config.PurgeClock = c.now })
	send(b, cdn.NewSender(cdn.Config{BaseURL: "https://cdn.test/", PurgeURL: server.URL}, b.Store, b.Blobs, b.Purges, slog.New(slog.DiscardHandler), e.tried))
	return b, e, c
}

// send has a sender do its tasks.
func send(b *servicetest.Rig, s *cdn.Sender) {
	b.Must(b.Queue.Start(b.T.Context(), map[queue.Lane]queue.Pool{queue.NetworkLane: {Places: 4, Handle: s.Handle}}))
}

func TestDeletionsAreTold(t *testing.T) {
	t.Parallel()
	b, e, _ := newRig(t)
	private := b.Create(video.Draft{}).Video
	b.Must(b.DeleteVideo(t.Context(), b.By, private.ID)) // no CDN has anything of it

	v := b.Create(video.Draft{IsPublic: true, Resolutions: []video.Name{"720p", "240p"}, Thumbnails: []float64{1}, Codecs: []video.Codec{video.AV1}}).Video
	for _, text := range []string{"one", "two"} {
		_, _, _, err := b.Captions.Put(t.Context(), b.By, v.ID, captions.Upload{Language: "en", Text: []byte("WEBVTT\n\n00:00.000 --> 00:01.000\n" + text + "\n")})
		b.Must(err)
	}
	e.wait(t, cdn.OutcomePurged, 1)
	b.Must(b.DeleteResolution(t.Context(), b.By, v.Resolutions[0].ID))
	e.wait(t, cdn.OutcomePurged, 2)
	b.Must(b.DeleteVideo(t.Context(), b.By, v.ID))
	e.wait(t, cdn.OutcomePurged, 3)

	wantTold(t, e, v)
}

// wantTold wants messages that replace the captions, delete 720p and delete the video.
func wantTold(t *testing.T, e *edge, v video.Video) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	base := "https://cdn.test/v/" + string(v.ID) + "/"
	for i, want := range []struct {
		reason cdn.Reason
		with   []string
	}{
		{cdn.CaptionsRemoved, []string{"master.m3u8"}},
		{cdn.ResolutionDeleted, []string{
			"720p.mp4", "720p-0.jpg", "720p.m3u8", "720p-init.mp4", "720p-iframes.m3u8", "audio.m3u8", "audio-init.mp4", "master.m3u8",
			"av1-720p.mp4", "av1-720p.m3u8", "av1-720p-init.mp4", "av1-720p-iframes.m3u8",
		}},
		{cdn.VideoDeleted, []string{"240p.mp4", "240p-0.jpg", "av1-240p.mp4", "av1-240p.m3u8", "audio.m3u8", "audio-init.mp4", "master.m3u8", "manifest.mpd"}},
	} {
		m := e.messages[i]
		if m.Reason != want.reason || m.VideoID != string(v.ID) || !slices.Equal(m.Prefixes, []string{base}) || !slices.Equal(m.Tags, []string{string(v.ID)}) {
			t.Errorf("message %d is %+v", i, m)
		}
		for _, file := range want.with {
			if !slices.Contains(m.URLs, base+file) {
				t.Errorf("message %d lacks %s: %v", i, file, m.URLs)
			}
		}
	}
	for _, i := range []int{0, 2} { // the replaced captions, and those that go with the video
		for _, end := range []string{".vtt", "-all.vtt", ".m3u8"} {
			form := regexp.MustCompile("^" + regexp.QuoteMeta(base) + "captions-en-[0-9a-f]{12}" + regexp.QuoteMeta(end) + "$")
			if !slices.ContainsFunc(e.messages[i].URLs, form.MatchString) {
				t.Errorf("message %d does not name the captions with %s: %v", i, end, e.messages[i].URLs)
			}
		}
	}
}

// A process that does not know of a rule yet may send files for a CDN to keep, so that is told a moment later.
func TestARuleIsTold(t *testing.T) {
	t.Parallel()
	b, e, c := newRig(t)
	sites := []string{"example.com"}
	var all []video.ID
	for _, public := range []bool{true, false} {
		v := b.Create(video.Draft{IsPublic: public, Resolutions: []video.Name{"720p"}}).Video
		_, err := b.Catalog.Edit(t.Context(), b.By, v.ID, video.Edit{AllowedOrigins: &sites})
		b.Must(err)
		all = append(all, v.ID)
	}
	other := b.Create(video.Draft{IsPublic: true}).Video
	b.Must(b.DeleteVideo(t.Context(), b.By, other.ID))
	e.wait(t, cdn.OutcomePurged, 1)
	c.turn(5 * time.Second)
	e.wait(t, cdn.OutcomePurged, 2)
	_, err := b.Catalog.Edit(t.Context(), b.By, all[0], video.Edit{AllowedOrigins: new([]string)}) // no cache keeps what is too little
	b.Must(err)
	stats, err := b.Queue.Stats(t.Context())
	b.Must(err)
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.messages[1]; m.Reason != cdn.VideoRestricted || m.VideoID != string(all[0]) || stats[queue.PurgeCDN].Waiting != 0 {
		t.Errorf("the CDN is told %+v, and %d more", m, stats[queue.PurgeCDN].Waiting)
	}
}

// A CDN that is told too early fetches the file again.
func TestAPurgeWaitsUntilTheFileIsGone(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"720p.mp4", "av1-720p.mp4"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			checkWaiting(t, file)
		})
	}
}

func checkWaiting(t *testing.T, file string) {
	b, e, _ := newRig(t)
	v := b.Create(video.Draft{IsPublic: true, Resolutions: []video.Name{"720p"}, Codecs: []video.Codec{video.AV1}}).Video
	key := "public/" + string(v.ID) + "/" + file
	_, err := b.Blobs.Put(t.Context(), key, strings.NewReader("film"))
	b.Must(err)
	b.Must(b.Store.InTx(t.Context(), func(tx *store.Tx) error {
		return b.Purges.Video(t.Context(), tx, cdn.VideoDeleted, v.ID)
	}))
	other := b.Create(video.Draft{IsPublic: true}).Video
	b.Must(b.DeleteVideo(t.Context(), b.By, other.ID))
	e.wait(t, cdn.OutcomePurged, 1)
	e.mu.Lock()
	got := e.messages[0].VideoID
	e.mu.Unlock()
	if got != string(other.ID) {
		t.Fatalf("the CDN was told of %s, whose file is there", got)
	}
	b.Must(b.Blobs.Delete(t.Context(), key))
	e.wait(t, cdn.OutcomePurged, 2)
}

func TestACDNThatIsDown(t *testing.T) {
	t.Parallel()
	b, e, c := newRig(t)
	e.mu.Lock()
	e.status = 503
	e.mu.Unlock()
	b.Must(b.DeleteVideo(t.Context(), b.By, b.Create(video.Draft{IsPublic: true}).Video.ID))
	e.wait(t, cdn.OutcomeRetry, 2)
	c.turn(4 * 24 * time.Hour) // for as long it stays so
	e.wait(t, cdn.OutcomeFailed, 1)
	stats, err := b.Queue.Stats(t.Context())
	if err != nil || stats[queue.PurgeCDN].Waiting != 0 {
		t.Errorf("left after giving up: %+v, %v", stats, err)
	}
}

// The address may hold a secret, and does not reach the log.
func TestTheAddressIsNotLogged(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, address := range map[string]string{"nobody answers": closed.URL + "/?key=secret", "not an address": "http://secret.test:port/"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEdge()
			b := servicetest.New(t, func(config *servicetest.Config) { config.PurgeClock = time.Now })
			var log lockedBuffer
			send(b, cdn.NewSender(cdn.Config{PurgeURL: address}, b.Store, b.Blobs, b.Purges, slog.New(slog.NewTextHandler(&log, nil)), e.tried))
			b.Must(b.DeleteVideo(t.Context(), b.By, b.Create(video.Draft{IsPublic: true}).Video.ID))
			e.wait(t, cdn.OutcomeRetry, 1)
			b.Must(b.Queue.Stop(t.Context()))
			if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "tries again") {
				t.Errorf("the log says %q", text)
			}
		})
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}
