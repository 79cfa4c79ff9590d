package s3

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/spool-video/spool/internal/panics"
)

// If nobody can tell whether the lease is valid, the write must end, but not the process.
func TestWriteEndsWhenTheLeaseCheckPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		s := &serialUploader{leaseValid: func() bool {
			if checks++; checks > 2 {
				panic("meant by the test")
			}
			return true
		}}
		ctx, end, err := s.beginWrite(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer end()
		<-ctx.Done()
		if p, ok := errors.AsType[*panics.Error](context.Cause(ctx)); !ok || p.Value != "meant by the test" {
			t.Errorf("the write ends because of %v; want the panic", context.Cause(ctx))
		}
	})
}
