package main

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/datadir"
	"github.com/spool-video/spool/internal/metrics"
)

// A firewall that drops packets, or a server that hangs, takes connections and
// says nothing. Variables of the environment are the process's, so this test runs
// alone.
func TestAStartDoesNotWaitLongForAStorageThatIsSilent(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	log := make(lines, 10)
	began := time.Now()
	_, err = openBucket(t.Context(), "s3://films?endpoint=http://"+silent.Addr().String(), time.Second, slog.New(slog.NewTextHandler(log, nil)))
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the start has waited for %s", took)
	}
	if err == nil || !strings.Contains(err.Error(), "the server does not answer: is the endpoint right") {
		t.Errorf("the start ends with %v", err)
	}
	if line := <-log; !strings.Contains(line, "waiting for the storage") || len(log) > 0 {
		t.Errorf("the log says %q, and %d lines more", line, len(log))
	}
}

// lines are what is written, each time one.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// What players have cached is still valid after a restart.
func TestETagsOutliveAProcess(t *testing.T) {
	t.Parallel()
	c := &Config{Location: Location{DataDir: t.TempDir()}}
	etag := func(content string) string {
		p, err := c.openParts(t.Context(), slog.New(slog.DiscardHandler), metrics.New("test"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if content != "" {
			if _, err := p.blobs.Put(t.Context(), "public/file", strings.NewReader(content)); err != nil {
				t.Fatal(err)
			}
		}
		info, err := p.blobs.Stat(t.Context(), "public/file")
		if err != nil {
			t.Fatal(err)
		}
		return info.ETag
	}
	first, second := etag("film"), etag("")
	if first != second {
		t.Errorf("the ETag is %s, and %s after a restart", first, second)
	}
	if err := os.Remove(filepath.Join(c.DataDir, datadir.Database)); err != nil {
		t.Fatal(err)
	}
	if other := etag(""); other == first {
		t.Errorf("with another database the ETag is still %s: it is made without a secret", other)
	}
}
