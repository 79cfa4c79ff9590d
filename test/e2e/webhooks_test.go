package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/spool-video/spool/test/need"
	"github.com/spool-video/spool/test/rig"
)

// hookEvent is a message that arrived at a webhook.
type hookEvent struct {
	ID   string `json:"-"`
	Type string `json:"type"`
	Data struct {
		ID          string `json:"id"`
		Status      string `json:"status"`
		Resolution  string `json:"resolution"`
		Resolutions map[string]struct{ Status string }
		Failure     *struct{ Code string }
		Reason      string
	} `json:"data"`
}

// hookReceiver is a server that events are sent to. It wants them to be signed.
type hookReceiver struct {
	*httptest.Server
	mu     sync.Mutex
	secret string
	events []hookEvent
	down   bool
	denied int      // messages that came while it was down
	wrong  []string // what was not as it should be
}

func receiveHooks(t testing.TB) *hookReceiver {
	t.Helper()
	r := new(hookReceiver)
	r.Server = httptest.NewServer(http.HandlerFunc(r.receive))
	t.Cleanup(r.Close)
	return r
}

func (r *hookReceiver) receive(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender was killed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	verifier, err := standardwebhooks.NewWebhook(r.secret)
	if err == nil {
		err = verifier.Verify(body, req.Header)
	}
	e := hookEvent{ID: req.Header.Get("webhook-id")}
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if err != nil {
		r.wrong = append(r.wrong, err.Error())
	}
	if r.down {
		r.denied++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.events = append(r.events, e)
}

// about returns the types of the events about a video, in the order of their first arrival.
func (r *hookReceiver) about(id string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var types, seen []string
	for _, e := range r.events {
		if e.Data.ID == id && !slices.Contains(seen, e.ID) {
			seen = append(seen, e.ID)
			types = append(types, e.Type)
		}
	}
	return types
}

// hookEvents are those that a test asks for.
var hookEvents = []string{"video.upload_completed", "video.resolution_ready", "video.ready", "video.failed", "video.expiring", "video.deleted", "video.replaced", "video.replace_failed"}

// isDown changes whether the receiver refuses everything, and returns how often it did.
func (r *hookReceiver) isDown(down bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
	return r.denied
}

type hook struct {
	ID, URL, Secret string
	Enabled         bool
}

// register makes the receiver a webhook.
func (s *server) register(r *hookReceiver) hook {
	s.t.Helper()
	h := decode[hook](s.t, s.call("POST", "/api/webhook", map[string]any{"url": r.URL + "/hook", "events": hookEvents}), http.StatusCreated)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secret = h.Secret
	return h
}

// allowLoopback lets webhooks reach the receivers of this test, and retries follow soon.
func allowLoopback(s *server) {
	s.env["SPOOL_OUTBOUND_ALLOW"], s.env["SPOOL_TEST_WEBHOOK_RETRY_FACTOR"] = "127.0.0.1", "0.001"
}

// TestWebhooks follows a video from its upload to its deletion.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	s, r := start(t, allowLoopback), receiveHooks(t)
	h := s.register(r)
	s.call("POST", "/api/webhook", map[string]any{"url": "https://169.254.169.254/"}).problem(t, 400, "address_not_allowed")

	r.isDown(true) // nothing is lost meanwhile
	refused := s.create(newVideo{Filename: "b.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	s.call("POST", "/api/video/"+refused.ID+"/complete-upload", nil).problem(t, 422, "upload_missing")
	s.until("a message to be refused", time.Minute, func() bool { return r.isDown(true) > 0 })
	r.isDown(false)
	expires := s.create(newVideo{Filename: "c.mp4", Resolutions: []string{"144p"}, ExpiresAt: time.Now().Add(time.Hour).Format(time.RFC3339)})
	decode[upload](t, s.call("PATCH", "/api/video/"+expires.ID, map[string]any{"expiresAt": time.Now().Add(3 * time.Second)}), http.StatusOK)
	u := s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}, IsPublic: true})
	s.put(u, clip(t, miniClip))
	s.complete(u.ID)
	w := s.waitReady(u)
	s.replace(u.ID, newFile{Filename: "missing.mp4"})
	s.call("POST", "/api/video/"+u.ID+"/complete-upload", nil).problem(t, 422, "upload_missing")
	s.replaced(w, clip(t, miniClip))
	if got := s.call("DELETE", "/api/video/"+u.ID, nil); got.status != 200 {
		t.Fatalf("delete: %d %s", got.status, got.body)
	}
	want := []string{"video.deleted", "video.ready", "video.replace_failed", "video.replaced", "video.resolution_ready", "video.upload_completed"}
	s.until("all events to arrive", 2*time.Minute, func() bool {
		return len(r.about(u.ID)) >= len(want) && len(r.about(refused.ID)) >= 1
	})
	if got := slices.Sorted(slices.Values(r.about(u.ID))); !slices.Equal(got, want) {
		t.Errorf("events are %v; want %v", got, want)
	}
	if got := r.about(refused.ID); !slices.Equal(got, []string{"video.failed"}) {
		t.Errorf("events of a refused upload are %v", got)
	}
	s.until("the video to expire", 2*time.Minute, func() bool { return slices.Contains(r.about(expires.ID), "video.deleted") })
	if got := r.about(expires.ID); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"video.deleted", "video.expiring", "video.expiring"}) {
		t.Errorf("events of a video that expires, whose time was changed, are %v", got)
	}
	s.call("GET", "/api/video/"+expires.ID, nil).problem(t, 404, "video_not_found")
	checkHookStates(t, r)
	checkHookLog(t, s, h)
}

