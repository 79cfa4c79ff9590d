package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestErrorsOfConnectionsNameNoClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newErrorLog(slog.New(slog.NewTextHandler(&out, nil)))
		for _, address := range []string{"192.0.2.1:5000", "[2001:db8::1]:5000", "[fe80::1%eth0]:5000", "[::ffff:192.0.2.1]:5000"} {
			out.Reset()
			l.Printf("http2: server connection error from %v: connection error: PROTOCOL_ERROR", address)
			if !strings.Contains(out.String(), `msg="http2: server connection error from a client: connection error: PROTOCOL_ERROR"`) {
				t.Errorf("of %s, the log says %s", address, out.String())
			}
		}
		for range 1000 {
			l.Print("http: something")
		}
		if n := strings.Count(out.String(), "something"); n != errorsEachMinute-4 {
			t.Errorf("%d errors are logged in a minute", n+4)
		}
		out.Reset()
		time.Sleep(2 * time.Minute)
		if l.Print("http: something"); !strings.Contains(out.String(), "more=994") {
			t.Errorf("the next minute begins with %s", out.String())
		}
	})
}
