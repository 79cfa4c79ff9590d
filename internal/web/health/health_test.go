package health

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestStreamsOfEventsAreLimited(t *testing.T) {
	t.Parallel()
	h := New(nil, "")
	h.streams.Store(maxStreams)
	w := httptest.NewRecorder()
	h.streamEvents(w, httptest.NewRequest("GET", EventsPath, nil))
	if w.Code != http.StatusServiceUnavailable || h.streams.Load() != maxStreams {
		t.Errorf("one too many gets %d; %d are counted", w.Code, h.streams.Load())
	}
}
