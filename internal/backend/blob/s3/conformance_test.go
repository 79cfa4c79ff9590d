package s3_test

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/blob/blobtest"
	"github.com/spool-video/spool/internal/backend/blob/s3"
	"github.com/spool-video/spool/internal/backend/blob/s3/s3test"
	"github.com/spool-video/spool/test/need"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t)
	p := newProxy(t, server)
	p.spoilWith(inTurns())
	at := func(bucket, prefix string) string { return through(p, server.URL(bucket, prefix), server) }
	t.Run("in a prefix", func(t *testing.T) {
		bucket := server.Bucket(t)
		blobtest.Run(t, func(t *testing.T) blob.Store {
			return open(t, server, at(bucket, "spool/"+strings.ToLower(rand.Text())))
		})
	})
	t.Run("in a bucket of its own", func(t *testing.T) {
		need.TimeFor(t, "the suite again, without a prefix")
		blobtest.Run(t, func(t *testing.T) blob.Store { return open(t, server, at(server.Bucket(t), "")) })
	})
	t.Run("in a host of its own", func(t *testing.T) {
		need.TimeFor(t, "the suite again, with other addresses")
		bucket := server.Bucket(t)
		blobtest.Run(t, func(t *testing.T) blob.Store { return openHost(t, server, bucket, strings.ToLower(rand.Text())) })
	})
}

// openHost opens a bucket whose name is that of a host.
func openHost(t *testing.T, server *s3test.Server, bucket, prefix string) *s3.Store {
	t.Helper()
	s, err := s3.Open(t.Context(), server.HostURL(bucket, prefix), s3.WithDial(quick(server), server.Dial))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// quick are options with which tests do not wait.
func quick(server *s3test.Server) s3.Options {
	return s3.Options{Credentials: server.Credentials(), PartSize: 5 << 20, IdleTimeout: 5 * time.Second, MaxBackoff: 20 * time.Millisecond}
}

func open(t *testing.T, server *s3test.Server, url string) *s3.Store {
	t.Helper()
	s, err := s3.Open(t.Context(), url, quick(server))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
