package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Watermark is a picture that can be laid over videos.
type Watermark struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Width     int       `json:"width"` // in pixels
	Height    int       `json:"height"`
	CreatedAt time.Time `json:"createdAt"`
}

// WatermarkChoice says which watermark a new video gets, and how. What is empty or nil is left to the server. One
// without an ID refuses the usual watermark of the tenant.
type WatermarkChoice struct {
	ID       string   `json:"id"`
	Position string   `json:"position,omitempty"` // such as "top-left" or "center"; the server's default is "bottom-right"
	Width    *float64 `json:"width,omitempty"`    // as a share of the picture's width
	Margin   *float64 `json:"margin,omitempty"`   // to the edges, as a share of the picture's width
	Opacity  *float64 `json:"opacity,omitempty"`  // from 0 to 1
}

// MarshalJSON writes null for a choice without an ID.
func (w WatermarkChoice) MarshalJSON() ([]byte, error) {
	if w.ID == "" {
		return []byte("null"), nil
	}
	type plain WatermarkChoice
	return json.Marshal(plain(w))
}

// maxWatermark is the largest picture that the server takes.
const maxWatermark = 2 << 20

// AddWatermark adds a watermark: a PNG or a WebP of at most 2 MiB. The name is for people, and may be empty.
func (c *Client) AddWatermark(ctx context.Context, name string, picture io.Reader) (Watermark, error) {
	body, err := io.ReadAll(io.LimitReader(picture, maxWatermark+1)) // one byte more is refused with the API's own words
	if err != nil {
		return Watermark{}, fmt.Errorf("read the picture: %w", err)
	}
	query := url.Values{}
	if name != "" {
		query.Set("name", name)
	}
	var out Watermark
	_, err = c.do(ctx, call{
		method: http.MethodPost, path: path("watermark"), query: query, once: true,
		header: http.Header{"Content-Type": {http.DetectContentType(body)}}, body: body,
	}, &out)
	return out, err
}

// Watermarks returns all watermarks of the tenant. A tenant has at most 50.
func (c *Client) Watermarks(ctx context.Context) ([]Watermark, error) {
	out, err := get[struct{ Watermarks []Watermark }](ctx, c, path("watermark"), nil)
	return out.Watermarks, err
}

// DeleteWatermark deletes a watermark. Videos that have it keep it.
func (c *Client) DeleteWatermark(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("watermark", id), gone: true}, nil)
	return err
}
