package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

// fakeWebhooks records its arguments.
type fakeWebhooks struct {
	service *fakeService // has the error that every method returns, and counts calls
	full    bool         // everything has a value
	draft   webhook.Draft
	changes webhook.Changes
	state   webhook.State
	attempt webhook.Attempt
	receipt string
}

var webhookTime = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func (f *fakeWebhooks) hook() webhook.Webhook {
	if !f.service.repeated {
		return webhook.Webhook{ID: testID, CreatedAt: webhookTime, Pull: true}
	}
	return webhook.Webhook{ID: testID, URL: "https://example.com/?a=1&b=2", Events: []video.EventType{video.EventReady}, Description: "<ours>",
		Enabled: true, DisabledReason: "Gone.", CreatedAt: webhookTime}
}

func (f *fakeWebhooks) call(by auth.Actor) error {
	f.service.calls++
	f.service.actor = by
	return f.service.err
}

func (f *fakeWebhooks) Create(_ context.Context, by auth.Actor, d webhook.Draft) (webhook.Webhook, string, error) {
	f.draft = d
	return f.hook(), "whsec_x", f.call(by)
}

func (f *fakeWebhooks) List(_ context.Context, by auth.Actor) ([]webhook.Webhook, error) {
	return []webhook.Webhook{f.hook()}, f.call(by)
}

func (f *fakeWebhooks) Get(_ context.Context, by auth.Actor, _ string) (webhook.Webhook, error) {
	return f.hook(), f.call(by)
}

func (f *fakeWebhooks) Update(_ context.Context, by auth.Actor, _ string, c webhook.Changes) (webhook.Webhook, error) {
	f.changes = c
	return f.hook(), f.call(by)
}

func (f *fakeWebhooks) Delete(_ context.Context, by auth.Actor, _ string) error { return f.call(by) }
func (f *fakeWebhooks) RotateSecret(_ context.Context, by auth.Actor, _ string) (string, error) {
	return "whsec_y", f.call(by)
}
func (f *fakeWebhooks) Test(_ context.Context, by auth.Actor, _ string) error   { return f.call(by) }
func (f *fakeWebhooks) Replay(_ context.Context, by auth.Actor, _ string) error { return f.call(by) }

func (f *fakeWebhooks) Deliveries(_ context.Context, by auth.Actor, _ string, s webhook.State, _ video.Cursor, _ int) (webhook.Page, error) {
	f.state = s
	d := webhook.Delivery{ID: testID, EventID: testID, Type: video.EventTest, State: webhook.Pending, CreatedAt: webhookTime}
	if f.service.repeated {
		d.Type, d.VideoID, d.NextAttemptAt = video.EventReady, testID, webhookTime
		d.Attempts = []webhook.Attempt{{At: webhookTime, Error: "No.", Duration: time.Second}, {At: webhookTime, Status: 204}}
	}
	return webhook.Page{Deliveries: []webhook.Delivery{d}, Next: f.service.next}, f.call(by)
}

func (f *fakeWebhooks) Fetch(_ context.Context, by auth.Actor, _ string, _ int) ([]webhook.Fetched, error) {
	return []webhook.Fetched{{DeliveryID: testID, Type: video.EventReady, Receipt: "r", Message: webhook.Message{ID: "i", Timestamp: "1", Signature: "v1,s", Body: []byte(`{"a":"<b>"}`)}}}, f.call(by)
}

func (f *fakeWebhooks) Report(_ context.Context, by auth.Actor, _, receipt string, a webhook.Attempt) error {
	f.receipt, f.attempt = receipt, a
	return f.call(by)
}

