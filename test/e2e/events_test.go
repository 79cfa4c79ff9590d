package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// events is an open stream of events.
type events struct {
	*server
	body *bufio.Reader
}

// event is one of them.
type event struct{ id, name, data string }

// follow opens the stream of a video.
func (s *server) follow(id string) *events {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+"/api/video/"+id+"/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-API-KEY", apiKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("follow %s: %v", id, err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/event-stream" {
		s.t.Fatalf("following answers %s as %q", res.Status, got)
	}
	return &events{s, bufio.NewReader(res.Body)}
}

// next waits for the next event; the second result is false when the stream has
// ended as it should.
func (e *events) next() (found event, more bool) {
	e.t.Helper()
	for {
		line, err := e.body.ReadString('\n')
		if err == io.EOF && line == "" {
			return event{}, false
		}
		if err != nil {
			e.t.Fatalf("the stream broke: %v", err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			found.id = value
		case "event":
			found.name = value
		case "data":
			found.data = value
		case "":
			if value == "" && found.name != "" {
				return found, true
			}
		}
	}
}

// state waits for the next event, which has to be a state of the video.
func (e *events) state() (watch, event) {
	e.t.Helper()
	var w watch
	got, more := e.next()
	if err := json.Unmarshal([]byte(got.data), &w); err != nil || !more || got.name != "video" || got.id == "" {
		e.t.Fatalf("got %+v, more: %t, %v; want a state", got, more, err)
	}
	return w, got
}

func (e *events) wantEnd() {
	e.t.Helper()
	if got, more := e.next(); more {
		e.t.Fatalf("got %+v, want the end of the stream", got)
	}
}

func TestAVideoIsFollowed(t *testing.T) {
	t.Parallel()
	work := newGate(t, encodeRun, hold) // or it could be ready before the next look
	s := start(t, work.tools())
	t.Run("from its creation until it is ready", func(t *testing.T) { s.in(t).followToTheEnd(work) })
	t.Run("until it is deleted", func(t *testing.T) {
		s := s.in(t)
		u := s.create(tinyVideo)
		stream := s.follow(u.ID)
		stream.state()
		stranger := s.newKey("--tenant=acme").Secret
		s.callAs(stranger, "GET", "/api/video/"+u.ID+"/events", nil).problem(t, http.StatusNotFound, "video_not_found")
		s.callAs("", "GET", "/api/video/"+u.ID+"/events", nil).problem(t, http.StatusUnauthorized, "missing_api_key")
		s.deleteVideo(u.ID)
		if got, _ := stream.next(); got.name != "deleted" || got.data != `{"id":"`+u.ID+`"}` {
			t.Errorf("the last event is %+v, want deleted", got)
		}
		stream.wantEnd()
	})
	t.Run("until the server stops", func(t *testing.T) {
		s := s.in(t)
		stream := s.follow(s.create(tinyVideo).ID)
		stream.state()
		if open := s.metrics()["spool_event_streams"]; open != 1 {
			t.Errorf("%v streams are open, want 1", open)
		}
		if took := s.stop(); took > 10*time.Second { // of the 20 that it may take
			t.Errorf("the stop took %s: it waited for the stream", took)
		}
		stream.wantEnd()
	})
}

// followToTheEnd wants every status to be told once, in order, and progress that
// never goes back.
func (s *server) followToTheEnd(work *gate) {
	u := s.create(tinyVideo)
	stream := s.follow(u.ID)
	w, last := stream.state()
	statuses, progress := []string{w.Status}, w.Progress
	s.put(u, clip(s.t, miniClip))
	s.complete(u.ID)
	for w.Status != "ready" {
		if w, last = stream.state(); w.Progress < progress {
			s.t.Errorf("progress goes back from %v to %v", progress, w.Progress)
		}
		if statuses, progress = append(statuses, w.Status), w.Progress; len(statuses) == 2 {
			work.release()
		}
	}
	if got := slices.Compact(statuses); !slices.Equal(got, []string{"pending_upload", "processing", "ready"}) {
		s.t.Errorf("the statuses were %q", got)
	}
	stream.wantEnd()
	if state := s.stateByToken(u.ID); strings.TrimSpace(string(state.body)) != last.data {
		s.t.Errorf("the last event is\n%s\nthe state is\n%s", last.data, state.body)
	}
	if r := s.call("GET", "/api/video/"+u.ID+"/events", nil, header{"Last-Event-ID", last.id}); r.status != http.StatusNoContent {
		s.t.Errorf("coming back after the last event is answered %d %s, want 204", r.status, r.body)
	}
}
