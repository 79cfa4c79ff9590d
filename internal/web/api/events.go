package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

const (
	// heartbeatInterval is how often a stream without events sends a comment. Proxies
	// close connections that are silent for a minute, some for half a minute.
	heartbeatInterval = 15 * time.Second
	// maxStreamDuration is when a client has to reconnect, with its key. It also limits how long a
	// stream continues if its key cannot be checked.
	maxStreamDuration = 15 * time.Minute
	// reconnectDelay is when a client whose stream broke should reconnect.
	reconnectDelay = 3 * time.Second

	eventStream     = "text/event-stream"
	headerLastEvent = "Last-Event-ID"
)

// eventRoutes are the event streams.
type eventRoutes struct {
	catalog     *catalog.Catalog
	subscribers *subscribers
}

func (r eventRoutes) register(t *table) {
	add(t, operation{
		id: "getVideoEvents", route: "GET /api/video/{id}/events", summary: "Follow a video", tag: "video",
		notes: "Server-sent events. A `video` event has the whole state as data, as getVideo returns it: one is sent at once, and another " +
			"whenever something has changed, at most once per second. The stream ends with the state of a video that is ready or has failed for good, " +
			"or with a `deleted` event. It may end at any time before: reconnect to continue with the current state.",
		scopes: []auth.Scope{auth.Read}, status: 200, errors: []int{404}, byToken: true, describe: describeEvents,
		parameters: []*huma.Param{
			{Name: headerLastEvent, In: "header", Schema: &huma.Schema{Type: huma.TypeString}, Description: "The id of the last event that was received, as EventSource sends it."},
			videoID(),
		},
	}, r.follow)
}

// describeEvents describes the data of the events, because OpenAPI cannot describe events.
func describeEvents(op *huma.Operation, r huma.Registry) {
	op.Responses["200"] = &huma.Response{
		Description: "The events",
		Content: map[string]*huma.MediaType{eventStream: {Schema: &huma.Schema{AnyOf: []*huma.Schema{
			r.Schema(reflect.TypeFor[videoStateView](), true, ""), r.Schema(reflect.TypeFor[deletedVideo](), true, ""),
		}}}},
	}
	op.Responses["204"] = &huma.Response{Description: "No event follows the one that Last-Event-ID names"}
}

// deletedVideo is the data of the event that says that a video was deleted.
type deletedVideo struct {
	ID video.ID `json:"id" format:"uuid"`
}

// PollStreams polls the videos that have open event streams until ctx ends. Then it
// ends the streams, so that a shutdown does not wait for them. The listener must be
// closed before: otherwise clients that reconnect could reach the same process.
func (a *API) PollStreams(ctx context.Context) { a.subscribers.run(ctx) }

// OpenStreams returns how many event streams are open.
func (a *API) OpenStreams() int { return a.subscribers.count() }

// follow answers with an event stream. Errors are reported before it begins, as
// for any other request.
//
// It loads the state first and subscribes afterwards, so the client never gets a state
// that is older than one it knows.
//
// A stream ends when its video is settled: ready, or failed with no upload that could
// still fix it. EventSource reconnects whenever a stream ends, unless the response is
// 204: that is what it gets if it has already received the final state.
func (r eventRoutes) follow(ctx context.Context, c *call) (*streamAnswer, error) {
	s, err := r.catalog.State(ctx, c.actor, c.id)
	if err != nil {
		return nil, err
	}
	first, err := newUpdate(s)
	if err != nil {
		return nil, fmt.Errorf("encode the state of %s: %w", c.id, err)
	}
	if first.final && c.request.Header.Get(headerLastEvent) == first.id {
		c.status = http.StatusNoContent
		return nil, nil
	}
	sub, err := r.subscribe(c, s, first)
	if err != nil {
		return nil, err
	}
	return new(streamAnswer(func(w http.ResponseWriter) {
		defer r.subscribers.remove(sub)
		w.Header().Set("Content-Type", eventStream)
		w.Header().Set("X-Accel-Buffering", "no") // tells nginx to forward each event at once
		if c.request.Method != http.MethodHead {
			r.stream(ctx, w, sub, first)
		}
	})), nil
}

// subscribe adds the stream of a call to the subscribers.
func (r eventRoutes) subscribe(c *call, s catalog.State, known stateUpdate) (*subscriber, error) {
	if c.token == "" {
		return r.subscribers.add(c.principal(), openedWith(c.actor), s.Video.ID, known)
	}
	return r.subscribers.addToken(c.principal(), c.token, s.Video.Tenant, s.Video.ID, known)
}

// stream sends events until the final one, or until the client is gone. A slow client
// costs no memory: it skips updates. One that does not read at all is disconnected by
// the write deadline of delivery.Guard.
func (r eventRoutes) stream(ctx context.Context, w http.ResponseWriter, sub *subscriber, u stateUpdate) {
	out := &eventWriter{w: w, control: http.NewResponseController(w)}
	out.write(fmt.Sprintf("retry: %d\n", reconnectDelay.Milliseconds()))
	out.event(sub.id, u)

	heartbeat := time.NewTicker(heartbeatInterval)
	defer heartbeat.Stop()
	timeout := time.NewTimer(maxStreamDuration)
	defer timeout.Stop()
	for !u.final && out.err == nil {
		select {
		case u = <-sub.updates:
			out.event(sub.id, u)
			heartbeat.Reset(heartbeatInterval)
		case <-heartbeat.C:
			out.write(": still here\n\n")
		case <-timeout.C:
			return
		case <-sub.revoked:
			return
		case <-r.subscribers.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// eventWriter writes the format of server-sent events. After an error it writes
// nothing more.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

func (e *eventWriter) write(text string) {
	if e.err != nil {
		return
	}
	if _, e.err = e.w.Write([]byte(text)); e.err == nil {
		e.err = e.control.Flush()
	}
}

// event writes an update. Its data is one line, because JSON has no raw line breaks.
func (e *eventWriter) event(id video.ID, u stateUpdate) {
	if u.state == nil {
		e.write(fmt.Sprintf("event: deleted\ndata: {\"id\":%q}\n\n", id))
		return
	}
	e.write(fmt.Sprintf("id: %s\nevent: video\ndata: %s\n\n", u.id, u.state))
}

// eventID identifies a state. It is a hash, so it is the same in every process.
func eventID(state []byte) string {
	sum := sha256.Sum256(state)
	return hex.EncodeToString(sum[:8])
}
