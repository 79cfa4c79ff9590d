package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
)

// sendResumable sends the file with tus 1.0. After every failure it asks the server how much it has, and
// goes on from there.
func (c *Client) sendResumable(ctx context.Context, t *upload) error {
	r := retries{retryFor: t.options.RetryFor}
	begun, best := t.created.Replayed, int64(0)
	for {
		offset, err := c.begin(ctx, t, begun)
		if err == nil {
			begun = true
			t.reportProgress(offset)
			if offset > best { // the server has more than before
				best = offset
				r.progress()
			}
			offset, err = c.patch(ctx, t, offset)
		}
		if err == nil && offset == t.size {
			return nil
		}
		if err == nil {
			continue // the server took a part; ask it for the next offset
		}
		if err = c.renew(ctx, t, err); err == nil {
			continue
		}
		if ctx.Err() == nil && !isTransient(err) && !interrupted(err) { // else asking for the offset may help
			return err
		}
		begun = true // perhaps: its answer may have been lost
		if err := r.wait(ctx, err); err != nil {
			return err
		}
	}
}

// reportProgress reports the progress that the server knows of.
func (t *upload) reportProgress(offset int64) {
	if t.options.Progress != nil {
		t.options.Progress(offset, t.size)
	}
}

// renew asks once for new URLs if err says that the URL has expired. It returns err in every other case.
func (c *Client) renew(ctx context.Context, t *upload, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Status != http.StatusForbidden || t.refresh == nil || Code(err) == CodeQuotaExceeded {
		return err
	}
	created, renewErr := t.refresh(ctx)
	t.refresh = nil
	if renewErr != nil {
		return renewErr
	}
	t.created = created
	return nil
}

// begin returns the offset at which to go on. An upload that the server does not have is created there.
func (c *Client) begin(ctx context.Context, t *upload, begun bool) (int64, error) {
	if begun {
		offset, err := c.offset(ctx, t)
		if !IsNotFound(err) {
			return offset, err
		}
	}
	res, err := c.tus(ctx, t, http.MethodPost, http.Header{"Upload-Length": {strconv.FormatInt(t.size, 10)}})
	if err != nil {
		return 0, err
	}
	if to := res.Get("Location"); to != "" && to != t.created.TusURL {
		return 0, errors.New("the server moved the upload to another address")
	}
	return 0, nil
}

// offset asks how much the server has.
func (c *Client) offset(ctx context.Context, t *upload) (int64, error) {
	header, err := c.tus(ctx, t, http.MethodHead, nil)
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusConflict {
		e.Code = CodeUploadClosed // answers to HEAD have no body to say so; other conflicts it cannot have
	}
	if err != nil {
		return 0, err
	}
	if length := header.Get("Upload-Length"); length != "" && length != strconv.FormatInt(t.size, 10) {
		return 0, readError{fmt.Errorf("the file has %d bytes, but the upload was begun with %s", t.size, length)}
	}
	return uploadOffset(header, t.size)
}

func uploadOffset(header http.Header, size int64) (int64, error) {
	n, err := strconv.ParseInt(header.Get("Upload-Offset"), 10, 64)
	if err != nil || n < 0 || n > size {
		return 0, errors.New("the server does not say how much it has received")
	}
	return n, nil
}

// tus sends a request without a body.
func (c *Client) tus(ctx context.Context, t *upload, method string, header http.Header) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, t.created.TusURL, nil)
	if err != nil {
		return nil, errUploadURL
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Tus-Resumable", "1.0.0")
	req.Header.Set("User-Agent", c.userAgent)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return nil, refusal(res)
	}
	return res.Header, nil
}

// patch sends the rest of the file, and returns how much the server has then.
func (c *Client) patch(ctx context.Context, t *upload, offset int64) (int64, error) {
	if offset == t.size {
		return offset, nil
	}
	res, err := c.sendBody(ctx, t, offset, func(ctx context.Context, body io.Reader) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPatch, t.created.TusURL, body)
		if err != nil {
			return nil, errUploadURL
		}
		req.Header.Set("Tus-Resumable", "1.0.0")
		req.Header.Set("Content-Type", "application/offset+octet-stream")
		req.Header.Set("Upload-Offset", strconv.FormatInt(offset, 10))
		return req, nil
	})
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return 0, refusal(res)
	}
	return uploadOffset(res.Header, t.size)
}