// checkHookStates wants each event to have the state of its moment.
func checkHookStates(t *testing.T, r *hookReceiver) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	states := map[string]string{"video.deleted": "ready", "video.ready": "ready", "video.replaced": "ready", "video.replace_failed": "ready", "video.upload_completed": "processing", "video.failed": "fail"}
	for _, e := range r.events {
		if expired := e.Type == "video.deleted" && e.Data.Status == "pending_upload"; expired != (e.Data.Reason == "expired") {
			t.Errorf("%s of a video that is %s has the reason %q", e.Type, e.Data.Status, e.Data.Reason)
		} else if expired {
			continue
		}
		if want, known := states[e.Type]; known && e.Data.Status != want {
			t.Errorf("%s says that the video is %s; want %s", e.Type, e.Data.Status, want)
		}
		if e.Type == "video.resolution_ready" && (e.Data.Resolution != "144p" || e.Data.Resolutions["144p"].Status != "ready") {
			t.Errorf("%s: %+v", e.Type, e.Data)
		}
		if e.Type == "video.failed" && (e.Data.Failure == nil || e.Data.Failure.Code != "upload_missing") {
			t.Errorf("%s: %+v", e.Type, e.Data)
		}
	}
	if len(r.wrong) > 0 {
		t.Errorf("%d messages are wrong: %s", len(r.wrong), r.wrong[0])
	}
}

// hookDelivery is an entry of the log.
type hookDelivery struct {
	ID, EventID, VideoID, Type, State string
	Attempts                          []struct {
		Status *int
		Error  *string
	}
}

// hookLog reads all pages of a log; with a state, only those deliveries.
func (s *server) hookLog(h hook, state string) (all []hookDelivery) {
	s.t.Helper()
	query := url.Values{"limit": {"100"}}
	if state != "" {
		query.Set("status", state)
	}
	for more := true; more; {
		page := decode[struct {
			Deliveries []hookDelivery
			NextCursor *string
		}](s.t, s.call("GET", "/api/webhook/"+h.ID+"/deliveries?"+query.Encode(), nil), 200)
		all = append(all, page.Deliveries...)
		if more = page.NextCursor != nil; more {
			query.Set("cursor", *page.NextCursor)
		}
	}
	return all
}

