package blob_test

import (
	"context"
	"errors"
	"testing"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/video"
)

func TestServiceError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		kind video.Kind
	}{
		{"a full storage", blob.ErrFull, video.InsufficientStorage},
		{"a storage that times out", context.DeadlineExceeded, video.Unavailable},
		{"any other error", errors.New("boom"), video.Unavailable},
	}
	for _, tt := range tests {
		err := blob.ServiceError("open", tt.err)
		if video.KindOf(err) != tt.kind || !errors.Is(err, tt.err) {
			t.Errorf("%s: %v; want an error of kind %s that wraps it", tt.name, err, tt.kind)
		}
	}
	err := blob.ServiceError("open", context.Canceled)
	if _, classified := errors.AsType[*video.Error](err); classified || !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request becomes %v", err)
	}
}
