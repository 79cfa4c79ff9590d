package cdn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/objects"
)

// Config says where the CDN is.
type Config struct {
	BaseURL  string // what the addresses of files start with
	PurgeURL string // where requests are sent
	Token    string // what they carry; "": nothing
}

// Outcome is what became of a try.
type Outcome string

const (
	OutcomePurged Outcome = "purged"
	OutcomeRetry  Outcome = "retry"
	OutcomeFailed Outcome = "failed" // for the last time
)

// Outcomes are all of them.
var Outcomes = []Outcome{OutcomePurged, OutcomeRetry, OutcomeFailed}

const (
	tryTimeout    = 15 * time.Second
	giveUpAfter   = 3 * 24 * time.Hour
	maxRetryPause = time.Hour
	// A CDN that is told to forget a file too early would fetch it again. So a purge waits until the
	// storage has no such file, asks every presentPause, and goes ahead after maxPresent: a file of
	// the same name may have been made again.
	presentPause = time.Second
	maxPresent   = 10 * time.Minute
	// restrictedPause is how long after a video was restricted or replaced a process may not know it, and send files for the CDN to
	// keep: more than what package playback remembers a video for.
	restrictedPause = 5 * time.Second
)

// Sender tells the CDN what it must forget.
type Sender struct {
	config Config
	store  *store.Store
	queue  queue.Queue
	blobs  blob.Store
	now    func() time.Time
	log    *slog.Logger
	tried  func(Outcome)
	client *http.Client
}

// NewSender returns a sender of what r records. tried is called after each try.
func NewSender(c Config, s *store.Store, blobs blob.Store, r *Recorder, log *slog.Logger, tried func(Outcome)) *Sender {
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	return &Sender{config: c, store: s, queue: r.queue, blobs: blobs, now: r.now, log: log, tried: tried,
		// The operator has named the address. A redirect must not get the token.
		client: &http.Client{Timeout: tryTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// errAgain is the error of a try after which the task runs again. The log says why.
var errAgain = errors.New("the CDN is told again")

// Handle sends one purge. It is the handler of the tasks that a Recorder enqueues.
func (s *Sender) Handle(ctx context.Context, t queue.Task) error {
	var p purge
	var found bool
	err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		p, found, err = findPurge(ctx, tx, t.ID)
		return err
	})
	if err != nil || !found {
		return err
	}
	age := s.now().Sub(p.createdAt)
	if s.isEarly(ctx, p, age) {
		return queue.RetryAfter(presentPause, errAgain)
	}
	err = s.send(ctx, p)
	switch {
	case err == nil:
		return s.finish(ctx, p, OutcomePurged)
	case ctx.Err() != nil: // a stop; the CDN may have it already, and gets it again
		return context.Cause(ctx)
	case age > giveUpAfter:
		s.log.ErrorContext(ctx, "gave up telling the CDN what to remove; purge it by hand", "video", p.video, "reason", p.reason, "tries", p.tries+1, "err", err)
		return s.finish(ctx, p, OutcomeFailed)
	}
	s.tried(OutcomeRetry)
	pause := retryPause(p.tries + 1)
	s.log.WarnContext(ctx, "the CDN could not be told what to remove; Spool tries again", "video", p.video, "reason", p.reason, "again", pause.String(), "err", err)
	if err := s.store.InTx(ctx, func(tx *store.Tx) error { return countTry(ctx, tx, p.id) }); err != nil {
		return err
	}
	return queue.RetryAfter(pause, errAgain)
}

// isEarly reports whether the CDN could fetch again what it is told to forget now.
func (s *Sender) isEarly(ctx context.Context, p purge, age time.Duration) bool {
	switch p.reason {
	case PosterChanged: // nothing of it goes
		return false
	case VideoRestricted, FileReplaced:
		return age < restrictedPause
	}
	there, err := s.anyLeft(ctx, p)
	return (err != nil || there) && age < maxPresent
}

// finish removes a purge that needs no other try, together with its task.
func (s *Sender) finish(ctx context.Context, p purge, o Outcome) error {
	ctx = context.WithoutCancel(ctx) // the CDN was told
	err := s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := removePurge(ctx, tx, p.id); err != nil {
			return err
		}
		return s.queue.Complete(ctx, tx)
	})
	if err == nil {
		s.tried(o)
	}
	return err
}

// retryPause is the pause after a number of tries: 2 s, 8 s, 32 s, and so on up to an hour.
func retryPause(tries int) time.Duration {
	return min(maxRetryPause, 2*time.Second<<(2*min(max(tries-1, 0), 10)))
}

// anyLeft reports whether the storage still has a file that is to be forgotten.
func (s *Sender) anyLeft(ctx context.Context, p purge) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	gone := map[string]bool{}
	for _, f := range p.files {
		gone[objects.Public.Prefix(p.folder)+f] = true
	}
	for info, err := range s.blobs.List(ctx, objects.Public.Prefix(p.folder)) {
		if err != nil {
			return false, err
		}
		if gone[info.Key] {
			return true, nil
		}
	}
	return false, nil
}

// Message is the body of a request to the CDN.
type Message struct {
	Reason   Reason   `json:"reason"`
	VideoID  string   `json:"videoId"`
	Tags     []string `json:"tags"`     // as in the headers Cache-Tag and Surrogate-Key
	Prefixes []string `json:"prefixes"` // every address that starts with one of these
	URLs     []string `json:"urls"`     // the addresses themselves, without segments
}

func (s *Sender) message(p purge) Message {
	prefix := s.config.BaseURL + "/v/" + string(p.video) + "/"
	m := Message{Reason: p.reason, VideoID: string(p.video), Tags: []string{string(p.video)}, Prefixes: []string{prefix}}
	for _, f := range p.files {
		m.URLs = append(m.URLs, prefix+f)
	}
	return m
}

// send sends a request. Anything but a success is an error.
func (s *Sender) send(ctx context.Context, p purge) error {
	body, err := json.Marshal(s.message(p))
	if err != nil {
		return fmt.Errorf("write a purge request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.config.PurgeURL, bytes.NewReader(body))
	if err != nil {
		return withoutURL(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Spool-CDN/1")
	if s.config.Token != "" {
		r.Header.Set("Authorization", "Bearer "+s.config.Token)
	}
	res, err := s.client.Do(r)
	if err != nil {
		return withoutURL(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again; the status counts
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("the answer is %s", res.Status)
	}
	return nil
}

// withoutURL returns an error of a request as the log may show it: the address may hold a secret.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
