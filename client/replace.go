package client

import (
	"context"
	"net/http"
)

// NewFile describes the file that replaces the file of a video. What is not said stays as it was.
type NewFile struct {
	Filename    string    `json:"filename,omitempty"`    // a label, whose extension says what kind of file it is
	Resolutions []string  `json:"resolutions,omitempty"` // the outputs to make
	Thumbnails  []float64 `json:"thumbnailTimestampsSeconds,omitempty"`
	Upscale     *bool     `json:"upscale,omitempty"`
	Codecs      []string  `json:"codecs,omitempty"`
	AcceptAudio *bool     `json:"acceptAudio,omitempty"` // as in NewVideo; nil: as for the file before
	Loudness    string    `json:"loudness,omitempty"`    // as in NewVideo; "": as for the file before
	SourceURL   string    `json:"sourceUrl,omitempty"`   // the server fetches the file itself, instead of an upload
	Trim        *Trim     `json:"trim,omitempty"`        // nil makes all of the new file
	HDR         string    `json:"hdr,omitempty"`         // as in NewVideo
	Profile     *string   `json:"profile,omitempty"`     // "": none; nil: as for the file before

	CopySource string `json:"copySource,omitempty"` // see NewVideo

	MaxDurationSeconds float64 `json:"maxDurationSeconds,omitempty"`

	IdempotencyKey string `json:"-"` // see NewVideo
}

// Replacement is a file on its way to a video, whose file it will replace. The video stays as it is until then.
type Replacement struct {
	Status   Status   `json:"status"`
	Progress float64  `json:"progress"`
	Failure  *Failure `json:"failure,omitempty"` // why Status is Failed
}

// Replace has a video wait for another file. [Client.ReplaceFile] does that and everything that follows.
func (c *Client) Replace(ctx context.Context, id string, f NewFile) (Created, error) {
	return c.create(ctx, path("video", id, "replace"), f, f.IdempotencyKey)
}

// ReplaceFile replaces the file of a video, which keeps its ID and its URLs. The processing of the new file has begun
// when it returns; [Client.WaitReplaced] waits for its end.
func (c *Client) ReplaceFile(ctx context.Context, id, file string, f NewFile, o *UploadOptions) (Video, error) {
	v := NewVideo{Filename: f.Filename, IdempotencyKey: f.IdempotencyKey}
	return c.uploadFile(ctx, file, v, o, func(ctx context.Context, v NewVideo) (Created, error) {
		f.Filename, f.IdempotencyKey = v.Filename, v.IdempotencyKey
		return c.Replace(ctx, id, f)
	})
}

// WaitReplaced waits until no other file is on its way to a video, and returns its state: [Video.ReplacedAt] tells whether that file
// came, or was given up. If it failed, the error is a [*FailedError], and the video has the file that it had. Changed is called as
// by Wait.
func (c *Client) WaitReplaced(ctx context.Context, id string, changed func(Video)) (Video, error) {
	last, err := c.waitUntil(ctx, id, changed, func(v Video) bool { return v.Replacement == nil || v.Replacement.Status == Failed })
	if err == nil && last.Replacement != nil && last.Replacement.Failure != nil {
		err = &FailedError{ID: id, Failure: *last.Replacement.Failure}
	}
	return last, err
}

// GiveUpReplace gives up to replace the file of a video.
func (c *Client) GiveUpReplace(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: path("video", id, "replace"), gone: true}, nil)
	return err
}
