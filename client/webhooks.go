package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Events that webhooks are sent for.
const (
	EventUploadCompleted = "video.upload_completed"
	EventPlayable        = "video.playable"
	EventResolutionReady = "video.resolution_ready"
	EventReady           = "video.ready"
	EventFailed          = "video.failed"
	EventExpiring        = "video.expiring"
	EventDeleted         = "video.deleted"
	EventReplaced        = "video.replaced"
	EventReplaceFailed   = "video.replace_failed"
	EventTest            = "webhook.test"
)

// Webhook is an address that the server sends events to.
type Webhook struct {
	ID          string    `json:"id"`
	URL         string    `json:"url"`
	Events      []string  `json:"events"` // none means all
	Description string    `json:"description"`
	Enabled     bool      `json:"enabled"`
	CreatedAt   time.Time `json:"createdAt"`
	Secret      string    `json:"secret,omitempty"` // for [VerifyWebhook]; told only when it was made

	Pull           bool   `json:"pull,omitempty"`           // there is no URL: see [Client.FetchEvents]
	DisabledReason string `json:"disabledReason,omitempty"` // why the server has disabled it
}

// NewWebhook describes a webhook that is to be registered.
type NewWebhook struct {
	URL         string   `json:"url,omitempty"`
	Events      []string `json:"events,omitempty"` // none means all
	Description string   `json:"description,omitempty"`
	Pull        bool     `json:"pull,omitempty"` // instead of a URL: you fetch the events
}

// WebhookChanges are what [Client.UpdateWebhook] changes. What is nil stays as it is.
type WebhookChanges struct {
	URL         *string   `json:"url,omitempty"`
	Events      *[]string `json:"events,omitempty"`
	Description *string   `json:"description,omitempty"`
	Enabled     *bool     `json:"enabled,omitempty"`
}

// CreateWebhook registers an address for events. The answer has the secret, this once.
func (c *Client) CreateWebhook(ctx context.Context, w NewWebhook) (Webhook, error) {
	return send[Webhook](ctx, c, call{method: http.MethodPost, path: path("webhook"), once: true}, w)
}

// Webhooks returns all webhooks of the tenant. A tenant has at most 20.
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	out, err := get[struct{ Webhooks []Webhook }](ctx, c, path("webhook"), nil)
	return out.Webhooks, err
}

// Webhook reads a webhook.
func (c *Client) Webhook(ctx context.Context, id string) (Webhook, error) {
	return get[Webhook](ctx, c, path("webhook", id), nil)
}

// UpdateWebhook changes a webhook.
func (c *Client) UpdateWebhook(ctx context.Context, id string, changes WebhookChanges) (Webhook, error) {
	return send[Webhook](ctx, c, call{method: http.MethodPatch, path: path("webhook", id)}, changes)
}

// DeleteWebhook removes a webhook.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("webhook", id), gone: true}, nil)
	return err
}

// RotateWebhookSecret gives a webhook a new secret and returns it. The old one signs too for 24 hours.
func (c *Client) RotateWebhookSecret(ctx context.Context, id string) (secret string, err error) {
	out, err := send[struct{ Secret string }](ctx, c, call{method: http.MethodPost, path: path("webhook", id, "rotate-secret"), once: true}, nil)
	return out.Secret, err
}

// TestWebhook sends an event of the type [EventTest] to a webhook, and returns the event's id.
func (c *Client) TestWebhook(ctx context.Context, id string) (eventID string, err error) {
	out, err := send[struct{ EventID string }](ctx, c, call{method: http.MethodPost, path: path("webhook", id, "test"), once: true}, nil)
	return out.EventID, err
}

// Delivery is one event on its way to one webhook.
type Delivery struct {
	ID            string            `json:"id"`
	EventID       string            `json:"eventId"` // the header webhook-id
	Type          string            `json:"type"`
	VideoID       string            `json:"videoId,omitempty"`
	State         string            `json:"state"` // "pending", "delivered" or "failed"
	Attempts      []DeliveryAttempt `json:"attempts"`
	NextAttemptAt *time.Time        `json:"nextAttemptAt,omitempty"`
}

// DeliveryAttempt is one request to a webhook.
type DeliveryAttempt struct {
	At           time.Time `json:"at"`
	Status       int       `json:"status,omitempty"` // of HTTP; 0 if there was no answer
	Error        string    `json:"error,omitempty"`
	Milliseconds int64     `json:"milliseconds"`
}

// Deliveries returns what was sent to a webhook within 30 days, the newest first; with a state only those.
func (c *Client) Deliveries(ctx context.Context, webhookID, state string) iter.Seq2[Delivery, error] {
	query := url.Values{}
	if state != "" {
		query.Set("status", state)
	}
	type page struct {
		Deliveries []Delivery
		NextCursor string
	}
	return pages(query, func(query url.Values) ([]Delivery, string, error) {
		p, err := get[page](ctx, c, path("webhook", webhookID, "deliveries"), query)
		return p.Deliveries, p.NextCursor, err
	})
}

// DeliveryMessage reads a delivery with the body of its message.
func (c *Client) DeliveryMessage(ctx context.Context, deliveryID string) (d Delivery, body string, err error) {
	out, err := get[struct {
		Delivery
		Body string
	}](ctx, c, path("webhook", "delivery", deliveryID, "message"), nil)
	return out.Delivery, out.Body, err
}

// ReplayDelivery sends an event to its webhook once more.
func (c *Client) ReplayDelivery(ctx context.Context, deliveryID string) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: path("webhook", "delivery", deliveryID, "replay"), once: true}, nil)
	return err
}
