// Package audience counts what is watched: which video, for how long, on what, and whether it stalled.
//
// Players tell it: ours with reports (Play), others with CMCD (Request, Events). A report is added to sums in memory. Every
// few seconds the sums are written, a row for each video and hour and one for each video and day, and the same for the
// tenant. Each process that answers requests does so; what they write is added up. What was not written is lost with the
// process.
//
// Nothing that is stored leads to a person. Viewers of a day are told apart by a hash of address and user agent with a salt
// of that day; hashes and salt are removed when the day is over. Sessions are in memory only.
//
// A report needs no key, so nothing that it says is believed: a session cannot watch faster than twice the time
// since it began, and an address counts as at most maxViewers people. What is kept in memory is bounded.
package audience

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/playback"
	"github.com/spool-video/spool/internal/video"
)

// Config is what an operator may choose.
type Config struct {
	On   bool // plays are counted; bytes are counted in any case
	Days int  // how long sums are kept
	// Geo is the path of a MaxMind database with the countries of addresses; "": countries are not counted.
	Geo string
	// Popular are the codecs that a video gets when it was watched for as long as PopularAfter within a week.
	Popular      []video.Codec
	PopularAfter time.Duration
	// Observe is told what is counted, for metrics; nil: nothing is.
	Observe func(Observation)
}

// Observation is what one report added.
type Observation struct {
	View, Failed bool
	Watched      time.Duration
	Startup      time.Duration // 0: it does not say
	Stalls       int
	Stalled      time.Duration
}

// Service counts, and tells what was counted.
type Service struct {
	config Config
	store  *store.Store
	player *playback.Player
	tokens *auth.Tokens
	now    func() time.Time
	log    *slog.Logger
	places *places
	videos *cache.Cache[video.ID, known]
	full   chan struct{} // much waits to be written

	flushing sync.Mutex // one at a time

	mu       sync.Mutex
	seed     maphash.Seed
	sessions *cache.Cache[uint64, *session]
	crowds   *cache.Cache[crowdKey, *crowd]
	pending  *batch
}

const (
	// maxSessions and maxCrowds are how many sessions, and how many addresses with a video, are remembered. The ones that
	// were quiet longest are forgotten first.
	maxSessions, maxCrowds = 50_000, 50_000
	// maxKnown is how many videos are remembered, and knownAge for how long.
	maxKnown = 10_000
	knownAge = 10 * time.Second
)

// Parts are what the service stands on.
type Parts struct {
	Store  *store.Store
	Player *playback.Player
	Tokens *auth.Tokens
	Now    func() time.Time
	Log    *slog.Logger
}

// New returns the service. It fails if the file with countries cannot be read.
func New(c Config, p Parts) (*Service, error) {
	places, err := openPlaces(c.Geo)
	if err != nil {
		return nil, err
	}
	if c.Observe == nil {
		c.Observe = func(Observation) {}
	}
	return &Service{
		config: c, store: p.Store, player: p.Player, tokens: p.Tokens, now: p.Now, log: p.Log, places: places,
		videos: cache.New[video.ID, known](maxKnown), full: make(chan struct{}, 1), seed: maphash.MakeSeed(),
		sessions: cache.New[uint64, *session](maxSessions), crowds: cache.New[crowdKey, *crowd](maxCrowds), pending: newBatch(),
	}, nil
}

// Counts reports whether what is watched is counted.
func (s *Service) Counts() bool { return s.config.On }

// known is what the database says of a video, as far as counting needs it.
type known struct {
	public   bool
	duration time.Duration
	readAt   time.Time
}

// lookup returns what is known of a video. It may be knownAge old.
func (s *Service) lookup(ctx context.Context, id video.ID) (known, error) {
	old := func(k known) bool { return s.now().Sub(k.readAt).Abs() >= knownAge }
	return s.videos.DoUnless(ctx, id, old, func() (known, int64, error) {
		k, err := readKnown(ctx, s.store.Queries, id)
		k.readAt = s.now()
		return k, 1, err
	})
}

// open returns a video that the sender of a report may watch: a public one, or one for which it has a token, which is the
// signed part of hlsUrl, or a token for the video.
func (s *Service) open(ctx context.Context, id video.ID, token string) (known, error) {
	k, err := s.lookup(ctx, id)
	if err != nil || k.public {
		return k, err
	}
	if token == "" {
		return k, video.VideoNotFound() // that a private video exists is secret
	}
	if err := s.player.Opens(ctx, playback.Access{Video: id, Token: token}); err != nil {
		if _, ofState := s.tokens.Authenticate(ctx, id, token); ofState != nil {
			return k, err
		}
	}
	return k, nil
}

// Served counts bytes of a video that were sent.
func (s *Service) Served(id video.ID, bytes int64) {
	if bytes <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if to := s.slotOf(id, s.now()); to != nil {
		to.Bytes += bytes
	}
}
