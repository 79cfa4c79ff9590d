package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxPoster is the largest picture that the server takes.
const maxPoster = 10 << 20

// SetPoster makes a picture the poster of a video: JPEG, PNG, WebP or AVIF.
func (c *Client) SetPoster(ctx context.Context, id string, picture io.Reader) error {
	body, err := io.ReadAll(io.LimitReader(picture, maxPoster+1)) // one byte more is refused with the API's own words
	if err != nil {
		return fmt.Errorf("read the picture: %w", err)
	}
	_, err = c.do(ctx, call{
		method: http.MethodPut, path: path("video", id, "poster"), header: http.Header{"Content-Type": {pictureType(body)}}, body: body,
	}, nil)
	return err
}

// pictureType returns the media type of a picture.
func pictureType(file []byte) string {
	if len(file) > 12 && bytes.HasPrefix(file[4:], []byte("ftypavi")) {
		return "image/avif"
	}
	return http.DetectContentType(file)
}

// SetPosterTime makes the frame that is shown at a time the poster.
func (c *Client) SetPosterTime(ctx context.Context, id string, at time.Duration) error {
	_, err := c.do(ctx, call{method: http.MethodPut, path: path("video", id, "poster"), body: fmt.Appendf(nil, `{"timeSeconds":%v}`, at.Seconds())}, nil)
	return err
}

// ResetPoster takes the automatic poster again.
func (c *Client) ResetPoster(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("video", id, "poster")}, nil)
	return err
}
