package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// path builds a path of the API. Parts are escaped, so an ID from elsewhere cannot become another path.
func path(parts ...string) string {
	p := "/api"
	for _, part := range parts {
		p += "/" + url.PathEscape(part)
	}
	return p
}

// Create makes a video that waits for its file. [Client.Upload] does that and everything that follows.
func (c *Client) Create(ctx context.Context, v NewVideo) (Created, error) {
	return c.create(ctx, path("video"), v, v.IdempotencyKey)
}

func (c *Client) create(ctx context.Context, at string, v any, key string) (Created, error) {
	var out Created
	body, err := json.Marshal(v)
	if err != nil {
		return out, fmt.Errorf("encode the video: %w", err)
	}
	if key == "" {
		key = rand.Text()
	}
	got, err := c.do(ctx, call{method: http.MethodPost, path: at, header: http.Header{"Idempotency-Key": {key}}, body: body}, &out)
	if err != nil {
		return out, err
	}
	out.key = key
	out.Replayed = got.Get("Idempotency-Replayed") == "true"
	return out, nil
}

// Complete says that the file is there, which starts the processing. It can be called again.
func (c *Client) Complete(ctx context.Context, id string) (Statuses, error) {
	out, err := send[struct{ Resolutions Statuses }](ctx, c, call{method: http.MethodPost, path: path("video", id, "complete-upload")}, nil)
	return out.Resolutions, err
}

// State reads a video. Use [Client.Video] to say how long the URLs of a private one are valid.
func (c *Client) State(ctx context.Context, id string) (Video, error) {
	return get[Video](ctx, c, path("video", id), nil)
}

// Video reads a video. URLs of a private video are valid for life, at most a year; URLs of a public video do not
// expire.
func (c *Client) Video(ctx context.Context, id string, life time.Duration) (Video, error) {
	return get[Video](ctx, c, path("video", id), url.Values{"expiresIn": {wholeSeconds(life)}})
}

// wholeSeconds rounds up to seconds.
func wholeSeconds(life time.Duration) string {
	return strconv.FormatInt(int64((life+time.Second-1)/time.Second), 10)
}

// PublicVideo reads a public video with its URLs.
func (c *Client) PublicVideo(ctx context.Context, id string) (Video, error) {
	return get[Video](ctx, c, path("video", id, "public"), nil)
}

// PrivateVideo reads a private video with URLs that are valid for life, which is rounded up to seconds.
func (c *Client) PrivateVideo(ctx context.Context, id string, life time.Duration) (Video, error) {
	return get[Video](ctx, c, path("video", id, "private", wholeSeconds(life)), nil)
}

// PreviewVideo reads a private video with URLs that are valid for life. Only HLSURL and DASHURL work, and they play the
// part between two times in seconds; an end of 0 is the end of the video.
func (c *Client) PreviewVideo(ctx context.Context, id string, life time.Duration, start, end float64) (Video, error) {
	query := url.Values{"start": {strconv.FormatFloat(start, 'f', -1, 64)}}
	if end != 0 {
		query.Set("end", strconv.FormatFloat(end, 'f', -1, 64))
	}
	return get[Video](ctx, c, path("video", id, "private", wholeSeconds(life)), query)
}

// Filter says which videos [Client.Videos] returns. The zero value means all.
type Filter struct {
	Status   Status            // only those
	Metadata map[string]string // only those with these values at the top level of their metadata, up to 10
	Tags     []string          // only those with all of these tags, up to 10
	Said     string            // only those in whose captions these words are said; see [Video.Matches]
	Public   *bool             // only public ones, or only private ones
	PageSize int               // how many the server is asked for at once, 1 to 100; 0 means 100

	CreatedAfter, CreatedBefore time.Time // zero: at any time

	Sort  string // what they are ordered by: "createdAt" (also if empty), "title", "duration" or "size"
	Order string // "asc" or "desc"; empty: titles from A to Z, and the newest, longest or largest first
}

