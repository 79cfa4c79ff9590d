package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

// endsAfter reads heartbeats until the stream ends, and returns how long that took.
func (s *stream) endsAfter() time.Duration {
	s.Helper()
	began := time.Now()
	for b, more := s.next(); more; b, more = s.next() {
		if b.comment == "" {
			s.Fatalf("got %+v, want the end of the stream", b)
		}
	}
	return time.Since(began)
}

// use makes the rig use another key, and returns it.
func (r *streamRig) use(k auth.Key) auth.Key {
	r.Helper()
	secret, created, err := r.services.Keys.Create(r.Context(), k)
	r.must(err)
	r.key = secret
	return created
}

func TestARevokedKeyEndsItsStreams(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		other := r.subscribe(v.ID)
		other.want(video.PendingUpload, 0)
		key := r.use(auth.Key{})
		s := r.subscribe(v.ID)
		s.want(video.PendingUpload, 0)
		time.Sleep(10 * time.Second)
		r.must(r.services.Keys.Revoke(r.Context(), key.ID))
		if took := s.endsAfter(); took > keyCheckInterval+2*pollInterval {
			r.Errorf("the stream of a revoked key ended after %s", took)
		}
		if res := r.open("GET", v.ID, ""); res.StatusCode != http.StatusUnauthorized {
			r.Errorf("reconnecting is answered %s, want 401", res.Status)
		}
		r.accept(v)
		other.want(video.Processing, 0)
	})
}

func TestAnExpiredKeyEndsItsStreams(t *testing.T) {
	bubble(t, func(r *streamRig) {
		v := r.create()
		r.use(auth.Key{ExpiresAt: time.Now().Add(20 * time.Second)})
		s := r.subscribe(v.ID)
		s.want(video.PendingUpload, 0)
		if took := s.endsAfter(); took < 20*time.Second || took > 20*time.Second+keyCheckInterval+2*pollInterval {
			r.Errorf("the stream ended after %s; its key was valid for 20 s", took)
		}
	})
}

func TestKeysAreCheckedTogetherAndNotOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var checks atomic.Int64
		var down atomic.Bool
		s := newSubscribers(func(context.Context, []video.ID) (map[video.ID]catalog.State, error) {
			return nil, errors.New("the videos cannot be loaded") // keys are checked nevertheless
		}, func(_ context.Context, ids []string) (map[string]bool, error) {
			if checks.Add(1); len(ids) != 2 {
				t.Errorf("%d keys are checked, want 2", len(ids))
			}
			if down.Load() {
				return nil, errors.New("the database is down")
			}
			return map[string]bool{"a": true}, nil
		}, slog.New(slog.DiscardHandler))
		valid, invalid := addStreams(t, s, "a"), addStreams(t, s, "b")
		ctx, cancel := context.WithCancel(t.Context())
		down.Store(true)
		go s.run(ctx)
		time.Sleep(10*pollInterval - 1)
		synctest.Wait()
		if n, all := ended(valid)+ended(invalid), checks.Swap(0); all != 10 || n != 0 {
			t.Errorf("%d checks in 10 polls without a database, want 10; %d streams have ended, want none", all, n)
		}
		down.Store(false)
		time.Sleep(4 * keyCheckInterval)
		synctest.Wait()
		if n := checks.Load(); n != 4 || ended(valid) != 0 || ended(invalid) != len(invalid) {
			t.Errorf("%d checks, want 4; %d valid and %d invalid streams have ended", n, ended(valid), ended(invalid))
		}
		cancel()
		synctest.Wait()
	})
}

// addStreams adds ten streams of a key.
func addStreams(t *testing.T, s *subscribers, key string) (subs []*subscriber) {
	t.Helper()
	for range 10 {
		sub, err := s.add(limit.Principal{Tenant: "t"}, key, testID, stateUpdate{})
		if err != nil {
			t.Fatal(err)
		}
		subs = append(subs, sub)
	}
	return subs
}

// ended returns how many of the streams were told to end.
func ended(subs []*subscriber) (n int) {
	for _, sub := range subs {
		select {
		case <-sub.revoked:
			n++
		default:
		}
	}
	return n
}
