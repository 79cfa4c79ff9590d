package api

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/spool-video/spool/internal/service/app"
	"github.com/spool-video/spool/internal/video"
)

const (
	// lookEvery is how often videos that somebody follows are looked at, and so
	// how often a stream can have news. It is how fast people can read a number.
	lookEvery = time.Second
	// lookRest is how many times as long as a look took is rested after it. A
	// database that has its hands full, or very many videos at work, are looked at
	// less often.
	lookRest = 4
	// maxFollowers is how many streams a process serves. Each costs some 60 KB,
	// most of it the connection's, and a little of every look; beyond this many
	// another process serves them better.
	maxFollowers = 4096
)

// news is the newest state of a video, ready to be sent.
type news struct {
	state   []byte // in JSON; nil: the video is deleted
	settled bool   // nothing comes after it
}

// same reports whether a client that knows n learns nothing from other.
func (n news) same(other news) bool {
	return n.settled == other.settled && bytes.Equal(n.state, other.state)
}

// follower is one open stream.
type follower struct {
	id   video.ID
	told news      // what it was told last; only the looks touch it
	news chan news // holds one: what a slow client has not taken is replaced
}

// followers are the open streams of a process. The database is asked for all of
// them together, once a second, and only while there are any: what a thousand
// streams cost it is one question.
type followers struct {
	look func(context.Context, []video.ID) (map[video.ID]app.State, error)
	log  *slog.Logger

	arrived chan struct{} // holds one
	ended   chan struct{} // closed when nobody looks any more

	mu   sync.Mutex
	all  map[video.ID]map[*follower]struct{}
	open int
}

func newFollowers(look func(context.Context, []video.ID) (map[video.ID]app.State, error), log *slog.Logger) *followers {
	return &followers{
		look: look, log: log,
		arrived: make(chan struct{}, 1), ended: make(chan struct{}), all: map[video.ID]map[*follower]struct{}{},
	}
}

// join adds a stream whose client knows this much already. It has to leave.
func (f *followers) join(id video.ID, told news) (*follower, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open >= maxFollowers {
		return nil, &video.Error{Kind: video.Unavailable, Code: "too_many_streams",
			Msg: "The server follows as many videos as it can. Read the state of the video, or try again later.", RetryAfter: 15 * time.Second}
	}
	one := &follower{id: id, told: told, news: make(chan news, 1)}
	if f.all[id] == nil {
		f.all[id] = map[*follower]struct{}{}
	}
	f.all[id][one] = struct{}{}
	f.open++
	select {
	case f.arrived <- struct{}{}:
	default:
	}
	return one, nil
}

func (f *followers) leave(one *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all[one.id], one)
	if len(f.all[one.id]) == 0 {
		delete(f.all, one.id)
	}
	f.open--
}

// count returns how many streams are open.
func (f *followers) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

// present returns the streams that are open now, by video.
func (f *followers) present() map[video.ID][]*follower {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := make(map[video.ID][]*follower, len(f.all))
	for id, those := range f.all {
		for one := range those {
			now[id] = append(now[id], one)
		}
	}
	return now
}

// run looks at what is followed until ctx ends, and then has all streams end.
func (f *followers) run(ctx context.Context) {
	defer close(f.ended)
	for {
		select {
		case <-f.arrived:
		case <-ctx.Done():
			return
		}
		for now := f.present(); len(now) > 0; now = f.present() {
			began := time.Now()
			f.tell(ctx, now)
			select {
			case <-time.After(max(lookEvery, lookRest*time.Since(began))):
			case <-ctx.Done():
				return
			}
		}
	}
}

// tell looks once and tells those who were there before. One who has come
// meanwhile may have read a newer state than this look, and must not be told an
// older one after it. A look that fails is made up for by the next.
func (f *followers) tell(ctx context.Context, present map[video.ID][]*follower) {
	ids := make([]video.ID, 0, len(present))
	for id := range present {
		ids = append(ids, id)
	}
	states, err := f.look(ctx, ids)
	if err != nil {
		f.log.DebugContext(ctx, "could not look at the videos that are followed", "videos", len(ids), "err", err)
		return
	}
	for id, those := range present {
		n := news{settled: true} // deleted
		if s, there := states[id]; there {
			if n, err = newsOf(s); err != nil {
				f.log.DebugContext(ctx, "could not write the state of a video", "video", id, "err", err)
				continue
			}
		}
		for _, one := range those {
			one.tell(n)
		}
	}
}

// tell leaves the news for the stream, in place of what it has not taken yet.
// Only one look at a time calls it, so there is room afterwards.
func (o *follower) tell(n news) {
	if o.told.same(n) {
		return
	}
	o.told = n
	select {
	case <-o.news:
	default:
	}
	o.news <- n
}

// newsOf writes a state exactly as the operation that reads one does.
func newsOf(s app.State) (news, error) {
	var b bytes.Buffer
	err := huma.DefaultJSONFormat.Marshal(&b, viewState(s))
	return news{state: bytes.TrimSpace(b.Bytes()), settled: s.Settled}, err
}
