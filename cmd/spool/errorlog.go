package main

import (
	"log"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
)

// errorsEachMinute is how many errors of connections are logged in a minute.
const errorsEachMinute = 10

// clientAddress is an address with a port, as net/http names clients.
var clientAddress = regexp.MustCompile(`(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+(?:%[^\]]*)?\]):\d+`)

// connectionErrors takes what net/http says about connections. It names clients, which the log does not, and a
// client can cause as many errors as it likes.
type connectionErrors struct {
	log *slog.Logger

	mu      sync.Mutex
	until   time.Time // end of the minute
	logged  int       // within it
	dropped int
}

// newErrorLog returns the ErrorLog of a server.
func newErrorLog(to *slog.Logger) *log.Logger {
	return log.New(&connectionErrors{log: to}, "", 0)
}

func (c *connectionErrors) Write(message []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.After(c.until) {
		c.until, c.logged = now.Add(time.Minute), 0
	}
	if c.logged == errorsEachMinute {
		c.dropped++
		return len(message), nil
	}
	c.logged++
	attrs := []any{}
	if c.dropped > 0 {
		attrs, c.dropped = []any{"more", c.dropped}, 0
	}
	c.log.Warn(clientAddress.ReplaceAllString(strings.TrimSpace(string(message)), "a client"), attrs...)
	return len(message), nil
}