// Videos returns the videos of the key's tenant, the newest first unless the filter says otherwise. It asks for one page after the other. An
// error is the last thing that it returns.
func (c *Client) Videos(ctx context.Context, f Filter) iter.Seq2[Video, error] {
	query := url.Values{"limit": {"100"}, "tag": f.Tags}
	if f.PageSize > 0 {
		query.Set("limit", strconv.Itoa(f.PageSize))
	}
	if f.Status != "" {
		query.Set("status", string(f.Status))
	}
	if f.Public != nil {
		query.Set("isPublic", strconv.FormatBool(*f.Public))
	}
	for name, value := range map[string]string{"sort": f.Sort, "order": f.Order, "said": f.Said} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"createdAfter": f.CreatedAfter, "createdBefore": f.CreatedBefore} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		query.Set("metadata."+key, f.Metadata[key])
	}
	type page struct {
		Videos     []Video
		NextCursor string
	}
	return pages(query, func(query url.Values) ([]Video, string, error) {
		p, err := get[page](ctx, c, path("video"), query)
		return p.Videos, p.NextCursor, err
	})
}

// pages returns what is on all pages of a list.
func pages[T any](query url.Values, read func(url.Values) (all []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := maps.Clone(query) // so that it can be started again
		for {
			all, next, err := read(query)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, one := range all {
				if !yield(one, nil) {
					return
				}
			}
			if next == "" || next == query.Get("cursor") {
				return
			}
			query.Set("cursor", next)
		}
	}
}

// Changes are what [Client.Update] changes. What is nil stays as it is.
type Changes struct {
	Title    *string  `json:"title,omitempty"`
	Metadata Metadata `json:"customMetadata,omitzero"` // replaces all of it
	Public   *bool    `json:"isPublic,omitempty"`      // its files move; all earlier URLs are dead then

	Tags *[]string `json:"tags,omitempty"` // replaces all of them

	ExpiresAt *time.Time `json:"expiresAt,omitempty"` // when the video is deleted; the zero time: never

	AllowedOrigins *[]string `json:"allowedOrigins,omitempty"` // as in NewVideo; a nil list: everywhere
	AllowNoOrigin  *bool     `json:"allowNoOrigin,omitempty"`
}

// MarshalJSON writes the zero time as null.
func (c Changes) MarshalJSON() ([]byte, error) {
	type plain Changes
	out := struct {
		plain
		ExpiresAt any `json:"expiresAt,omitempty"`
	}{plain(c), timeOrNull(c.ExpiresAt)}
	return json.Marshal(out)
}

// Update changes what is said about a video.
func (c *Client) Update(ctx context.Context, id string, changes Changes) (Video, error) {
	return send[Video](ctx, c, call{method: http.MethodPatch, path: path("video", id)}, changes)
}

// Delete deletes a video with everything that belongs to it.
func (c *Client) Delete(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("video", id), gone: true}, nil)
	return err
}

// DeleteResolution deletes one output of a video, by its own ID.
func (c *Client) DeleteResolution(ctx context.Context, resolutionID string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("video", "resolution", resolutionID), gone: true}, nil)
	return err
}

// AddResolution makes one more output of a video, such as "720p".
func (c *Client) AddResolution(ctx context.Context, id, name string) (Video, error) {
	in := map[string]string{"resolution": name}
	return send[Video](ctx, c, call{method: http.MethodPost, path: path("video", id, "resolutions")}, in)
}

// RetryResolution tries an output that failed once more.
func (c *Client) RetryResolution(ctx context.Context, resolutionID string) (Video, error) {
	return send[Video](ctx, c, call{method: http.MethodPost, path: path("video", "resolution", resolutionID, "retry")}, nil)
}

// RetryImport fetches the SourceURL of a video whose import failed once more.
func (c *Client) RetryImport(ctx context.Context, id string) (Video, error) {
	return send[Video](ctx, c, call{method: http.MethodPost, path: path("video", id, "import")}, nil)
}

// Token makes a token with which a browser can follow this one video for a time of up to 24 hours: it is
// the parameter "token" of GET /api/video/{id} and GET /api/video/{id}/events.
func (c *Client) Token(ctx context.Context, id string, life time.Duration) (Token, error) {
	in := map[string]int64{"expiresIn": int64((life + time.Second - 1) / time.Second)}
	return send[Token](ctx, c, call{method: http.MethodPost, path: path("video", id, "token")}, in)
}

// Key reads what the API key of the client may do. Any valid key may ask.
func (c *Client) Key(ctx context.Context) (Key, error) {
	return get[Key](ctx, c, path("key"), nil)
}

// Usage reads what the tenant of the key uses.
func (c *Client) Usage(ctx context.Context) (Usage, error) {
	return get[Usage](ctx, c, path("usage"), nil)
}