// ask sends a request to an API with fake webhooks.
func ask(t *testing.T, f *fakeWebhooks, method, path, body string) (int, string) {
	t.Helper()
	f.service = &fakeService{repeated: f.full}
	services := f.service.services()
	services.Webhooks = f
	a := New(services, Config{})
	w := do(a.InFrontOf(http.NotFoundHandler()), request(method, path, body))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestRegisterWebhook(t *testing.T) {
	t.Parallel()
	f := &fakeWebhooks{full: true}
	code, body := ask(t, f, "POST", "/api/webhook", `{"url":"https://example.com","events":["video.ready"],"description":"x","unknown":1}`)
	const want = `{"id":"` + testID + `","url":"https://example.com/?a=1&b=2","events":["video.ready"],"description":"<ours>","enabled":true,` +
		`"createdAt":"2030-01-02T12:00:00Z","disabledReason":"Gone.","secret":"whsec_x"}`
	if code != 201 || body != want {
		t.Errorf("answer is %d %s\nwant %s", code, body, want)
	}
	if diff := cmp.Diff(webhook.Draft{URL: "https://example.com", Events: []video.EventType{"video.ready"}, Description: "x"}, f.draft); diff != "" {
		t.Errorf("draft (-want +got):\n%s", diff)
	}
	if code, body := ask(t, f, "POST", "/api/webhook", `{"url":1,"events":[2],"description":3,"pull":4}`); code != 400 || strings.Count(body, `"wrong_type"`) != 4 {
		t.Errorf("answer is %d %s; want four faults", code, body)
	}
}

func TestReadWebhooks(t *testing.T) {
	t.Parallel()
	f := &fakeWebhooks{}
	const bare = `{"id":"` + testID + `","url":"","events":[],"description":"","enabled":false,"createdAt":"2030-01-02T12:00:00Z","pull":true}`
	if code, body := ask(t, f, "GET", "/api/webhook", ""); code != 200 || body != `{"webhooks":[`+bare+`]}` {
		t.Errorf("answer is %d %s", code, body)
	}
	if code, body := ask(t, f, "GET", "/api/webhook/"+testID, ""); code != 200 || body != bare {
		t.Errorf("answer is %d %s", code, body)
	}
	if code, body := ask(t, f, "POST", "/api/webhook/"+testID+"/rotate-secret", ""); code != 200 || body != `{"secret":"whsec_y"}` {
		t.Errorf("answer is %d %s", code, body)
	}
	for _, path := range []string{"/api/webhook/" + testID + "/test", "/api/webhook/delivery/" + testID + "/replay"} {
		if code, body := ask(t, f, "POST", path, ""); code != 202 || body != "" {
			t.Errorf("POST %s: answer is %d %s", path, code, body)
		}
	}
	if code, _ := ask(t, f, "GET", "/api/webhook/x", ""); code != 400 {
		t.Errorf("an id that is no UUID: %d", code)
	}
}

func TestUpdateWebhook(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]webhook.Changes{
		`{}`: {},
		`{"url":"https://x","events":[],"description":"","enabled":false}`: {URL: new("https://x"), Events: &[]video.EventType{}, Description: new(""), Enabled: new(false)},
		`{"url":null,"events":null,"enabled":null}`:                        {},
		`{"events":["video.ready"],"enabled":true}`:                        {Events: &[]video.EventType{"video.ready"}, Enabled: new(true)},
	} {
		f := &fakeWebhooks{}
		code, answer := ask(t, f, "PATCH", "/api/webhook/"+testID, body)
		if diff := cmp.Diff(want, f.changes); code != 200 || diff != "" {
			t.Errorf("%s: answer is %d %s (-want +got):\n%s", body, code, answer, diff)
		}
	}
}

func TestListDeliveries(t *testing.T) {
	t.Parallel()
	f := &fakeWebhooks{full: true}
	code, body := ask(t, f, "GET", "/api/webhook/"+testID+"/deliveries?status=failed&limit=3", "")
	const want = `{"deliveries":[{"id":"` + testID + `","eventId":"` + testID + `","type":"video.ready","videoId":"` + testID + `","state":"pending","attempts":[` +
		`{"at":"2030-01-02T12:00:00Z","status":null,"error":"No.","milliseconds":1000},{"at":"2030-01-02T12:00:00Z","status":204,"error":null,"milliseconds":0}],` +
		`"createdAt":"2030-01-02T12:00:00Z","nextAttemptAt":"2030-01-02T12:00:00Z"}]}`
	if code != 200 || body != want || f.state != webhook.Failed {
		t.Errorf("answer is %d %s\nwant %s; state %q", code, body, want, f.state)
	}
	if code, body := ask(t, f, "GET", "/api/webhook/"+testID+"/deliveries?status=lost&limit=0&cursor=x", ""); code != 400 || strings.Count(body, `"field"`) != 3 {
		t.Errorf("answer is %d %s; want three faults", code, body)
	}
}

func TestFetchAndReport(t *testing.T) {
	t.Parallel()
	f := &fakeWebhooks{}
	code, body := ask(t, f, "POST", "/api/webhook/"+testID+"/fetch", "")
	const want = `{"events":[{"deliveryId":"` + testID + `","type":"video.ready","receipt":"r",` +
		`"headers":{"webhook-id":"i","webhook-timestamp":"1","webhook-signature":"v1,s"},"body":"{\"a\":\"<b>\"}"}]}`
	if code != 200 || body != want {
		t.Errorf("answer is %d %s\nwant %s", code, body, want)
	}
	report := "/api/webhook/delivery/" + testID + "/report"
	code, body = ask(t, f, "POST", report, `{"receipt":"r","status":500,"error":"No.","milliseconds":12}`)
	if code != 200 || f.receipt != "r" || f.attempt != (webhook.Attempt{Status: 500, Error: "No.", Duration: 12 * time.Millisecond}) {
		t.Errorf("answer is %d %s; reported %q %+v", code, body, f.receipt, f.attempt)
	}
	for _, bad := range []string{`{}`, `{"receipt":"r","status":1000}`, `{"receipt":"r","status":1.5}`, `{"receipt":"r","milliseconds":-1}`, `{"receipt":"r","error":"` + strings.Repeat("ü", 301) + `"}`} {
		if code, body := ask(t, f, "POST", report, bad); code != 400 {
			t.Errorf("%.60s: answer is %d %s", bad, code, body)
		}
	}
}

func TestWebhookBody(t *testing.T) {
	t.Parallel()
	s := readyState()
	body, err := WebhookBody(webhook.Event{Type: video.EventResolutionReady, At: webhookTime, State: s, Resolution: "720p"})
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
	f := &fakeService{state: s}
	w := do(newHandler(t, f, Config{}), request("GET", "/api/video/"+testID, ""))
	var state map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &state); err != nil {
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
