package client

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// The example of the specification's authors.
const (
	specSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	specBody   = `{"test": 2432232314}`
)

func specHeader() http.Header {
	h := http.Header{}
	h.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	h.Set("webhook-timestamp", "1614265330")
	h.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	return h
}

func TestVerifyWebhook(t *testing.T) {
	t.Parallel()
	sent := time.Unix(1614265330, 0)
	tests := []struct {
		name   string
		change func(http.Header)
		body   string
		now    time.Time
		want   error
	}{
		{"as it was sent", func(http.Header) {}, specBody, sent, nil},
		{"two secrets sign", func(h http.Header) { h.Set("webhook-signature", "v1,AAAA v2,x "+h.Get("webhook-signature")) }, specBody, sent, nil},
		{"a changed body", func(http.Header) {}, specBody + " ", sent, ErrWebhookSignature},
		{"another event", func(h http.Header) { h.Set("webhook-id", "msg_2") }, specBody, sent, ErrWebhookSignature},
		{"another time", func(h http.Header) { h.Set("webhook-timestamp", "1614265331") }, specBody, sent, ErrWebhookSignature},
		{"no signature", func(h http.Header) { h.Del("webhook-signature") }, specBody, sent, ErrWebhookSignature},
		{"another version", func(h http.Header) { h.Set("webhook-signature", "v2"+h.Get("webhook-signature")[2:]) }, specBody, sent, ErrWebhookSignature},
		{"sent again later", func(http.Header) {}, specBody, sent.Add(webhookTolerance + time.Second), ErrWebhookTime},
		{"from the future", func(http.Header) {}, specBody, sent.Add(-webhookTolerance - time.Second), ErrWebhookTime},
	}
	for _, tt := range tests {
		h := specHeader()
		tt.change(h)
		event, err := verifyWebhook(specSecret, h, []byte(tt.body), tt.now)
		if !errors.Is(err, tt.want) || err == nil && event.ID != "msg_p5jXN8AQM9LWM0D4loKWxJek" {
			t.Errorf("%s: %+v, %v; want %v", tt.name, event, err, tt.want)
		}
	}
	for _, secret := range []string{"", "whsec_", "whsec_!"} {
		if _, err := verifyWebhook(secret, specHeader(), []byte(specBody), sent); err == nil {
			t.Errorf("the secret %q is accepted", secret)
		}
	}
	if _, err := VerifyWebhook(specSecret, specHeader(), []byte(specBody)); !errors.Is(err, ErrWebhookTime) {
		t.Errorf("an event of 2021 gets %v", err)
	}
}