// checkHookLog reads the log, replays a delivery and sends a test.
func checkHookLog(t *testing.T, s *server, h hook) {
	t.Helper()
	read := func() []hookDelivery {
		r := s.call("GET", "/api/webhook/"+h.ID+"/deliveries?status=delivered&limit=100", nil)
		return decode[struct{ Deliveries []hookDelivery }](t, r, 200).Deliveries
	}
	s.until("all deliveries to be in the log", time.Minute, func() bool { return len(read()) == 10 })
	retried := slices.ContainsFunc(read(), func(d hookDelivery) bool {
		return len(d.Attempts) > 1 && *d.Attempts[0].Status == 503 && d.Attempts[0].Error != nil
	})
	if !retried {
		t.Errorf("no failed attempt is in the log: %+v", read())
	}
	first := read()[0]
	if got := s.call("POST", "/api/webhook/delivery/"+first.ID+"/replay", nil); got.status != 202 {
		t.Errorf("replay: %d %s", got.status, got.body)
	}
	if got := s.call("POST", "/api/webhook/"+h.ID+"/test", nil); got.status != 202 {
		t.Errorf("test: %d %s", got.status, got.body)
	}
	s.until("the test to be delivered", time.Minute, func() bool {
		all := read()
		return len(all) == 11 && all[0].Type == "webhook.test"
	})
	if metrics := string(s.get(s.url + "/metrics").body); !strings.Contains(metrics, `spool_webhook_deliveries_total{outcome="delivered"} `) {
		t.Error("the metrics do not count deliveries")
	}
}

// TestNoEventIsLostInACrash kills the server while videos fail: each one that did has told it, and no
// other. SPOOL_TEST_ROUNDS says how often.
func TestNoEventIsLostInACrash(t *testing.T) {
	t.Parallel()
	if !need.Long() {
		oneBackend(t, "on PostgreSQL it waits for leases to end")
	}
	s, r := start(t, allowLoopback), receiveHooks(t)
	h := s.register(r)
	told := map[string]int{} // the videos that failed, and how often the log has them
	for round := range rig.Setting(t, "SPOOL_TEST_ROUNDS", 3) {
		var ids []string
		for range 8 {
			ids = append(ids, s.create(newVideo{Filename: "a.mp4", Resolutions: []string{"144p"}}).ID)
		}
		var callers sync.WaitGroup
		for _, id := range ids {
			callers.Go(func() { // fails, because nothing was uploaded; there may be no answer
				_, _ = s.trySend("POST", s.url+"/api/video/"+id+"/complete-upload", nil, header{"X-API-KEY", s.key})
			})
		}
		time.Sleep(time.Duration(rand.Int64N(int64(40 * time.Millisecond)))) // the moment of the crash
		s.kill()
		callers.Wait()
		s.restart()
		failed := 0
		for _, id := range ids {
			state := decode[struct{ Status string }](t, s.call("GET", "/api/video/"+id, nil), 200).Status
			want := 0
			if state == "fail" {
				want, told[id] = 1, 0
				failed++
			}
			s.until(fmt.Sprintf("events of a video that is %s", state), 2*time.Minute, func() bool { return len(r.about(id)) >= want })
			if got := r.about(id); len(got) > want {
				t.Errorf("round %d: %v about a video that is %s", round, got, state)
			}
		}
		t.Logf("round %d: %d of %d failed before the crash", round, failed, len(ids))
	}
	s.until("everything to be delivered", time.Minute, func() bool { return len(s.hookLog(h, "pending")) == 0 })
	for _, d := range s.hookLog(h, "") {
		told[d.VideoID]++
	}
	for id, n := range told {
		if n != 1 {
			t.Errorf("video %s is %d times in the log; want once", id, n)
		}
	}
	if r.mu.Lock(); len(r.wrong) > 0 {
		t.Errorf("%d messages are wrong: %s", len(r.wrong), r.wrong[0])
	}
	r.mu.Unlock()
}
