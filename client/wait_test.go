package client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

func event(w io.Writer, status Status, progress float64) {
	fmt.Fprintf(w, "retry: 3000\nid: 1\nevent: video\ndata: {\"id\":\"v1\",\"status\":%q,\ndata: \"progress\":%v}\n\n: still here\n\n", status, progress)
}

func TestWaitSurvivesCuts(t *testing.T) {
	t.Parallel()
	var streams atomic.Int64
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		switch streams.Add(1) {
		case 1:
			event(w, Processing, 0.25)
		case 2:
			event(w, Processing, 0.5)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			event(w, Ready, 1)
		}
	})
	var seen []string
	v, err := c.Wait(t.Context(), "v1", func(v Video) { seen = append(seen, fmt.Sprint(v.Status, " ", v.Progress)) })
	if err != nil || v.Status != Ready || strings.Join(seen, ", ") != "processing 0.25, processing 0.5, ready 1" {
		t.Errorf("Wait = %+v, %v after %q", v, err, seen)
	}
}

func TestWaitPollsWhereEventsDoNotComeThrough(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"a proxy that refuses":      func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(502) },
		"too many streams":          func(w http.ResponseWriter, r *http.Request) { refuse(w, 503, "too_many_streams") },
		"a proxy that knows better": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/events") {
					answer(w, r)
					return
				}
				io.WriteString(w, `{"id":"v1","status":"ready"}`)
			})
			if v, err := c.Wait(t.Context(), "v1", nil); err != nil || v.Status != Ready {
				t.Errorf("Wait = %+v, %v", v, err)
			}
		})
	}
}

func TestWaitTellsHowItEnded(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/deleted/"):
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: deleted\ndata: {\"id\":\"deleted\"}\n\n")
		case strings.Contains(r.URL.Path, "/bad/"):
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "event: video\ndata: {\"id\":\"bad\",\"status\":\"fail\",\"failure\":{\"code\":\"corrupt\",\"message\":\"The file is damaged.\"}}\n\n")
		default:
			refuse(w, 401, CodeInvalidAPIKey)
		}
	})
	if _, err := c.Wait(t.Context(), "deleted", nil); !IsNotFound(err) {
		t.Errorf("waiting for a deleted video ends with %v", err)
	}
	v, err := c.Wait(t.Context(), "bad", nil)
	if failed, ok := errors.AsType[*FailedError](err); !ok || failed.Code != "corrupt" || failed.ID != "bad" || v.Status != Failed {
		t.Errorf("waiting for a damaged video ends with %+v, %v", v, err)
	}
	if _, err := c.Wait(t.Context(), "x", nil); Code(err) != CodeInvalidAPIKey {
		t.Errorf("waiting without a right ends with %v", err)
	}
}
