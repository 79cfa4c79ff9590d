package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/webhook"
	"github.com/spool-video/spool/internal/video"
)

// newWebhook is the body of a request that registers a webhook.
type newWebhook struct {
	URL         string      `json:"url,omitempty" format:"uri" maxLength:"2048" doc:"Where events are sent: https, or http where the operator allows it. Required unless pull is true."`
	Events      []eventType `json:"events,omitempty" maxItems:"100" nullable:"true" doc:"The events to send. Absent or empty: all."`
	Description string      `json:"description,omitempty" maxLength:"500" nullable:"true" doc:"A note for people."`
	Pull        bool        `json:"pull,omitempty" nullable:"true" doc:"Events are not sent, but fetched by you; there is no url then."`
}

// webhookChanges is the body of a request that changes a webhook.
type webhookChanges struct {
	URL         *string      `json:"url,omitempty" format:"uri" maxLength:"2048" nullable:"true"`
	Events      *[]eventType `json:"events,omitempty" maxItems:"100" nullable:"true" doc:"Replaces all. Empty: all events."`
	Description *string      `json:"description,omitempty" maxLength:"500" nullable:"true"`
	Enabled     *bool        `json:"enabled,omitempty" nullable:"true" doc:"Disabling fails what was still to be delivered."`
}

// eventType is the type of an event.
type eventType string

// Schema allows the types of package video.
func (eventType) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: enum(video.EventTypes)}
}

// WebhookView is a webhook. It is exported because huma ignores embedded types that are not.
type WebhookView struct {
	ID             string      `json:"id" format:"uuid"`
	URL            string      `json:"url" doc:"Empty if pull is true."`
	Events         []eventType `json:"events" nullable:"false" doc:"Empty: all."`
	Description    string      `json:"description"`
	Enabled        bool        `json:"enabled"`
	CreatedAt      time.Time   `json:"createdAt"`
	Pull           bool        `json:"pull,omitempty" doc:"Events are fetched, not sent."`
	DisabledReason string      `json:"disabledReason,omitempty" doc:"Why the server has disabled it."`
}

type registeredWebhook struct {
	WebhookView
	Secret string `json:"secret" doc:"Signs the messages. It is told this once."`
}

type newSecret struct {
	Secret string `json:"secret"`
}

type webhookList struct {
	Webhooks []WebhookView `json:"webhooks" nullable:"false" doc:"Oldest first."`
}

func viewWebhook(w webhook.Webhook) WebhookView {
	events := append([]eventType{}, convertAll[eventType](w.Events)...) // never null
	return WebhookView{ID: w.ID, URL: w.URL, Events: events, Description: w.Description, Enabled: w.Enabled,
		CreatedAt: w.CreatedAt.UTC(), Pull: w.Pull, DisabledReason: w.DisabledReason}
}

// DeliveryView is an entry of the log. It is exported because huma ignores embedded types that are not.
type DeliveryView struct {
	ID            string        `json:"id" format:"uuid"`
	EventID       string        `json:"eventId" format:"uuid" doc:"The header webhook-id of every attempt."`
	Type          eventType     `json:"type"`
	VideoID       *string       `json:"videoId" nullable:"true" format:"uuid" doc:"null for a test."`
	State         string        `json:"state" enum:"pending,delivered,failed"`
	Attempts      []attemptView `json:"attempts" nullable:"false" doc:"Oldest first."`
	CreatedAt     time.Time     `json:"createdAt"`
	NextAttemptAt *time.Time    `json:"nextAttemptAt" nullable:"true" doc:"null if no attempt follows."`
}

// testEvent names the event that a test has sent.
type testEvent struct {
	EventID string `json:"eventId" format:"uuid" doc:"The header webhook-id of the test."`
}

// deliveryDetails is a delivery with its message.
type deliveryDetails struct {
	DeliveryView
	Body string `json:"body" doc:"The message exactly as it is sent."`
}

type attemptView struct {
	At           time.Time `json:"at"`
	Status       *int      `json:"status" nullable:"true" doc:"The status of the response; null if there was none."`
	Error        *string   `json:"error" nullable:"true" doc:"A sentence for a person; null for a success."`
	Milliseconds int64     `json:"milliseconds"`
}

