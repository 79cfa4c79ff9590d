package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/video"
)

// bubble runs a test on a rig in a synctest bubble.
func bubble(t *testing.T, test func(*streamRig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(newStreamRig(t)) })
}

func TestAStreamFromUploadToReady(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		s := r.subscribe(v.ID)
		first := s.want(video.PendingUpload, 0)
		if first.retry != "3000" {
			r.Errorf("the stream begins with %+v, want a retry field", first)
		}
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
			if got := s.response.Header.Get(name); got != want {
				r.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		r.accept(v)
		s.want(video.Processing, 0)
		r.progress(v, 0, 0.5)
		s.want(video.Processing, 0.25)
		for _, done := range []float64{0.6, 0.7, 0.8, 1} { // all within one second
			r.progress(v, 0, done)
		}
		s.want(video.Processing, 0.5)
		r.finish(v)
		last := s.want(video.Ready, 1)
		s.wantEnd()

		state, err := r.services.Catalog.State(r.Context(), r.by, v.ID)
		r.must(err)
		if n, err := newUpdate(state); err != nil || last.data != string(n.state) {
			r.Errorf("the last event is\n%s\nthe state\n%s, %v", last.data, n.state, err)
		}
		r.wantNoReconnect(v.ID, last)
	})
}

// wantNoReconnect reconnects as EventSource does, which stops at a 204. A client that has
// not received the last event gets it.
func (r *streamRig) wantNoReconnect(id video.ID, last block) {
	r.Helper()
	if res := r.open("GET", id, last.id); res.StatusCode != http.StatusNoContent {
		r.Errorf("reconnecting with the last event is answered %s, want 204", res.Status)
	}
	res := r.open("GET", id, "another")
	body, err := io.ReadAll(res.Body)
	r.must(err)
	if want := "retry: 3000\nid: " + last.id + "\nevent: video\ndata: " + last.data + "\n\n"; res.StatusCode != 200 || string(body) != want {
		r.Errorf("reconnecting without it is answered %s\n%s\nwant\n%s", res.Status, body, want)
	}
}

// Other codecs take hours after the last event, and nobody is told of them.
func TestOtherCodecsDoNotContinueAStream(t *testing.T) {
	bubble(t, func(r *streamRig) {
		up, err := r.services.Catalog.Create(r.Context(), r.by, video.Draft{Filename: "a.mp4", Resolutions: []video.Name{"144p"}, Codecs: []video.Codec{video.AV1}}, "http://spool.test")
		r.must(err)
		v := up.Video
		s := r.subscribe(v.ID)
		s.want(video.PendingUpload, 0)
		r.accept(v)
		s.want(video.Processing, 0)
		r.finish(v)
		last := s.want(video.Ready, 1)
		s.wantEnd()
		r.change(func(tx *store.Tx) error {
			return errors.Join(tx.DropSteps(r.Context(), v.ID), tx.InsertSteps(r.Context(), v.ID, []store.Step{{Kind: "av1", Weight: 1}}))
		})
		_, err = r.store.SetProgress(r.Context(), v.ID, "av1", 0, 0.5)
		r.must(err)
		state, err := r.services.Catalog.State(r.Context(), r.by, v.ID)
		r.must(err)
		if got := state.Resolutions[0].Variants[0].Progress; got != 0.5 {
			r.Fatalf("the progress of the variant is %v", got)
		}
		if res := r.open("GET", v.ID, last.id); res.StatusCode != http.StatusNoContent {
			r.Errorf("reconnecting while AV1 is made is answered %s, want 204", res.Status)
		}
	})
}

func TestAFailureThatCanBeFixedDoesNotEndTheStream(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		s := r.subscribe(v.ID)
		s.want(video.PendingUpload, 0)
		refuse := func(f *video.Failure) {
			r.change(func(tx *store.Tx) error { _, err := tx.RefuseUpload(r.Context(), v.ID, f); return err })
		}
		refuse(video.Failf(video.UploadMissing, "No file was uploaded."))
		s.want(video.Fail, 0)
		refuse(video.Failf(video.NotAVideo, "It is a text."))
		if got, _ := s.video(); got.Failure.Code != "not_a_video" {
			r.Errorf("got %+v, want the other failure", got)
		}
		r.accept(v)
		s.want(video.Processing, 0)
	})
}

func TestAFailureIsFinalWhenTheUploadURLHasExpired(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		r.change(func(tx *store.Tx) error {
			_, err := tx.RefuseUpload(r.Context(), v.ID, video.Failf(video.UploadEmpty, "The uploaded file is empty."))
			return err
		})
		s := r.subscribe(v.ID)
		last := s.want(video.Fail, 0)
		for b := last; ; {
			var more bool
			if b, more = s.next(); !more {
				break
			}
			if b.comment == "" && b.data != last.data {
				r.Fatalf("got %+v", b)
			}
		}
		if late := time.Since(v.UploadExpiresAt); late < 0 || late > 2*pollInterval {
			r.Errorf("the stream ended %s after the URL expired", late)
		}
		r.wantNoReconnect(v.ID, last)
	})
}

