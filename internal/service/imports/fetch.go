package imports

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/engine/probe"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// fetch is one try to fetch the rest of a file.
type fetch struct {
	*Service
	storage   Storage
	row       row
	lease     uploads.Lease
	resumable uploads.Resumable

	had  atomic.Int64 // bytes, as far as they have arrived
	size atomic.Int64 // of the file; 0: the server does not say it; below 0: it has not been asked yet
}

// progress is how much of the file has arrived, from 0 to 1; below 0 while this try cannot tell.
func (f *fetch) progress() float64 {
	size := f.size.Load()
	if size <= 0 {
		return float64(size)
	}
	return float64(f.had.Load()) / float64(size)
}

// fetchMissing stores the bytes that are missing and puts the file in place.
func (f *fetch) fetchMissing(ctx context.Context, cancel context.CancelCauseFunc) error {
	var err error
	if f.resumable, err = f.uploads.OpenFetched(ctx, f.row.video); err != nil {
		return err
	}
	part, err := f.storage.Open(ctx, f.resumable, f.lease)
	if err != nil {
		return err
	}
	if part != nil && part.Size() >= 0 && part.Stored() == part.Size() {
		f.setProgress(part)
		return part.Finish(ctx)
	}
	res, part, err := f.open(ctx, part)
	if err != nil {
		return err
	}
	if res == nil { // the server says that there is no more
		return part.Finish(ctx)
	}
	defer res.Body.Close()
	if part == nil {
		if part, err = f.begin(ctx, res); err != nil {
			return err
		}
	}
	return f.receive(ctx, cancel, part, res)
}

// setProgress takes the progress from what is stored.
func (f *fetch) setProgress(part Partial) {
	f.had.Store(part.Stored())
	f.size.Store(max(part.Size(), 0))
}

// open asks for the bytes that follow part. It returns a response with them, or one with the whole file
// and no part: there was none, or it is of no use. If there are no more bytes, there is no response.
func (f *fetch) open(ctx context.Context, part Partial) (*http.Response, Partial, error) {
	if part != nil && part.Stored() > 0 && f.validator() != "" && !f.unjudged(part) {
		f.setProgress(part)
		res, err := f.request(ctx, part.Stored())
		if err != nil {
			return nil, nil, err
		}
		switch {
		case res.StatusCode == http.StatusOK:
			return res, nil, nil
		case res.StatusCode == http.StatusPartialContent && f.continues(res, part):
			return res, part, nil
		}
		res.Body.Close()
		if res.StatusCode == http.StatusRequestedRangeNotSatisfiable && f.isWhole(res, part) {
			return nil, part, nil
		}
	}
	res, err := f.request(ctx, 0)
	if err == nil && res.StatusCode != http.StatusOK {
		res.Body.Close()
		err = statusError(res, f.now())
	}
	return res, nil, err
}

// unjudged reports whether the file broke off before there was enough of it to tell whether it is a video.
// It is then fetched from its beginning, once: a server that always breaks off so early would never
// come to an end, and what it has is judged when it is complete.
func (f *fetch) unjudged(part Partial) bool {
	small := part.Size() >= 0 && part.Size() < probe.SniffSize
	return part.Stored() < probe.SniffSize && !small && f.row.tries < minTries
}

// request asks for the file, or with an offset for the rest of it. Every response that can mean
// something is returned; others are errors.
func (f *fetch) request(ctx context.Context, offset int64) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.row.url, nil)
	if err != nil {
		cancel(nil)
		return nil, requestError(err)
	}
	r.Header.Set("User-Agent", "Spool-Import/1")
	r.Header.Set("Accept", "*/*")
	r.Header.Set("Accept-Encoding", "identity")
	if offset > 0 {
		r.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
		r.Header.Set("If-Range", f.validator())
	}
	late := time.AfterFunc(f.config.HeaderTimeout, func() { cancel(context.DeadlineExceeded) })
	res, err := f.client.Do(r)
	late.Stop()
	if err != nil {
		err = requestError(causeOf(ctx, err))
		cancel(nil)
		return nil, err
	}
	res.Body = &cancelOnClose{res.Body, cancel}
	if err := f.checkResponse(res, offset); err != nil {
		res.Body.Close()
		return nil, err
	}
	return res, nil
}

// checkResponse returns an error for an unexpected status and for a file that is compressed in transfer.
func (f *fetch) checkResponse(res *http.Response, offset int64) error {
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable:
		if offset == 0 {
			return statusError(res, f.now())
		}
	default:
		return statusError(res, f.now())
	}
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &remoteError{failure: video.Failf(video.ImportRefused, "The server sends the file compressed (Content-Encoding), which Spool did not ask for."), final: true, err: errCompressed}
	}
	return nil
}

// begin starts a file from its beginning. The version is stored between what was there before and the
// first byte of it: whenever the process is killed, the stored bytes are of the stored version.
func (f *fetch) begin(ctx context.Context, res *http.Response) (Partial, error) {
	size := res.ContentLength
	if err := f.resumable.CheckSize(size); err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, video.Failf(video.UploadEmpty, "The file at the sourceUrl is empty.")
	}
	if err := f.uploads.Discard(ctx, f.row.video); err != nil {
		return nil, err
	}
	f.row.etag, f.row.modified = strongETag(res), res.Header.Get("Last-Modified")
	if err := f.change(ctx, func(tx *store.Tx) error { return setVersion(ctx, tx, f.row) }); err != nil {
		return nil, err
	}
	return f.storage.Create(ctx, f.resumable, f.lease, size)
}

// storeGrace is how long storing what has arrived may take after a fetch was stopped.
const storeGrace = 15 * time.Second

// receive stores a response, and puts the file in place if it is whole.
func (f *fetch) receive(ctx context.Context, cancel context.CancelCauseFunc, part Partial, res *http.Response) error {
	f.setProgress(part)
	left := int64(-1)
	if part.Size() >= 0 {
		left = part.Size() - part.Stored()
	}
	in := &body{ctx: ctx, cancel: cancel, src: res.Body, left: left, check: f.resumable.CheckSize, timing: f.config.Timing, count: &f.had}
	if part.Stored() == 0 {
		in.head = &head{admit: func(head []byte) error { return probe.Admit(head, f.resumable.Sound) }}
	}
	storing, done := afterGrace(ctx)
	defer done()
	err := part.Append(storing, in, res.ContentLength)
	f.setProgress(part)
	switch {
	case err != nil:
		return err
	case in.err != nil:
		return in.err
	case part.Size() >= 0 && part.Stored() < part.Size():
		return requestError(errCut)
	case part.Stored() == 0:
		return video.Failf(video.UploadEmpty, "The file at the sourceUrl is empty.")
	}
	return part.Finish(storing)
}

// afterGrace returns a context that ends a while after ctx has ended.
func afterGrace(ctx context.Context) (context.Context, func()) {
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(storeGrace, cancel) })
	return detached, func() { stop(); cancel() }
}
