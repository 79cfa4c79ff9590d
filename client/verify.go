package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrWebhookSignature means that a request was not sent by the server, or was changed on its way.
var ErrWebhookSignature = errors.New("the signature of the webhook is not valid")

// ErrWebhookTime means that a request is too old, or comes from the future: somebody may send a
// recorded one again.
var ErrWebhookTime = errors.New("the webhook was not sent just now")

// webhookTolerance is how far the clocks of sender and receiver may differ, with the way between them.
const webhookTolerance = 5 * time.Minute

// WebhookEvent is what a webhook receives.
type WebhookEvent struct {
	ID        string    `json:"-"` // the same for every delivery of the event: use it to recognise repetitions
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      Video     `json:"data"` // the state of the video, without URLs
}

// VerifyWebhook checks the signature of a webhook (https://www.standardwebhooks.com) with the secret of its
// registration, "whsec_…", and returns the event. body must be exactly what was received.
//
// Read the body with a limit first: everybody can send requests.
//
//	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
func VerifyWebhook(secret string, header http.Header, body []byte) (WebhookEvent, error) {
	return verifyWebhook(secret, header, body, time.Now())
}

func verifyWebhook(secret string, header http.Header, body []byte, now time.Time) (WebhookEvent, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return WebhookEvent{}, errors.New(`the secret of the webhook must be "whsec_" and base64`)
	}
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	if id == "" || !signed(header.Get("webhook-signature"), mac.Sum(nil)) {
		return WebhookEvent{}, ErrWebhookSignature
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > webhookTolerance {
		return WebhookEvent{}, ErrWebhookTime
	}
	event := WebhookEvent{ID: id}
	if err := json.Unmarshal(body, &event); err != nil {
		return WebhookEvent{}, fmt.Errorf("decode the webhook: %w", err)
	}
	return event, nil
}

// signed reports whether one of the signatures in a header is the wanted one. There are two while a
// secret is being changed.
func signed(header string, want []byte) bool {
	for one := range strings.FieldsSeq(header) {
		version, text, _ := strings.Cut(one, ",")
		got, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil && hmac.Equal(got, want) {
			return true
		}
	}
	return false
}
