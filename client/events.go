package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

var (
	// errNoStream means that event streams do not work on this connection.
	errNoStream = errors.New("the server cannot be followed by events")
	// errCut means that a stream ended before the video was done.
	errCut = errors.New("the stream of events ended early")
	// errDeleted is what a read of the video would say.
	errDeleted = &Error{Status: http.StatusNotFound, Code: CodeVideoNotFound, Detail: "The video was deleted."}
)

const (
	// firstEvent is how long the first event may take: the server sends it at once, so that it is a
	// proxy that keeps it if it does not come.
	firstEvent = 15 * time.Second
	// silence is how long a stream may be silent: the server sends a sign of life every 15 s.
	silence = 45 * time.Second
	// maxEvent bounds one event.
	maxEvent = 4 << 20
)

// readStream reads one stream of events until seen has seen enough (done), or it ends. events counts them.
func (c *Client) readStream(ctx context.Context, id string, seen func(Video) bool) (done bool, events int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	kept := time.AfterFunc(firstEvent, func() { cancel(errNoStream) })
	defer kept.Stop()
	quiet := time.AfterFunc(silence, func() { cancel(errCut) })
	defer quiet.Stop()
	req, err := c.request(ctx, call{method: http.MethodGet, path: path("video", id, "events"), header: http.Header{"Accept": {"text/event-stream"}}})
	if err != nil {
		return false, 0, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return false, 0, causeOf(ctx, withoutURL(err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return false, 0, refusal(res)
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return false, 0, errNoStream
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxEvent)
	for {
		kind, data, err := nextEvent(lines, func() { quiet.Reset(silence) })
		if err != nil {
			return false, events, causeOf(ctx, err)
		}
		events++
		kept.Stop()
		if done, err := handleEvent(kind, data, seen); done || err != nil {
			return done, events, err
		}
	}
}

// causeOf prefers why the reading was ended to how that looked.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errNoStream) || errors.Is(cause, errCut) {
		return cause
	}
	return err
}

// handleEvent passes an event on.
func handleEvent(kind string, data []byte, seen func(Video) bool) (done bool, err error) {
	switch kind {
	case "deleted":
		return false, errDeleted
	case "video":
		var v Video
		if err := json.Unmarshal(data, &v); err != nil {
			return false, fmt.Errorf("decode an event: %w", err)
		}
		return seen(v), nil
	}
	return false, nil // of a newer server
}

// nextEvent reads an event as https://html.spec.whatwg.org/multipage/server-sent-events.html defines it, and
// calls alive for each line.
func nextEvent(lines *bufio.Scanner, alive func()) (kind string, data []byte, err error) {
	for lines.Scan() {
		alive()
		line := lines.Bytes()
		if len(line) == 0 {
			if len(data) > 0 {
				return kind, bytes.TrimSuffix(data, []byte("\n")), nil
			}
			kind = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			kind = string(value)
		case "data":
			data = append(append(data, value...), '\n')
		}
	}
	if err := lines.Err(); err != nil {
		return "", nil, err
	}
	return "", nil, io.ErrUnexpectedEOF
}
