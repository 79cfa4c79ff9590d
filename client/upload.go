package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Transfer says how a file is sent.
type Transfer int

// Ways to send a file.
const (
	Automatic Transfer = iota // small files as Whole, others as Resumable
	Whole                     // in one PUT, where possible directly to the object storage
	Resumable                 // with tus, through the server
)

// wholeLimit is the size up to which repeating a PUT costs less than the additional requests of tus.
const wholeLimit = 8 << 20

// errUploadURL means that no request can be made to an upload URL.
var errUploadURL = errors.New("the server sent an upload URL that cannot be read")

// UploadOptions change how a file is sent. Nil means the defaults.
type UploadOptions struct {
	// Transfer says how the file is sent.
	Transfer Transfer
	// Progress, if set, is called with the bytes that were sent of all. After a cut it goes back to what
	// the server has. Calls do not overlap.
	Progress func(sent, total int64)
	// Created, if set, is called when the video exists, before its file is sent.
	Created func(Created)
	// RetryFor is for how long an upload without progress is tried again; 0 means 5 minutes.
	RetryFor time.Duration
}

// UploadFile creates a video, uploads a file and completes the upload. Its processing has begun when it
// returns; [Client.Wait] waits for its end.
func (c *Client) UploadFile(ctx context.Context, file string, v NewVideo, o *UploadOptions) (Video, error) {
	return c.uploadFile(ctx, file, v, o, c.Create)
}

func (c *Client) uploadFile(ctx context.Context, file string, v NewVideo, o *UploadOptions,
	create func(context.Context, NewVideo) (Created, error)) (Video, error) {
	f, err := os.Open(file)
	if err != nil {
		return Video{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Video{}, err
	}
	if !info.Mode().IsRegular() {
		return Video{}, fmt.Errorf("%s is not a regular file", file)
	}
	if v.Filename == "" {
		v.Filename = filepath.Base(file)
	}
	return c.upload(ctx, v, f, info.Size(), o, create)
}

// Upload creates a video, uploads its file, which has size bytes, and completes the upload. Cuts and
// restarts of the server are survived. A call with the IdempotencyKey of an earlier one that did not come
// to its end, of this or another process, continues that one, if it is about the same video and file.
// With a key that may only write, the video that it returns has no more than what Complete says.
func (c *Client) Upload(ctx context.Context, v NewVideo, content io.ReaderAt, size int64, o *UploadOptions) (Video, error) {
	return c.upload(ctx, v, content, size, o, c.Create)
}

// upload does what Upload and ReplaceFile do. create asks for the URLs of the upload.
func (c *Client) upload(ctx context.Context, v NewVideo, content io.ReaderAt, size int64, o *UploadOptions,
	create func(context.Context, NewVideo) (Created, error)) (Video, error) {
	t := newTransfer(content, size, o)
	created, err := create(ctx, v)
	if err != nil {
		return Video{}, err
	}
	v.IdempotencyKey = created.key
	if t.options.Created != nil {
		t.options.Created(created)
	}
	t.created, t.refresh = created, func(ctx context.Context) (Created, error) { return create(ctx, v) }
	if !created.completed() {
		if err := c.transfer(ctx, t); err != nil {
			return Video{ID: created.ID}, fmt.Errorf("upload: %w", err)
		}
	}
	statuses, err := c.Complete(ctx, created.ID)
	if err != nil {
		return Video{ID: created.ID}, err
	}
	state, err := c.State(ctx, created.ID)
	if Code(err) == CodeInsufficientScope { // the key may only write: this is all that it was told
		return completedVideo(v, created, statuses), nil
	}
	if err != nil {
		return Video{ID: created.ID}, err
	}
	return state, nil
}

// completedVideo is what a client knows of a video that it completed without reading it.
func completedVideo(v NewVideo, created Created, statuses Statuses) Video {
	out := Video{ID: created.ID, Filename: v.Filename, Title: v.Title, Public: created.Public, Metadata: v.Metadata, Status: Failed, Resolutions: map[string]Resolution{}}
	for name, s := range statuses {
		out.Resolutions[name] = Resolution{Status: s}
		if s == Processing || s == Ready && out.Status == Failed {
			out.Status = s
		}
	}
	return out
}

// completed reports whether an earlier request completed the upload.
func (c Created) completed() bool {
	for _, s := range c.Statuses {
		if s == Processing || s == Ready {
			return true
		}
	}
	return false
}

// Send uploads the file of a video that was created, without completing it. Use it where one program
// creates videos and another one sends their files.
func (c *Client) Send(ctx context.Context, created Created, content io.ReaderAt, size int64, o *UploadOptions) error {
	t := newTransfer(content, size, o)
	t.created = created
	return c.transfer(ctx, t)
}

// upload is one file on its way.
type upload struct {
	created Created
	content io.ReaderAt
	size    int64
	options UploadOptions
	refresh func(context.Context) (Created, error) // asks for new URLs; may be nil
}

func newTransfer(content io.ReaderAt, size int64, o *UploadOptions) *upload {
	t := &upload{content: unchanged(content), size: size}
	if o != nil {
		t.options = *o
	}
	if t.options.RetryFor == 0 {
		t.options.RetryFor = 5 * time.Minute
	}
	return t
}

// transfer sends the file. An upload that is closed was completed by an earlier try, so that is no error.
func (c *Client) transfer(ctx context.Context, t *upload) error {
	whole := t.size <= wholeLimit
	if limit := t.created.MaxUploadBytes; limit > 0 && t.size > limit {
		whole = false
	}
	if t.options.Transfer != Automatic {
		whole = t.options.Transfer == Whole
	}
	if t.created.UploadURL == "" && t.created.TusURL == "" {
		return errors.New("the server fetches the file of this video itself")
	}
	send := c.sendResumable
	if whole {
		send = c.sendWhole
	}
	err := send(ctx, t)
	if Code(err) == CodeUploadClosed {
		return nil
	}
	return err
}

// sendWhole sends the file with a PUT, again and again until it succeeds.
func (c *Client) sendWhole(ctx context.Context, t *upload) error {
	r := retries{retryFor: t.options.RetryFor}
	for {
		err := c.put(ctx, t)
		if err == nil {
			return nil
		}
		if Code(err) == CodeURLExpired && t.refresh != nil {
			if t.created, err = t.refresh(ctx); err != nil {
				return err
			}
			t.refresh = nil // once is enough: the new URL has its full life
			continue
		}
		if ctx.Err() == nil && !isTransient(err) && !interrupted(err) {
			return err
		}
		if err := r.wait(ctx, err); err != nil {
			return err
		}
	}
}

// put sends the whole file once.
func (c *Client) put(ctx context.Context, t *upload) error {
	res, err := c.sendBody(ctx, t, 0, func(ctx context.Context, body io.Reader) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, t.created.UploadURL, body)
		if err != nil {
			return nil, errUploadURL
		}
		req.Header.Set("Content-Type", t.created.ContentType)
		return req, nil
	})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return refusal(res)
	}
	return nil
}

// interrupted reports whether the server, or a bucket, says that the connection ended before the file did.
func interrupted(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Code {
	case "upload_interrupted", "upload_stalled", "offset_mismatch":
		return true
	}
	return e.Code == "" && e.Status == http.StatusBadRequest // a bucket's RequestTimeout
}
