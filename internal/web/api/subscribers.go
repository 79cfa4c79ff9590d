package api

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/spool-video/spool/internal/limit"
	"github.com/spool-video/spool/internal/panics"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

const (
	// pollInterval is how often videos with subscribers are polled, and so how often a
	// stream can have an event. People cannot read numbers that change faster.
	pollInterval = time.Second
	// pollRest is the pause after a poll, as a multiple of how long it took. A database
	// under load, or one with very many videos in processing, is polled less often.
	pollRest = 4
	// maxSubscribers is how many streams a process serves. Each costs about 60 KB, most
	// of it for the connection, and a little of every poll. Beyond this number another
	// process should serve them.
	maxSubscribers = 4096
	// maxSubscribersEach is how many of them the keys of a tenant may have together, and how many a client
	// that has tokens.
	maxSubscribersEach = 256
)

// stateUpdate is the latest state of a video, ready to be sent.
type stateUpdate struct {
	state []byte // in JSON; nil: the video was deleted
	id    string // of its event
	final bool   // no other update follows
}

func (u stateUpdate) equal(other stateUpdate) bool {
	return u.final == other.final && bytes.Equal(u.state, other.state)
}

// subscriber is one open stream.
type subscriber struct {
	key     string // the ID of the API key that opened it, or ""
	token   string // with which it was opened instead, or ""
	release func() // of its place
	id      video.ID
	last    stateUpdate      // the last one set; only accessed by polls
	updates chan stateUpdate // holds one: an update that a slow client has not taken is replaced
	revoked chan struct{}    // closed when the key is no longer valid
}

// statesByID loads the states of videos. Those that were deleted are missing.
type statesByID func(context.Context, []video.ID) (map[video.ID]catalog.State, error)

// subscribers are the open streams of a process.
//
// The states of all their videos are loaded together, once a second and only while
// there are subscribers, so a thousand streams cost the database one query. Polling
// works the same with one process and with many, and with both databases. LISTEN and
// NOTIFY of PostgreSQL would be half a second faster on average, but SQLite would need
// another solution, and polling would still be needed for changes that were missed
// while a connection was broken.
//
// An update is sent if the JSON of the state differs from the last. So nothing that
// the API shows can be forgotten here.
//
// Measured: a poll of 4,096 waiting videos took 0.15 s of CPU time, of as many in
// processing 0.4 s (PostgreSQL) to 0.8 s (SQLite).
type subscribers struct {
	load    statesByID
	valid   validKeys
	tokens  *auth.Tokens // of the streams that were added with one
	checked time.Time    // when the keys were checked; only accessed by polls
	log     *slog.Logger

	added chan struct{} // holds one
	ended chan struct{} // closed when polling has ended

	places   *limit.Shares[limit.Principal] // of all streams
	byTenant *limit.Shares[video.Tenant]    // of the streams that were opened with a token: of whose videos

	mu      sync.Mutex
	byVideo map[video.ID]map[*subscriber]struct{}
	open    int
}

func newSubscribers(load statesByID, valid validKeys, log *slog.Logger) *subscribers {
	return &subscribers{
		load: load, valid: valid, log: log,
		added: make(chan struct{}, 1), ended: make(chan struct{}), byVideo: map[video.ID]map[*subscriber]struct{}{},
		places:   limit.NewShares[limit.Principal](maxSubscribersEach, semaphore.NewWeighted(maxSubscribers)),
		byTenant: limit.NewShares[video.Tenant](maxTokenSubscribers, nil),
	}
}

// add adds the stream of a principal, opened with this key, whose client knows this state. The caller must
// remove it.
func (s *subscribers) add(by limit.Principal, key string, id video.ID, known stateUpdate) (*subscriber, error) {
	release, err := s.places.TryAcquire(by, 1)
	if err != nil {
		return nil, tooManyStreams(err)
	}
	return s.insert(&subscriber{key: key, id: id, last: known, release: release}), nil
}

// addToken is add for a stream that was opened with a token for a video of this tenant.
func (s *subscribers) addToken(by limit.Principal, token string, of video.Tenant, id video.ID, known stateUpdate) (*subscriber, error) {
	release, err := s.byTenant.TryAcquire(of, 1)
	if err != nil {
		return nil, tooManyStreams(err)
	}
	leave, err := s.places.TryAcquire(by, 1)
	if err != nil {
		release()
		return nil, tooManyStreams(err)
	}
	return s.insert(&subscriber{token: token, id: id, last: known, release: func() { leave(); release() }}), nil
}

