package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

var webhookTime = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func TestViewsOfWebhooks(t *testing.T) {
	t.Parallel()
	full := webhook.Webhook{ID: testID, URL: "https://example.com/?a=1&b=2", Events: []video.EventType{video.EventReady}, Description: "<ours>",
		Enabled: true, DisabledReason: "Gone.", CreatedAt: webhookTime}
	registered := registeredWebhook{WebhookView: viewWebhook(full), Secret: "whsec_x"}
	delivery := webhook.Delivery{ID: testID, EventID: testID, Type: video.EventReady, VideoID: testID, State: webhook.Pending, CreatedAt: webhookTime, NextAttemptAt: webhookTime,
		Attempts: []webhook.Attempt{{At: webhookTime, Error: "No.", Duration: time.Second}, {At: webhookTime, Status: 204}}}
	for want, view := range map[string]any{
		`{"id":"` + testID + `","url":"https://example.com/?a=1&b=2","events":["video.ready"],"description":"<ours>","enabled":true,` +
			`"createdAt":"2030-01-02T12:00:00Z","disabledReason":"Gone.","secret":"whsec_x"}`: registered,
		`{"id":"` + testID + `","url":"","events":[],"description":"","enabled":false,"createdAt":"2030-01-02T12:00:00Z","pull":true}`: viewWebhook(webhook.Webhook{ID: testID, CreatedAt: webhookTime, Pull: true}),
		`{"id":"` + testID + `","eventId":"` + testID + `","type":"video.ready","videoId":"` + testID + `","state":"pending","attempts":[` +
			`{"at":"2030-01-02T12:00:00Z","status":null,"error":"No.","milliseconds":1000},{"at":"2030-01-02T12:00:00Z","status":204,"error":null,"milliseconds":0}],` +
			`"createdAt":"2030-01-02T12:00:00Z","nextAttemptAt":"2030-01-02T12:00:00Z"}`: viewDelivery(delivery),
		`{"id":"` + testID + `","eventId":"","type":"webhook.test","videoId":null,"state":"failed","attempts":[],` +
			`"createdAt":"2030-01-02T12:00:00Z","nextAttemptAt":null}`: viewDelivery(webhook.Delivery{ID: testID, Type: video.EventTest, State: webhook.Failed, CreatedAt: webhookTime}),
	} {
		if got := wire(t, view); got != want {
			t.Errorf("it is\n%s\nwant\n%s", got, want)
		}
	}
}

// newWebhook registers a webhook and returns its path.
func (r *rig) newWebhook(body string) string {
	r.T.Helper()
	w := r.ask("POST", "/api/webhook", body)
	var made struct{ ID, Secret string }
	if r.decode(w, &made); w.Code != 201 || !strings.HasPrefix(made.Secret, "whsec_") {
		r.T.Fatalf("%s is answered %d %s", body, w.Code, w.Body)
	}
	return "/api/webhook/" + made.ID
}

func TestUpdateWebhook(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	path := r.newWebhook(`{"url":"https://1.1.1.1/a","events":["video.ready"],"description":"x","unknown":1}`)
	state := func() string {
		w := r.ask("GET", path, "")
		var v struct {
			URL         string
			Events      []string
			Description string
			Enabled     bool
		}
		r.decode(w, &v)
		text, _ := json.Marshal(v)
		return string(text)
	}
	for _, tt := range []struct{ body, want string }{
		{`{}`, `{"URL":"https://1.1.1.1/a","Events":["video.ready"],"Description":"x","Enabled":true}`},
		{`{"url":null,"events":null,"description":null,"enabled":null}`, `{"URL":"https://1.1.1.1/a","Events":["video.ready"],"Description":"x","Enabled":true}`},
		{`{"url":"https://1.1.1.1/b","events":[],"description":"","enabled":false}`, `{"URL":"https://1.1.1.1/b","Events":[],"Description":"","Enabled":false}`},
		{`{"events":["video.failed"],"enabled":true}`, `{"URL":"https://1.1.1.1/b","Events":["video.failed"],"Description":"","Enabled":true}`},
	} {
		if w := r.ask("PATCH", path, tt.body); w.Code != 200 || state() != tt.want {
			t.Errorf("%s: answer is %d %s; the webhook is %s, want %s", tt.body, w.Code, w.Body, state(), tt.want)
		}
	}
}

