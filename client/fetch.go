package client

import (
	"context"
	"net/http"
	"time"
)

// FetchedEvent is an event of a webhook without a URL.
type FetchedEvent struct {
	DeliveryID string            `json:"deliveryId"`
	Type       string            `json:"type"`
	Receipt    string            `json:"receipt"` // for [Client.ReportDelivery]
	Headers    map[string]string `json:"headers"` // with which it would have been sent
	Body       string            `json:"body"`    // exactly as it is signed
}

// FetchEvents returns the events that wait at a webhook without a URL, at most 100. Each is fetched
// again unless its outcome is reported within a minute.
func (c *Client) FetchEvents(ctx context.Context, webhookID string) ([]FetchedEvent, error) {
	type page struct{ Events []FetchedEvent }
	out, err := send[page](ctx, c, call{method: http.MethodPost, path: path("webhook", webhookID, "fetch")}, nil)
	return out.Events, err
}

// DeliveryOutcome is what became of an event that was fetched.
type DeliveryOutcome struct {
	Status int    // with which your program answered; 0: it did not
	Error  string // why it did not
	Took   time.Duration
}

// ReportDelivery says what became of an event that was fetched. A status other than 2xx has it fetched
// again later.
func (c *Client) ReportDelivery(ctx context.Context, e FetchedEvent, o DeliveryOutcome) error {
	type report struct {
		Receipt      string `json:"receipt"`
		Status       int    `json:"status,omitempty"`
		Error        string `json:"error,omitempty"`
		Milliseconds int64  `json:"milliseconds"`
	}
	_, err := send[struct{}](ctx, c, call{method: http.MethodPost, path: path("webhook", "delivery", e.DeliveryID, "report"), once: true},
		report{e.Receipt, o.Status, o.Error, o.Took.Milliseconds()})
	return err
}
