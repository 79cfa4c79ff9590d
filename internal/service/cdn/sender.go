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

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/blob"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/panics"
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

// Observer is told of each try.
type Observer interface{ CDNPurged(Outcome) }

const (
	tryTimeout = 15 * time.Second
	// leaseTime is longer than the tries of all purges that are claimed at once, one after the other, can take.
	leaseTime     = claimedAtOnce*tryTimeout + time.Minute
	claimedAtOnce = 10
	pollEvery     = 2 * time.Second
	troublePause  = 5 * time.Second
	giveUpAfter   = 3 * 24 * time.Hour
	maxRetryPause = time.Hour
	// A CDN that is told to forget a file too early would fetch it again. So a purge waits until the
	// storage has no such file, asks every presentPause, and goes ahead after maxPresent: a file of
	// the same name may have been made again.
	presentPause = time.Second
	maxPresent   = 10 * time.Minute
)

// Sender tells the CDN what it must forget.
type Sender struct {
	config Config
	rows   store.Purges
	blobs  blob.Store
	wake   <-chan struct{}
	now    func() time.Time
	log    *slog.Logger
	count  Observer
	client *http.Client
}

// NewSender returns a sender of what r records.
func NewSender(c Config, s *store.Store, blobs blob.Store, r *Recorder, log *slog.Logger, count Observer) *Sender {
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	return &Sender{config: c, rows: store.PurgesOf(s), blobs: blobs, wake: r.wake, now: r.now, log: log, count: count,
		// The operator has named the address. A redirect must not get the token.
		client: &http.Client{Timeout: tryTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Run sends until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	if err := s.rows.ReleaseLeases(ctx, s.now()); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "could not release the leases of purges; they end by themselves", "err", err)
	}
	for ctx.Err() == nil {
		pause := troublePause
		panics.Log(ctx, s.log, "purging the CDN panicked", func() { pause = s.sendDue(ctx) })
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.wake:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	s.client.CloseIdleConnections()
}

// sendDue sends what is due, and returns how long to pause.
func (s *Sender) sendDue(ctx context.Context) time.Duration {
	now := s.now()
	all, err := s.rows.Claim(ctx, claimedAtOnce, uuid.NewString(), now, now.Add(leaseTime))
	if err != nil {
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "could not look for what the CDN must forget", "err", err)
		}
		return troublePause
	}
	for _, p := range all {
		if err := s.handle(ctx, p); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "could not record a purge of the CDN; it is sent again", "video", p.Video, "err", err)
		}
	}
	if len(all) == claimedAtOnce {
		return 0
	}
	if len(all) > 0 {
		return presentPause // one of them may be waiting for its files to go
	}
	return pollEvery
}

// handle sends one purge and records what became of it.
func (s *Sender) handle(ctx context.Context, p store.Purge) error {
	age := s.now().Sub(p.CreatedAt)
	if there, err := s.anyLeft(ctx, p); (err != nil || there) && age < maxPresent {
		return s.rows.Again(ctx, p, s.now().Add(presentPause), false)
	}
	err := s.send(ctx, p)
	if err != nil && ctx.Err() != nil { // a stop; the CDN may have it already, and gets it again
		return s.rows.Again(context.WithoutCancel(ctx), p, s.now(), false)
	}
	switch {
	case err == nil:
		return s.finishPurge(ctx, p, OutcomePurged)
	case age > giveUpAfter:
		s.log.ErrorContext(ctx, "gave up telling the CDN what to forget; purge it by hand", "video", p.Video, "reason", p.Reason, "tries", p.Tries, "err", err)
		return s.finishPurge(ctx, p, OutcomeFailed)
	}
	s.count.CDNPurged(OutcomeRetry)
	pause := retryPause(p.Tries)
	s.log.WarnContext(ctx, "the CDN could not be told what to forget; it is told again", "video", p.Video, "reason", p.Reason, "again", pause.String(), "err", err)
	return s.rows.Again(ctx, p, s.now().Add(pause), true)
}

// finishPurge removes a purge that needs no other try.
func (s *Sender) finishPurge(ctx context.Context, p store.Purge, o Outcome) error {
	err := s.rows.Done(ctx, p)
	s.count.CDNPurged(o)
	return err
}

// retryPause is the pause after a number of tries: 2 s, 8 s, 32 s, and so on up to an hour.
func retryPause(tries int) time.Duration {
	return min(maxRetryPause, 2*time.Second<<(2*min(max(tries-1, 0), 10)))
}

// anyLeft reports whether the storage still has a file that is to be forgotten.
func (s *Sender) anyLeft(ctx context.Context, p store.Purge) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	gone := map[string]bool{}
	for _, f := range p.Files {
		gone[objects.Public.Prefix(p.Video)+f] = true
	}
	for info, err := range s.blobs.List(ctx, objects.Public.Prefix(p.Video)) {
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

func (s *Sender) message(p store.Purge) Message {
	prefix := s.config.BaseURL + "/v/" + string(p.Video) + "/"
	m := Message{Reason: Reason(p.Reason), VideoID: string(p.Video), Tags: []string{string(p.Video)}, Prefixes: []string{prefix}}
	for _, f := range p.Files {
		m.URLs = append(m.URLs, prefix+f)
	}
	return m
}

// send sends a request. Anything but a success is an error.
func (s *Sender) send(ctx context.Context, p store.Purge) error {
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
