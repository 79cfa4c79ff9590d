package main

import (
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
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
