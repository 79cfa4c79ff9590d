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

	"github.com/spool-video/spool/internal/video"
)

const (
	// beatEvery is how often a stream without news says that it is alive. Proxies
	// close what is silent for a minute, some for half of one.
	beatEvery = 15 * time.Second
	// streamLife bounds how long a stream goes on after its key has been revoked:
	// the client comes again and shows its key.
	streamLife = 15 * time.Minute
	// comeAgain is when a client whose stream broke should connect again.
	comeAgain = 3 * time.Second

	eventStream     = "text/event-stream"
	headerLastEvent = "Last-Event-ID"
)

// deletedVideo is the last that is told of a video.
type deletedVideo struct {
	ID video.ID `json:"id" format:"uuid"`
}

// FollowVideos looks at the videos whose events are streamed, until ctx ends. Then
// it ends the streams, so that nobody has to wait for them.
func (a *API) FollowVideos(ctx context.Context) { a.followers.run(ctx) }

// OpenStreams returns how many streams of events are open.
func (a *API) OpenStreams() int { return a.followers.count() }

// videoEvents answers with a stream. Whatever is wrong with the request is said
// before it begins, as for a state that is read once.
//
// A stream ends when its video is settled. EventSource connects again whenever a
// stream ends, unless it is answered 204: that is what it gets if it comes back
// with the last event in its hands and nothing has happened since.
func (a *API) videoEvents(ctx context.Context, c *call, in *videoPath) (*huma.StreamResponse, error) {
	id, err := video.ParseID("id", in.ID)
	if err != nil {
		return nil, err
	}
	s, err := a.service.VideoState(ctx, c.actor, id)
	if err != nil {
		return nil, err
	}
	first, err := newsOf(s)
	if err != nil {
		return nil, fmt.Errorf("write the state of %s: %w", id, err)
	}
	if first.settled && c.request.Header.Get(headerLastEvent) == first.eventID() {
		return &huma.StreamResponse{Body: func(huma.Context) { c.writer.WriteHeader(http.StatusNoContent) }}, nil
	}
	one, err := a.followers.join(id, first)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(huma.Context) {
		defer a.followers.leave(one)
		c.writer.Header().Set("Content-Type", eventStream)
		c.writer.Header().Set("X-Accel-Buffering", "no") // asks nginx to pass each event on at once
		if c.request.Method != http.MethodHead {
			a.stream(ctx, c.writer, one, first)
		}
	}}, nil
}

// stream sends events until there will be no more, or nobody reads them. Clients
// that do not are found by the deadline that delivery.Guard sets for each write.
func (a *API) stream(ctx context.Context, w http.ResponseWriter, one *follower, n news) {
	out := &eventWriter{w: w, control: http.NewResponseController(w)}
	out.write(fmt.Sprintf("retry: %d\n", comeAgain.Milliseconds()))
	out.event(one.id, n)

	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	life := time.NewTimer(streamLife)
	defer life.Stop()
	for !n.settled && out.err == nil {
		select {
		case n = <-one.news:
			out.event(one.id, n)
			beat.Reset(beatEvery)
		case <-beat.C:
			out.write(": still here\n\n")
		case <-life.C:
			return
		case <-a.followers.ended:
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

// event writes the news of a video. They are one line: JSON has none inside.
func (e *eventWriter) event(id video.ID, n news) {
	if n.state == nil {
		e.write(fmt.Sprintf("event: deleted\ndata: {\"id\":%q}\n\n", id))
		return
	}
	e.write(fmt.Sprintf("id: %s\nevent: video\ndata: %s\n\n", n.eventID(), n.state))
}

// eventID names a state. It is the same whichever process tells it.
func (n news) eventID() string {
	sum := sha256.Sum256(n.state)
	return hex.EncodeToString(sum[:8])
}

// eventsOperation describes the stream. Its schema is that of each event's data:
// OpenAPI has no words for events.
func eventsOperation(r huma.Registry) huma.Operation {
	op := operation(r, "getVideoEvents", "GET /api/video/{id}/events", http.StatusOK, "Follow a video", nil, 404)
	op.Description = "Server-sent events. A `video` event has the whole state as data, as getVideo answers it: one comes at once, and another " +
		"whenever something has changed, at most one a second. The stream ends with the state of a video that is ready or has failed for good, " +
		"or with a `deleted` event. It may end at any time before: connect again, and go on with the present state."
	op.Parameters = []*huma.Param{{Name: headerLastEvent, In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "The id of the last event that was received, as EventSource sends it."}}
	op.Responses["200"] = &huma.Response{
		Description: "The events",
		Content: map[string]*huma.MediaType{eventStream: {Schema: &huma.Schema{AnyOf: []*huma.Schema{
			r.Schema(reflect.TypeFor[videoStateView](), true, ""), r.Schema(reflect.TypeFor[deletedVideo](), true, ""),
		}}}},
	}
	op.Responses["204"] = &huma.Response{Description: "Nothing more will come after the event that Last-Event-ID names"}
	return op
}
