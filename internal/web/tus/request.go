package tus

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
)

// request is the state of one request while tusd handles it.
type request struct {
	resumable uploads.Resumable
	lease     uploads.Lease
	length    int64 // of the body; -1 if the client does not say
	replaces  bool  // the client knows that it replaces another upload
	err       error // why it failed, unless tusd itself rejected it
	values    context.Context
}

type requestKey struct{}

// requestOf returns the request that a call of tusd belongs to.
func requestOf(ctx context.Context) *request { return ctx.Value(requestKey{}).(*request) }

// context returns the context for what a call of tusd does. It ends with tusd's
// context and has the values of the request. tusd's own must not be asked for
// values: it copies itself for the answer, and tusd changes it while a connection
// that an earlier call asked for may still be opened in the background.
func (q *request) context(ofTusd context.Context) context.Context {
	return callContext{Context: ofTusd, values: q.values}
}

type callContext struct {
	context.Context
	values context.Context
}

func (c callContext) Value(key any) any { return c.values.Value(key) }

// fail records the first error for the response; later ones are consequences of
// it. tusd would send the text of the error, which may contain paths.
func (q *request) fail(err error) error {
	if _, byTusd := errors.AsType[handler.Error](err); byTusd || err == nil {
		return err
	}
	if _, classified := errors.AsType[*video.Error](err); !classified {
		err = storageError(err)
	}
	if q.err == nil {
		q.err = err
	}
	return err
}

func storageError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage",
			Msg: "The server has no disk space for this file now. Try again later.", RetryAfter: time.Minute, Err: err}
	}
	return &video.Error{Kind: video.Unavailable, Code: "storage_unavailable",
		Msg: "The storage does not answer. Try again shortly.", RetryAfter: 5 * time.Second, Err: err}
}
