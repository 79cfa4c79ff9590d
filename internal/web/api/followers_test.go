package api

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

func TestOneLookASecondForAllStreams(t *testing.T) {
	bubble(t, func(r *followRig) {
		time.Sleep(time.Hour)
		if n := r.looks.Load(); n != 0 {
			r.Fatalf("the database was asked %d times for nobody", n)
		}
		var streams []*stream
		for range 20 {
			v := r.create()
			for range 3 {
				streams = append(streams, r.follow(v.ID))
			}
		}
		for _, s := range streams {
			s.want(video.PendingUpload, 0)
		}
		if n := r.api.OpenStreams(); n != 60 {
			r.Errorf("%d streams are open, want 60", n)
		}
		before := r.looks.Load()
		time.Sleep(10 * lookEvery)
		synctest.Wait()
		if n := r.looks.Load() - before; n != 10 {
			r.Errorf("the database was asked %d times in 10 seconds", n)
		}
		for _, s := range streams {
			s.response.Body.Close()
		}
		time.Sleep(lookEvery)
		synctest.Wait()
		before = r.looks.Load()
		time.Sleep(time.Hour)
		if n := r.looks.Load() - before; n != 0 || r.api.OpenStreams() != 0 {
			r.Errorf("after all have gone, %d streams are open and the database was asked %d times", r.api.OpenStreams(), n)
		}
	})
}

func TestAStreamOutlastsTheDatabase(t *testing.T) {
	bubble(t, func(r *followRig) {
		v := r.create()
		s := r.follow(v.ID)
		s.want(video.PendingUpload, 0)
		r.absent.Store(true)
		r.accept(v)
		for range 4 {
			if b, _ := s.next(); b.comment == "" {
				r.Fatalf("told %+v while the database was away", b)
			}
		}
		r.absent.Store(false)
		s.want(video.Processing, 0)
	})
}

func TestStreamsEndWithTheService(t *testing.T) {
	bubble(t, func(r *followRig) {
		v := r.create()
		s := r.follow(v.ID)
		s.want(video.PendingUpload, 0)
		began := time.Now()
		r.stop()
		s.wantEnd()
		if waited := time.Since(began); waited > 0 {
			r.Errorf("the stream ended after %s, want at once", waited)
		}
		late := r.follow(v.ID) // over a connection that was open already
		late.want(video.PendingUpload, 0)
		late.wantEnd()
	})
}

// A client that does not read sees the newest state when it does, and is given up
// when it does not for a minute. Between it and the server there is no buffer.
func TestASlowClientSeesTheNewestState(t *testing.T) {
	bubble(t, func(r *followRig) {
		v := r.create()
		s := r.follow(v.ID)
		s.want(video.PendingUpload, 0)
		r.accept(v)
		for n := range 20 {
			time.Sleep(2 * lookEvery)
			r.progress(v, 0, float64(n+1)/20)
		}
		time.Sleep(2 * lookEvery)
		s.want(video.Processing, 0) // was being written all the time
		s.want(video.Processing, 0.5)
	})
}

func TestAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	bubble(t, func(r *followRig) {
		v := r.create()
		s := r.follow(v.ID)
		s.want(video.PendingUpload, 0)
		r.accept(v)
		time.Sleep(time.Minute + 2*lookEvery)
		synctest.Wait()
		if n := r.api.OpenStreams(); n != 0 {
			r.Errorf("%d streams are open, want that of a silent client to be closed", n)
		}
		if _, err := io.ReadAll(s.response.Body); err == nil {
			r.Error("the stream came to a good end")
		}
	})
}

// A look that began before a client came may be older than what the client has
// read: the client is not told of it.
func TestNobodyIsToldAnOlderState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		states := make(chan app.State)
		f := newFollowers(func(context.Context, []video.ID) (map[video.ID]app.State, error) {
			return map[video.ID]app.State{testID: <-states}, nil
		}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go f.run(ctx)
		at := func(s video.Status) (app.State, news) {
			state := app.State{Video: testVideo(true, s)}
			n, err := newsOf(state)
			if err != nil {
				t.Fatal(err)
			}
			return state, n
		}
		older, said := at(video.PendingUpload)
		newer, saidLater := at(video.Processing)

		early, err := f.join(testID, said)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the look has begun
		late, err := f.join(testID, saidLater)
		if err != nil {
			t.Fatal(err)
		}
		states <- older
		synctest.Wait()
		if len(early.news)+len(late.news) > 0 {
			t.Errorf("the first look had news for %d and %d streams, want none", len(early.news), len(late.news))
		}
		states <- newer
		synctest.Wait()
		if len(late.news) > 0 || len(early.news) == 0 {
			t.Errorf("the second look had news for %d and %d streams, want them for the one who did not know", len(early.news), len(late.news))
		}
		cancel()
		close(states) // lets a look end that has begun
	})
}
