package main

import (
	"bytes"
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
	var log bytes.Buffer
	began := time.Now()
	_, err = openBucket(t.Context(), "s3://films?endpoint=http://"+silent.Addr().String(), time.Second, slog.New(slog.NewTextHandler(&log, nil)))
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the start has waited for %s", took)
	}
	if err == nil || !strings.Contains(err.Error(), "the server does not answer: is the endpoint right") {
		t.Errorf("the start ends with %v", err)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "the start waits for the storage") {
		t.Errorf("the log has %d lines:\n%s", n, log.String())
	}
}