func TestListDeliveries(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	path := r.newWebhook(`{"pull":true}`)
	for range 2 {
		r.Advance(time.Second)
		if w := r.ask("POST", path+"/test", ""); w.Code != 202 || !strings.HasPrefix(w.Body.String(), `{"eventId":"`) {
			t.Fatalf("a test is answered %d %s", w.Code, w.Body)
		}
	}
	var page struct {
		Deliveries []struct{ ID, Type, State string }
		NextCursor string
	}
	w := r.ask("GET", path+"/deliveries?status=pending&limit=1", "")
	if r.decode(w, &page); len(page.Deliveries) != 1 || page.Deliveries[0].Type != "webhook.test" || page.NextCursor == "" {
		t.Errorf("answer is %d %s", w.Code, w.Body)
	}
	w = r.ask("GET", "/api/webhook/delivery/"+page.Deliveries[0].ID+"/message", "")
	if !strings.Contains(w.Body.String(), `"body":"{\"type\":\"webhook.test\",`) {
		t.Errorf("the message is %d %s", w.Code, w.Body)
	}
	if w := r.ask("GET", path+"/deliveries?status=failed", ""); strings.TrimSpace(w.Body.String()) != `{"deliveries":[]}` {
		t.Errorf("failed ones are %d %s", w.Code, w.Body)
	}
	if w := r.ask("GET", path+"/deliveries?status=lost&limit=0&cursor=x", ""); w.Code != 400 || strings.Count(w.Body.String(), `"field"`) != 3 {
		t.Errorf("answer is %d %s; want three faults", w.Code, w.Body)
	}
}

// A message has the title and the metadata of a video, so a key that may not read videos gets none.
func TestMessagesAreForKeysThatMayReadVideos(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	path, admin := r.newWebhook(`{"pull":true}`), r.newKey(auth.Admin)
	r.ask("POST", path+"/test", "")
	wantProblem(t, r.askAs(admin, "POST", path+"/fetch", ""), 403, "insufficient_scope")
	var log struct{ Deliveries []struct{ ID string } }
	if r.decode(r.askAs(admin, "GET", path+"/deliveries", ""), &log); len(log.Deliveries) != 1 {
		t.Fatalf("the log has %+v", log)
	}
	wantProblem(t, r.askAs(admin, "GET", "/api/webhook/delivery/"+log.Deliveries[0].ID+"/message", ""), 403, "insufficient_scope")
	if w := r.askAs(r.newKey(auth.Admin, auth.Read), "POST", path+"/fetch", ""); w.Code != 200 || !strings.Contains(w.Body.String(), "webhook.test") {
		t.Errorf("a key with both scopes gets %d %s", w.Code, w.Body)
	}
}

func TestFetchAndReport(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{})
	path := r.newWebhook(`{"pull":true}`)
	r.ask("POST", path+"/test", "")
	var fetched struct {
		Events []struct {
			DeliveryID, Type, Receipt, Body string
			Headers                         map[string]string
		}
	}
	w := r.ask("POST", path+"/fetch", "")
	if r.decode(w, &fetched); len(fetched.Events) != 1 {
		t.Fatalf("answer is %d %s", w.Code, w.Body)
	}
	e := fetched.Events[0]
	want := `{"type":"webhook.test","timestamp":"2030-01-02T12:00:00Z","data":{"webhookId":"` + strings.TrimPrefix(path, "/api/webhook/") + `"}}`
	if e.Type != "webhook.test" || e.Body != want || e.Headers["webhook-id"] == "" || e.Headers["webhook-timestamp"] == "" || !strings.HasPrefix(e.Headers["webhook-signature"], "v1,") {
		t.Errorf("the event is %+v", e)
	}
	report := "/api/webhook/delivery/" + e.DeliveryID + "/report"
	for _, bad := range []string{`{}`, `{"receipt":"r","status":1000}`, `{"receipt":"r","status":1.5}`, `{"receipt":"r","milliseconds":-1}`, `{"receipt":"r","error":"` + strings.Repeat("ü", 301) + `"}`} {
		if w := r.ask("POST", report, bad); w.Code != 400 {
			t.Errorf("%.60s: answer is %d %s", bad, w.Code, w.Body)
		}
	}
	if w := r.ask("POST", report, `{"receipt":"`+e.Receipt+`","status":500,"error":"No.","milliseconds":12}`); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("answer is %d %s", w.Code, w.Body)
	}
	const attempt = `"attempts":[{"at":"2030-01-02T12:00:00Z","status":500,"error":"No.","milliseconds":12}]`
	if w := r.ask("GET", path+"/deliveries", ""); !strings.Contains(w.Body.String(), attempt) {
		t.Errorf("the log is %s, want in it %s", w.Body, attempt)
	}
}

func TestWebhookBody(t *testing.T) {
	t.Parallel()
	body, err := WebhookBody(webhook.Event{Type: video.EventResolutionReady, At: webhookTime, State: readyState(), Resolution: "720p"})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Type      string
		Timestamp string
		Data      map[string]any
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal([]byte(readyStateJSON), &state); err != nil {
		t.Fatal(err)
	}
	state["resolution"] = "720p"
	if diff := cmp.Diff(state, got.Data); diff != "" || got.Type != "video.resolution_ready" || got.Timestamp != "2030-01-02T12:00:00Z" {
		t.Errorf("the message is %s (-state of the video +data):\n%s", body, diff)
	}
	body, err = WebhookBody(webhook.Event{Type: video.EventTest, At: webhookTime, Webhook: "w"})
	if want := `{"type":"webhook.test","timestamp":"2030-01-02T12:00:00Z","data":{"webhookId":"w"}}`; err != nil || string(body) != want {
		t.Errorf("a test is %s, %v", body, err)
	}
}
