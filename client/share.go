package client

import (
	"context"
	"net/http"
	"time"
)

// Share is a page on which people without a key watch a video, also a private one.
type Share struct {
	ID          string     `json:"id"`
	URL         string     `json:"url"` // a secret: it opens the video
	Label       string     `json:"label"`
	CreatedAt   time.Time  `json:"createdAt"`
	ExpiresAt   *time.Time `json:"expiresAt"` // nil: never
	HasPassword bool       `json:"hasPassword"`
	Download    bool       `json:"download"` // the page offers the largest file
}

// NewShare describes a share. The zero value is one that never expires, without a password.
type NewShare struct {
	Label     string     `json:"label,omitempty"` // for you; visitors do not see it
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	Password  string     `json:"password,omitempty"`
	Download  bool       `json:"download,omitempty"`
}

// CreateShare makes a page for people without a key. A video has at most 100.
func (c *Client) CreateShare(ctx context.Context, id string, s NewShare) (Share, error) {
	return send[Share](ctx, c, call{method: http.MethodPost, path: path("video", id, "share"), once: true}, s)
}

// Shares returns the shares of a video, the newest first.
func (c *Client) Shares(ctx context.Context, id string) ([]Share, error) {
	out, err := get[struct{ Shares []Share }](ctx, c, path("video", id, "share"), nil)
	return out.Shares, err
}

// DeleteShare removes a share. Its page is gone at once, and what it handed out within a minute.
func (c *Client) DeleteShare(ctx context.Context, id, shareID string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("video", id, "share", shareID), gone: true}, nil)
	return err
}