func TestADeletionEndsTheStream(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		s, other := r.subscribe(v.ID), r.subscribe(v.ID)
		for _, s := range []*stream{s, other} {
			s.want(video.PendingUpload, 0)
		}
		r.must(r.services.DeleteResolution(r.Context(), r.by, v.Resolutions[0].ID))
		if _, b := s.video(); strings.Contains(b.data, "720p") || !strings.Contains(b.data, "144p") {
			r.Errorf("after the deletion of a resolution the state is %s", b.data)
		}
		other.video()
		r.must(r.services.DeleteVideo(r.Context(), r.by, v.ID))
		for _, s := range []*stream{s, other} {
			if b, _ := s.next(); b.event != "deleted" || b.data != `{"id":"`+string(v.ID)+`"}` {
				r.Errorf("the last event is %+v, want deleted", b)
			}
			s.wantEnd()
		}
		if res := r.open("GET", v.ID, ""); res.StatusCode != http.StatusNotFound {
			r.Errorf("reconnecting is answered %s", res.Status)
		}
	})
}

func TestAnIdleStreamSendsHeartbeats(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		began := time.Now()
		s := r.subscribe(v.ID)
		s.want(video.PendingUpload, 0)
		r.down.Store(true) // so that 900 polls cost nothing
		comments := 0
		for b, more := s.next(); more; b, more = s.next() {
			comments++
			if passed := time.Since(began); b.comment == "" || passed != time.Duration(comments)*heartbeatInterval {
				r.Fatalf("after %s came %+v, want a comment every %s", passed, b, heartbeatInterval)
			}
		}
		if passed := time.Since(began); passed != maxStreamDuration {
			r.Errorf("the stream ended after %s, want %s", passed, maxStreamDuration)
		}
	})
}

func TestAHeadRequestGetsNoStream(t *testing.T) {
	bubble(t, func(r *streamRig) {
		res := r.open("HEAD", r.create().ID, "")
		if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/event-stream" {
			r.Errorf("HEAD is answered %s as %q", res.Status, got)
		}
		synctest.Wait()
		if n := r.api.OpenStreams(); n != 0 {
			r.Errorf("%d streams are open", n)
		}
	})
}

// openEvents requests the events of a video of tenant with a new key, while others have streams open.
func openEvents(t *testing.T, tenant video.Tenant, others map[video.Tenant]int) *httptest.ResponseRecorder {
	t.Helper()
	r := newRig(t, Config{})
	for other, n := range others {
		for i := range n { // each with another key
			if _, err := r.api.subscribers.add(limit.Principal{Tenant: other}, fmt.Sprint(i), testID, stateUpdate{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	secret := r.newKeyOf(tenant)
	var made struct{ ID string }
	r.decode(r.askAs(secret, "POST", "/api/video", validDraft), &made)
	q := request("GET", "/api/video/"+made.ID+"/events", "")
	q.Header.Set(headerKey, secret)
	ctx, cancel := context.WithTimeout(q.Context(), time.Second) // an endless stream ends with it
	defer cancel()
	return r.send(q.WithContext(ctx))
}

func TestTooManyStreamsAreRefused(t *testing.T) {
	t.Parallel()
	others := map[video.Tenant]int{}
	for n := range maxSubscribers / maxSubscribersEach {
		others[video.Tenant(fmt.Sprint("tenant ", n))] = maxSubscribersEach
	}
	w := openEvents(t, "mine", others)
	wantProblem(t, w, http.StatusServiceUnavailable, "too_many_streams")
	if got := w.Header().Get("Retry-After"); got != "15" {
		t.Errorf("Retry-After is %q", got)
	}
}

// A tenant cannot take all streams, however many keys it makes.
func TestATenantCannotTakeAllStreams(t *testing.T) {
	t.Parallel()
	w := openEvents(t, "mine", map[video.Tenant]int{"mine": maxSubscribersEach})
	wantProblem(t, w, http.StatusTooManyRequests, "rate_limited")
	if got := w.Header().Get("Retry-After"); got != "15" {
		t.Errorf("Retry-After is %q", got)
	}
	if w := openEvents(t, "mine", map[video.Tenant]int{"another": maxSubscribersEach}); w.Code != http.StatusOK {
		t.Errorf("while another tenant has its limit, the answer is %d %s", w.Code, w.Body)
	}
}

func TestAClosedStreamIsNotCounted(t *testing.T) {
	t.Parallel()
	s := newSubscribers(nil, nil, nil)
	by := limit.Principal{Tenant: "t"}
	for range 2 * maxSubscribersEach {
		sub, err := s.add(by, "key", testID, stateUpdate{})
		if err != nil {
			t.Fatal(err)
		}
		s.remove(sub)
		if sub, err = s.addToken(by, "token", "t", testID, stateUpdate{}); err != nil {
			t.Fatal(err)
		}
		s.remove(sub)
	}
	if n := s.count(); n != 0 {
		t.Errorf("%d streams are counted, want none", n)
	}
}
