package blob

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/video"
)

// ServiceError classifies an error of a Store for clients: op failed because the storage is full,
// or because it does not answer. A cancelled request stays a cancelled request.
func ServiceError(op string, err error) error {
	err = fmt.Errorf("%s: %w", op, err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, ErrFull):
		return &video.Error{Kind: video.InsufficientStorage, Code: "insufficient_storage",
			Msg: "The server has no disk space for this file now. Try again later.", RetryAfter: time.Minute, Err: err}
	}
	return &video.Error{Kind: video.Unavailable, Code: "storage_unavailable",
		Msg: "The storage does not answer. Try again shortly.", RetryAfter: 5 * time.Second, Err: err}
}
