package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Original is the file that was uploaded for a video.
type Original struct {
	URL       string    `json:"url"` // works without a key until ExpiresAt
	ExpiresAt time.Time `json:"expiresAt"`
	Filename  string    `json:"filename"`  // as the uploader chose it: do not use it as a path
	SizeBytes int64     `json:"sizeBytes"` // 0 in a Download: as many as there are
	SHA256    string    `json:"sha256"`    // hexadecimal; "" if it is not known
}

// ErrOriginalChanged means that a download is not the file that the server described.
var ErrOriginalChanged = errors.New("the downloaded file is not the one that was uploaded")

// Original returns an address of the file that was uploaded, which works for life, rounded up to seconds.
func (c *Client) Original(ctx context.Context, id string, life time.Duration) (Original, error) {
	in := map[string]int64{"expiresIn": int64((life + time.Second - 1) / time.Second)}
	return send[Original](ctx, c, call{method: http.MethodPost, path: path("video", id, "original")}, in)
}

// Download writes the file of an Original to w, or another file of a video whose URL it has. It continues where the connection broke off, and checks size and hash.
func (c *Client) Download(ctx context.Context, o Original, w io.Writer) error {
	d := &download{Original: o, to: w, sum: sha256.New()}
	follows := *c.http
	follows.CheckRedirect = nil // it may lead to a bucket; the key is not sent
	r := retries{retryFor: c.retryFor}
	for d.SizeBytes == 0 || d.has < d.SizeBytes {
		before := d.has
		err := d.continueWith(ctx, &follows)
		if err == nil {
			break
		}
		if d.has > before { // it gets on
			r.progress()
		}
		if d.broken != nil || !isTransient(err) {
			return err
		}
		if err := r.wait(ctx, err); err != nil {
			return err
		}
	}
	if o.SizeBytes > 0 && d.has != o.SizeBytes || o.SHA256 != "" && hex.EncodeToString(d.sum.Sum(nil)) != o.SHA256 {
		return ErrOriginalChanged
	}
	return nil
}

// download is a file of which some bytes have arrived.
type download struct {
	Original
	to     io.Writer
	sum    hash.Hash
	has    int64
	broken error // of to
}

// Write takes the next bytes. It implements io.Writer.
func (d *download) Write(p []byte) (int, error) {
	n, err := d.to.Write(p)
	d.sum.Write(p[:n])
	d.has += int64(n)
	d.broken = err
	return n, err
}

// continueWith asks for the bytes that are missing.
func (d *download) continueWith(ctx context.Context, by *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, nil)
	if err != nil {
		return err
	}
	want := http.StatusOK
	if d.has > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(d.has, 10)+"-")
		want = http.StatusPartialContent
	}
	res, err := by.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return refusal(res)
	}
	if res.StatusCode != want {
		return fmt.Errorf("%s cannot continue a download", req.URL.Host)
	}
	if d.SizeBytes == 0 && res.ContentLength < 0 { // it is sent until it ends
		_, err = io.Copy(d, res.Body)
		return err
	}
	if d.SizeBytes == 0 {
		d.SizeBytes = res.ContentLength
	}
	_, err = io.Copy(d, io.LimitReader(res.Body, d.SizeBytes-d.has))
	if err == nil && d.has < d.SizeBytes {
		return io.ErrUnexpectedEOF
	}
	return err
}
