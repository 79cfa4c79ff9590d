package api

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

func TestOnePollASecondForAllStreams(t *testing.T) {
	bubble(t, func(r *streamRig) {
		time.Sleep(time.Hour)
		if n := r.polls.Load(); n != 0 {
			r.Fatalf("the database was polled %d times without subscribers", n)
		}
		var streams []*stream
		for range 20 {
			v := r.create()
			for range 3 {
				streams = append(streams, r.subscribe(v.ID))
			}
		}
		for _, s := range streams {
			s.want(video.PendingUpload, 0)
		}
		if n := r.api.OpenStreams(); n != 60 {
			r.Errorf("%d streams are open, want 60", n)
		}
		before := r.polls.Load()
		time.Sleep(10 * pollInterval)
		synctest.Wait()
		if n := r.polls.Load() - before; n != 10 {
			r.Errorf("the database was polled %d times in 10 seconds", n)
		}
		for _, s := range streams {
			s.response.Body.Close()
		}
		time.Sleep(pollInterval)
		synctest.Wait()
		before = r.polls.Load()
		time.Sleep(time.Hour)
		if n := r.polls.Load() - before; n != 0 || r.api.OpenStreams() != 0 {
			r.Errorf("after all have disconnected, %d streams are open and the database was polled %d times", r.api.OpenStreams(), n)
		}
	})
}

func TestAStreamSurvivesADatabaseOutage(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		s := r.subscribe(v.ID)
		s.want(video.PendingUpload, 0)
		synctest.Wait() // no poll is under way
		r.down.Store(true)
		r.accept(v)
		for range 4 {
			if b, _ := s.next(); b.comment == "" {
				r.Fatalf("got %+v while the database was down", b)
			}
		}
		r.down.Store(false)
		s.want(video.Processing, 0)
	})
}

func TestStreamsEndWithTheService(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		s := r.subscribe(v.ID)
		s.want(video.PendingUpload, 0)
		began := time.Now()
		r.stop()
		s.wantEnd()
		if waited := time.Since(began); waited > 0 {
			r.Errorf("the stream ended after %s, want at once", waited)
		}
		late := r.subscribe(v.ID) // over an existing connection
		late.want(video.PendingUpload, 0)
		late.wantEnd()
	})
}

// A client that has not read for some time gets the latest state. There is no buffer
// between it and the server.
func TestASlowClientGetsTheLatestState(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		s := r.subscribe(v.ID)
		s.want(video.PendingUpload, 0)
		r.accept(v)
		for n := range 20 {
			time.Sleep(2 * pollInterval)
			r.progress(v, 0, float64(n+1)/20)
		}
		time.Sleep(2 * pollInterval)
		s.want(video.Processing, 0) // this one was being written all the time
		s.want(video.Processing, 0.5)
	})
}

func TestAClientThatDoesNotReadIsDisconnected(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		s := r.subscribe(v.ID)
		s.want(video.PendingUpload, 0)
		r.accept(v)
		time.Sleep(time.Minute + 2*pollInterval)
		synctest.Wait()
		if n := r.api.OpenStreams(); n != 0 {
			r.Errorf("%d streams are open, want that of a silent client to be closed", n)
		}
		if _, err := io.ReadAll(s.response.Body); err == nil {
			r.Error("the stream ended without an error")
		}
	})
}

// A poll that began before a client subscribed may be older than what the client knows:
// the client must not get its result.
func TestNobodyGetsAnOlderState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		states := make(chan catalog.State)
		f := newSubscribers(func(context.Context, []video.ID) (map[video.ID]catalog.State, error) {
			return map[video.ID]catalog.State{testID: <-states}, nil
		}, allValid, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go f.run(ctx)
		at := func(s video.Status) (catalog.State, stateUpdate) {
			state := catalog.State{Video: testVideo(true, s)}
			u, err := newUpdate(state)
			if err != nil {
				t.Fatal(err)
			}
			return state, u
		}
		older, known := at(video.PendingUpload)
		newer, knownLater := at(video.Processing)

		early, err := f.add(limit.Principal{}, "a key", testID, known)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the poll has begun
		late, err := f.add(limit.Principal{}, "a key", testID, knownLater)
		if err != nil {
			t.Fatal(err)
		}
		states <- older
		synctest.Wait()
		if len(early.updates)+len(late.updates) > 0 {
			t.Errorf("the first poll had updates for %d and %d streams, want none", len(early.updates), len(late.updates))
		}
		states <- newer
		synctest.Wait()
		if len(late.updates) > 0 || len(early.updates) == 0 {
			t.Errorf("the second poll had updates for %d and %d streams, want one for the first stream", len(early.updates), len(late.updates))
		}
		cancel()
		close(states) // lets a poll in progress end
	})
}

// allValid says that all keys are valid.
func allValid(_ context.Context, ids []string) (map[string]bool, error) {
	valid := map[string]bool{}
	for _, id := range ids {
		valid[id] = true
	}
	return valid, nil
}