type deliveryList struct {
	Deliveries []DeliveryView `json:"deliveries" nullable:"false"`
	NextCursor string         `json:"nextCursor,omitempty" doc:"The cursor of the next page; absent on the last one."`
}

func viewDelivery(d webhook.Delivery) DeliveryView {
	v := DeliveryView{ID: d.ID, EventID: d.EventID, Type: eventType(d.Type), State: string(d.State), CreatedAt: d.CreatedAt.UTC(), Attempts: make([]attemptView, len(d.Attempts))}
	if d.VideoID != "" {
		v.VideoID = new(string(d.VideoID))
	}
	if !d.NextAttemptAt.IsZero() {
		v.NextAttemptAt = new(d.NextAttemptAt.UTC())
	}
	for i, a := range d.Attempts {
		v.Attempts[i] = attemptView{At: a.At.UTC(), Milliseconds: a.Duration.Milliseconds()}
		if a.Status != 0 {
			v.Attempts[i].Status = &a.Status
		}
		if a.Error != "" {
			v.Attempts[i].Error = &a.Error
		}
	}
	return v
}

type fetchedList struct {
	Events []fetchedView `json:"events" nullable:"false" doc:"Oldest first, at most 100."`
}

type fetchedView struct {
	DeliveryID string         `json:"deliveryId" format:"uuid"`
	Type       string         `json:"type"`
	Receipt    string         `json:"receipt" doc:"For the report. Without a report within a minute, the event is fetched again."`
	Headers    fetchedHeaders `json:"headers"`
	Body       string         `json:"body" doc:"The message exactly as it is signed."`
}

type fetchedHeaders struct {
	ID        string `json:"webhook-id"`
	Timestamp string `json:"webhook-timestamp"`
	Signature string `json:"webhook-signature"`
}

// deliveryReport is the body of a report.
type deliveryReport struct {
	Receipt      string       `json:"receipt" doc:"The receipt of the event."`
	Status       httpStatus   `json:"status,omitempty" minimum:"0" maximum:"999" doc:"With which your program answered; 0 or absent: it did not."`
	Error        string       `json:"error,omitempty" maxLength:"300" nullable:"true" doc:"Why it did not."`
	Milliseconds milliseconds `json:"milliseconds,omitempty" minimum:"0" maximum:"3600000" doc:"How long it took."`
}

const maxReportError = 300

func (r *deliveryReport) check() []video.Fault {
	if utf8.RuneCountInString(r.Error) > maxReportError {
		return []video.Fault{{Field: "error", Code: "out_of_range", Message: fmt.Sprintf("must have at most %d characters", maxReportError)}}
	}
	return nil
}

// httpStatus and milliseconds are whole numbers however they are written, such as 2e2. One that is out of range has
// the wrong type.
type (
	httpStatus   int
	milliseconds int64
)

func (s *httpStatus) decodeField(raw json.RawMessage) bool {
	n, ok := wholeUpTo(999, raw)
	*s = httpStatus(n)
	return ok
}

func (*httpStatus) must() string { return "must be a whole number from 0 to 999" }

func (m *milliseconds) decodeField(raw json.RawMessage) bool {
	n, ok := wholeUpTo(3_600_000, raw)
	*m = milliseconds(n)
	return ok
}

func (*milliseconds) must() string { return "must be a whole number from 0 to 3600000" }

func wholeUpTo(most float64, raw json.RawMessage) (float64, bool) {
	n, ok := asNumber(raw)
	return n, ok && n >= 0 && n <= most && n == math.Trunc(n)
}

// eventView is the body of a message.
type eventView struct {
	Type      eventType `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// videoEventData is the state of the video, the resolution that the event is about, and why the video was deleted.
type videoEventData struct {
	videoStateView
	Resolution video.Name           `json:"resolution,omitempty"`
	Reason     video.DeletionReason `json:"reason,omitempty"`
}

// WebhookBody writes the body of a message: for a video, its state as the API shows it.
func WebhookBody(e webhook.Event) ([]byte, error) {
	view := eventView{Type: eventType(e.Type), Timestamp: e.At.UTC()}
	if e.Type == video.EventTest {
		view.Data = map[string]string{"webhookId": e.Webhook}
	} else {
		view.Data = videoEventData{viewState(e.State), e.Resolution, e.Reason}
	}
	body, err := encode(view)
	return bytes.TrimSpace(body), err
}
