package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// AudioTrack is a sound track of a video.
type AudioTrack struct {
	ID       string   `json:"id"`
	Language string   `json:"language"` // a tag of BCP 47; "und": not known
	Label    string   `json:"label"`    // as the player's menu shows it
	Kind     string   `json:"kind"`     // "main", "dub", "commentary" or "description"
	Source   string   `json:"source"`   // "embedded" or "uploaded"
	Default  bool     `json:"default"`  // players begin with it, and the MP4 files hold it
	Status   Status   `json:"status"`
	URL      string   `json:"url,omitempty"`     // the sound alone; answers 404 until Status is Ready
	Failure  *Failure `json:"failure,omitempty"` // why Status is Failed
}

// AudioOptions describe a sound track.
type AudioOptions struct {
	Language string `json:"language,omitempty"` // a tag of BCP 47; "": not known
	Label    string `json:"label,omitempty"`    // as the player's menu shows it; "": the name of the language
	Kind     string `json:"kind,omitempty"`     // "main", "dub", "commentary" or "description"; "": "dub"
}

// AudioChange is a change of a sound track. Nil members stay as they are.
type AudioChange struct {
	Language *string `json:"language,omitempty"`
	Label    *string `json:"label,omitempty"`
	Kind     *string `json:"kind,omitempty"`
	Default  bool    `json:"default,omitempty"` // players begin with it from now on
}

// AddAudio adds a sound track to a video, which is made of any file with sound of at most 2 GiB. It does not wait until the
// track is made. A file that breaks off is not sent again: nothing of it was stored.
func (c *Client) AddAudio(ctx context.Context, id string, file io.Reader, o AudioOptions) (AudioTrack, error) {
	query := url.Values{}
	for name, value := range map[string]string{"language": o.Language, "label": o.Label, "kind": o.Kind} {
		if value != "" {
			query.Set(name, value)
		}
	}
	req, err := c.request(ctx, call{method: http.MethodPost, path: path("video", id, "audio"), query: query, header: http.Header{"Content-Type": {"application/octet-stream"}}})
	if err != nil {
		return AudioTrack{}, err
	}
	req.Body, req.ContentLength, req.GetBody = io.NopCloser(file), -1, nil
	res, err := c.http.Do(req)
	if err != nil {
		return AudioTrack{}, withoutURL(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return AudioTrack{}, refusal(res)
	}
	var t AudioTrack
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&t); err != nil {
		return AudioTrack{}, fmt.Errorf("read the answer to a sound track: %w", err)
	}
	return t, nil
}

// AddAudioFrom is AddAudio of the file at an address, which the server fetches itself.
func (c *Client) AddAudioFrom(ctx context.Context, id, address string, o AudioOptions) (AudioTrack, error) {
	return send[AudioTrack](ctx, c, call{method: http.MethodPost, path: path("video", id, "audio"), once: true}, struct {
		SourceURL string `json:"sourceUrl"`
		AudioOptions
	}{address, o})
}

// ChangeAudio changes a sound track.
func (c *Client) ChangeAudio(ctx context.Context, id, track string, change AudioChange) (AudioTrack, error) {
	return send[AudioTrack](ctx, c, call{method: http.MethodPatch, path: path("video", id, "audio", track)}, change)
}

// DeleteAudio removes a sound track.
func (c *Client) DeleteAudio(ctx context.Context, id, track string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("video", id, "audio", track), gone: true}, nil)
	return err
}
