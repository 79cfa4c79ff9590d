package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

// Event is what a message tells.
type Event struct {
	ID         string
	Type       video.EventType
	At         time.Time
	State      catalog.State // of the video at that moment
	Resolution video.Name    // the one that it is about; "": the whole video
	Reason     video.DeletionReason
	Webhook    string // the one that is tested; there is no video then
}

// Body writes the body of a message.
type Body func(Event) ([]byte, error)

// Message is what is sent for an event.
type Message struct {
	ID        string // the header webhook-id
	Timestamp string
	Signature string
	Body      []byte
}

// The headers of Standard Webhooks.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

const secretPrefix = "whsec_"

// outgoing is a delivery with all that is needed to send it. What was deleted meanwhile is nil or empty.
type outgoing struct {
	delivery deliveryRow
	hook     *Webhook
	secrets  []secretRow
	event    *eventRow
}

// load loads what deliveries need, with three queries for all of them.
func (s *Service) load(ctx context.Context, all []deliveryRow, now time.Time) ([]outgoing, error) {
	hookIDs, eventIDs := make([]string, len(all)), make([]string, len(all))
	for i, d := range all {
		hookIDs[i], eventIDs[i] = d.Webhook, d.Event
	}
	hooks, err := webhooksByID(ctx, s.store.Queries, hookIDs)
	if err != nil {
		return nil, err
	}
	secrets, err := secretsOf(ctx, s.store.Queries, hookIDs, now)
	if err != nil {
		return nil, err
	}
	events, err := eventsByID(ctx, s.store.Queries, eventIDs)
	if err != nil {
		return nil, err
	}
	out := make([]outgoing, len(all))
	for i, d := range all {
		out[i] = outgoing{delivery: d, secrets: secrets[d.Webhook]}
		if h, ok := hooks[d.Webhook]; ok {
			out[i].hook = &h
		}
		if e, ok := events[d.Event]; ok {
			out[i].event = &e
		}
	}
	return out, nil
}

// obstacle says why a delivery cannot be sent; "": it can.
func (o outgoing) obstacle() string {
	switch {
	case o.hook == nil || len(o.secrets) == 0:
		return "The webhook was deleted."
	case !o.hook.Enabled:
		return "The webhook is disabled."
	case o.event == nil:
		return "The event is too old."
	}
	return ""
}

// message writes and signs what is sent now.
func (s *Service) message(o outgoing, now time.Time) (Message, error) {
	body, err := s.bodyOf(*o.event)
	if err != nil {
		return Message{}, err
	}
	m := Message{ID: o.event.ID, Timestamp: strconv.FormatInt(now.Unix(), 10), Body: body}
	signatures := make([]string, len(o.secrets))
	for i, secret := range o.secrets {
		if signatures[i], err = sign(secret.Secret, m); err != nil {
			return Message{}, err
		}
	}
	m.Signature = strings.Join(signatures, " ")
	return m, nil
}

// bodyOf writes what the message of an event says.
func (s *Service) bodyOf(e eventRow) ([]byte, error) {
	if e.Damaged != nil {
		return nil, e.Damaged
	}
	state := catalog.StateOf(e.Snapshot.Video, e.Snapshot.Steps, e.CreatedAt)
	state.Replacement = e.Snapshot.Replaces
	body, err := s.body(Event{
		ID: e.ID, Type: e.Type, At: e.CreatedAt, Resolution: e.Snapshot.Resolution, Reason: e.Snapshot.Reason, Webhook: e.Snapshot.Webhook,
		State: state,
	})
	if err != nil {
		return nil, fmt.Errorf("write event %s: %w", e.ID, err)
	}
	return body, nil
}

// sign is the signature of Standard Webhooks: HMAC-SHA256 over id, time and body.
func sign(secret string, m Message) (string, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		return "", fmt.Errorf("the secret of a webhook is damaged: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", m.ID, m.Timestamp)
	mac.Write(m.Body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}