// tooManyStreams says why a stream got no place.
func tooManyStreams(err error) error {
	if errors.Is(err, limit.ErrShare) {
		return &video.Error{Kind: video.RateLimited, Code: "rate_limited",
			Msg: "You have too many event streams open. Close some, or read the videos instead.", RetryAfter: 15 * time.Second}
	}
	return &video.Error{Kind: video.Unavailable, Code: "too_many_streams",
		Msg: "The server has too many event streams open. Read the video instead, or try again later.", RetryAfter: 15 * time.Second}
}

// insert adds a stream that has its place.
func (s *subscribers) insert(sub *subscriber) *subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub.updates, sub.revoked = make(chan stateUpdate, 1), make(chan struct{})
	if s.byVideo[sub.id] == nil {
		s.byVideo[sub.id] = map[*subscriber]struct{}{}
	}
	s.byVideo[sub.id][sub] = struct{}{}
	s.open++
	select {
	case s.added <- struct{}{}:
	default:
	}
	return sub
}

func (s *subscribers) remove(sub *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byVideo[sub.id], sub)
	if len(s.byVideo[sub.id]) == 0 {
		delete(s.byVideo, sub.id)
	}
	s.open--
	sub.release()
}

// count returns how many streams are open.
func (s *subscribers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// snapshot returns the streams that are open now, by video.
func (s *subscribers) snapshot() map[video.ID][]*subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := make(map[video.ID][]*subscriber, len(s.byVideo))
	for id, subs := range s.byVideo {
		for sub := range subs {
			now[id] = append(now[id], sub)
		}
	}
	return now
}

// run polls until ctx ends. Then all streams end.
func (s *subscribers) run(ctx context.Context) {
	defer close(s.ended)
	for {
		select {
		case <-s.added:
		case <-ctx.Done():
			return
		}
		for now := s.snapshot(); len(now) > 0; now = s.snapshot() {
			began := time.Now()
			panics.Log(ctx, s.log, "polling the videos of event streams panicked", func() {
				s.checkKeys(ctx, now)
				s.poll(ctx, now)
			})
			select {
			case <-time.After(max(pollInterval, pollRest*time.Since(began))):
			case <-ctx.Done():
				return
			}
		}
	}
}

// poll loads the states once and passes them to byVideo, the subscribers from before the
// poll. A client that subscribes during the poll may already know a newer state and must
// not get an older one afterwards. A failed poll is made up for by the next.
func (s *subscribers) poll(ctx context.Context, byVideo map[video.ID][]*subscriber) {
	ids := make([]video.ID, 0, len(byVideo))
	for id := range byVideo {
		ids = append(ids, id)
	}
	states, err := s.load(ctx, ids)
	if err != nil {
		s.log.DebugContext(ctx, "could not poll the videos of event streams", "videos", len(ids), "err", err)
		return
	}
	for id, subs := range byVideo {
		u := stateUpdate{final: true} // deleted
		if state, exists := states[id]; exists {
			if u, err = newUpdate(state); err != nil {
				s.log.DebugContext(ctx, "could not encode the state of a video", "video", id, "err", err)
				continue
			}
		}
		for _, sub := range subs {
			sub.setUpdate(u)
		}
	}
}

// setUpdate sets the next update of the stream. It replaces an update that was not sent yet. Only
// one poll at a time calls it, so the channel has space.
func (s *subscriber) setUpdate(u stateUpdate) {
	if s.last.equal(u) {
		return
	}
	s.last = u
	select {
	case <-s.updates:
	default:
	}
	s.updates <- u
}

// newUpdate encodes a state exactly as the operation that returns one does.
//
// Other codecs are made after the final event, and no event tells of them. So they do not count for its
// id: a client that has it would be told to go on, and EventSource would reconnect for hours.
func newUpdate(s catalog.State) (stateUpdate, error) {
	view := viewState(s)
	state, err := encodeState(view)
	u := stateUpdate{state: state, id: eventID(state), final: s.Settled}
	if err != nil || !u.final {
		return u, err
	}
	for i := range view.Resolutions {
		view.Resolutions[i].value.Variants = nil
	}
	state, err = encodeState(view)
	u.id = eventID(state)
	return u, err
}

func encodeState(view videoStateView) ([]byte, error) {
	state, err := encode(view)
	return bytes.TrimSpace(state), err
}
