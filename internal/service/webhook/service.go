package webhook

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/diskspace"
	"github.com/spool-video/spool/internal/backend/outbound"
	"github.com/spool-video/spool/internal/backend/queue"
	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

const (
	// MaxPerTenant is how many webhooks a tenant may have.
	MaxPerTenant = 20
	// MaxDescription is the length of the longest description, in characters.
	MaxDescription = 500
	// maxOpenForTest is how many deliveries to a webhook may be open for it to be tested.
	maxOpenForTest = 100
	// Keep is how long events and the log of their deliveries are kept.
	Keep = 30 * 24 * time.Hour
	// formerSecret is how long a secret that was replaced signs, beside its successor.
	formerSecret = 24 * time.Hour
)

// Webhook is where a tenant wants its events.
type Webhook struct {
	ID             string
	Tenant         video.Tenant
	URL            string
	Pull           bool              // there is no URL: the tenant fetches the events
	Events         []video.EventType // none: all
	Description    string
	Enabled        bool
	DisabledReason string // why it was disabled by itself
	CreatedAt      time.Time
}

// wants reports whether events of a type are for the webhook.
func (w Webhook) wants(kind video.EventType) bool {
	return len(w.Events) == 0 || slices.Contains(w.Events, kind)
}

// unfinishedState is the state of a delivery that is not finished.
func (w Webhook) unfinishedState() State {
	if w.Pull {
		return held
	}
	return Pending
}

// Draft describes a new webhook.
type Draft struct {
	URL         string
	Pull        bool
	Events      []video.EventType
	Description string
}

// Changes are what an update changes; nil: nothing.
type Changes struct {
	URL         *string
	Events      *[]video.EventType
	Description *string
	Enabled     *bool
}

// Service is the webhooks of all tenants.
type Service struct {
	rows
	guard   *outbound.Guard
	client  *outbound.Client
	body    Body
	plan    schedule
	now     func() time.Time
	log     *slog.Logger
	tried   func(Outcome, time.Duration)
	space   func(context.Context) error
	release func() bool
}

// Config is what an operator may choose, and what a process has for it.
type Config struct {
	// RetryFactor shortens the pauses before further tries, for tests; 0: 1.
	RetryFactor float64
	// Timeout is for one try; 0: 15 s.
	Timeout time.Duration
	// Space returns an error while the disk has no space for more than what has to be recorded; nil: the
	// database is on another disk.
	Space func(context.Context) error
	// Release gives up disk space that is held for what gets the service out of a full disk, and reports
	// whether there was any; nil: no space is held.
	Release func() bool
	// Tried is called after each try to deliver an event, with how long it took; -1: that is not known. nil: nothing is.
	Tried func(Outcome, time.Duration)
	// Log gets what goes wrong here; nil: nothing does.
	Log *slog.Logger
}

// New returns the webhooks of a database, whose deliveries are tasks of q. body writes the messages.
func New(s *store.Store, q queue.Queue, g *outbound.Guard, body Body, now func() time.Time, c Config) *Service {
	if c.Timeout == 0 {
		c.Timeout = tryTimeout
	}
	if c.Space == nil {
		c.Space = func(context.Context) error { return nil }
	}
	if c.Tried == nil {
		c.Tried = func(Outcome, time.Duration) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{
		rows: rows{s, recorder{q}}, guard: g, body: body, plan: newSchedule(c.RetryFactor), now: now, log: c.Log,
		tried: c.Tried, space: c.Space, release: c.Release,
		client: outbound.NewClient(g, outbound.Options{Timeout: c.Timeout, MaxBody: maxResponse, IdleConns: 256}),
	}
}

// Create registers a webhook and returns it with its secret, which is told this once.
func (s *Service) Create(ctx context.Context, by auth.Actor, d Draft) (Webhook, string, error) {
	if err := by.Require(auth.Admin); err != nil {
		return Webhook{}, "", err
	}
	faults := slices.Concat(checkTarget(d), checkEvents(d.Events), checkDescription(d.Description))
	if len(faults) > 0 {
		return Webhook{}, "", video.InvalidFields(faults...)
	}
	if err := s.checkURL(ctx, d.URL); err != nil {
		return Webhook{}, "", err
	}
	h := Webhook{ID: newID(), Tenant: by.Tenant, URL: d.URL, Pull: d.Pull, Events: distinct(d.Events),
		Description: d.Description, Enabled: true, CreatedAt: s.now().UTC().Truncate(time.Millisecond)}
	secret := newSecret()
	inserted, err := s.rows.insert(ctx, h, secret, MaxPerTenant)
	if err == nil && !inserted {
		err = &video.Error{Kind: video.Conflict, Code: "too_many_webhooks",
			Msg: fmt.Sprintf("You have %d webhooks, the most that are allowed. Delete one first.", MaxPerTenant)}
	}
	return h, secret, err
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// newSecret has the form that Standard Webhooks give it.
func newSecret() string {
	random := make([]byte, 32)
	rand.Read(random)
	return secretPrefix + base64.StdEncoding.EncodeToString(random)
}

func distinct(events []video.EventType) []video.EventType {
	var all []video.EventType
	for _, e := range events {
		if !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all
}

func checkTarget(d Draft) []video.Fault {
	switch {
	case d.URL == "" && !d.Pull:
		return []video.Fault{{Field: "url", Code: "required", Message: "is required"}}
	case d.URL != "" && d.Pull:
		return []video.Fault{{Field: "url", Code: "not_allowed", Message: "must be absent if pull is true"}}
	}
	return nil
}

func checkEvents(events []video.EventType) []video.Fault {
	var faults []video.Fault
	for i, e := range events {
		if !slices.Contains(video.EventTypes, e) {
			faults = append(faults, video.Fault{Field: fmt.Sprintf("events[%d]", i), Code: "not_allowed", Message: fmt.Sprintf("must be one of %v", video.EventTypes)})
		}
		if i == 100 {
			return []video.Fault{{Field: "events", Code: "out_of_range", Message: "must have at most 100 entries"}}
		}
	}
	return faults
}

func checkDescription(d string) []video.Fault {
	if utf8.RuneCountInString(d) > MaxDescription {
		return []video.Fault{{Field: "description", Code: "out_of_range", Message: fmt.Sprintf("must have at most %d characters", MaxDescription)}}
	}
	if strings.ContainsRune(d, 0) {
		return []video.Fault{{Field: "description", Code: "not_allowed", Message: "must not contain the character NUL, which not every database can store"}}
	}
	return nil
}

// checkURL refuses addresses that could not be reached anyway.
func (s *Service) checkURL(ctx context.Context, address string) error {
	if address == "" {
		return nil
	}
	_, err := s.guard.Check(ctx, address)
	if err == nil {
		return nil
	}
	return &video.Error{Kind: video.Invalid, Code: "address_not_allowed", Msg: err.Error(),
		Faults: []video.Fault{{Field: "url", Code: "address_not_allowed", Message: err.Error()}}}
}

// List returns all webhooks of the actor's tenant, oldest first.
func (s *Service) List(ctx context.Context, by auth.Actor) ([]Webhook, error) {
	if err := by.Require(auth.Admin); err != nil {
		return nil, err
	}
	return webhooksOf(ctx, s.store.Queries, by.Tenant)
}

// Get returns a webhook.
func (s *Service) Get(ctx context.Context, by auth.Actor, id string) (Webhook, error) {
	if err := by.Require(auth.Admin); err != nil {
		return Webhook{}, err
	}
	return findWebhook(ctx, s.store.Queries, by.Tenant, id)
}

// Update changes a webhook. Disabling it fails what was still to be delivered.
func (s *Service) Update(ctx context.Context, by auth.Actor, id string, c Changes) (Webhook, error) {
	h, err := s.Get(ctx, by, id)
	if err != nil {
		return Webhook{}, err
	}
	var faults []video.Fault
	if c.URL != nil {
		faults = checkTarget(Draft{URL: *c.URL, Pull: h.Pull})
	}
	if c.Events != nil {
		faults = append(faults, checkEvents(*c.Events)...)
	}
	if c.Description != nil {
		faults = append(faults, checkDescription(*c.Description)...)
	}
	if len(faults) > 0 {
		return Webhook{}, video.InvalidFields(faults...)
	}
	if c.URL != nil {
		if err := s.checkURL(ctx, *c.URL); err != nil {
			return Webhook{}, err
		}
	}
	return s.rows.update(ctx, by.Tenant, id, c.apply)
}

func (c Changes) apply(h *Webhook) {
	if c.URL != nil {
		h.URL = *c.URL
	}
	if c.Events != nil {
		h.Events = distinct(*c.Events)
	}
	if c.Description != nil {
		h.Description = *c.Description
	}
	if c.Enabled != nil {
		h.Enabled = *c.Enabled
	}
}

// Delete removes a webhook. Requests that are under way still arrive. A task removes its log.
func (s *Service) Delete(ctx context.Context, by auth.Actor, id string) error {
	if err := by.Require(auth.Admin); err != nil {
		return err
	}
	return diskspace.WithRelease(s.release, func() error { return s.rows.remove(ctx, by.Tenant, id) })
}

// RotateSecret gives a webhook another secret and returns it. The former one signs too for a day.
func (s *Service) RotateSecret(ctx context.Context, by auth.Actor, id string) (string, error) {
	if err := by.Require(auth.Admin); err != nil {
		return "", err
	}
	secret, now := newSecret(), s.now()
	return secret, s.rows.rotateSecret(ctx, by.Tenant, id, secret, now, now.Add(formerSecret))
}

// Test sends a test event, whatever events the webhook has asked for.
func (s *Service) Test(ctx context.Context, by auth.Actor, id string) (event string, err error) {
	h, err := s.Get(ctx, by, id)
	if err != nil {
		return "", err
	}
	if !h.Enabled {
		return "", errDisabled
	}
	if err := s.space(ctx); err != nil {
		return "", err
	}
	e := eventRow{ID: newID(), Type: video.EventTest, CreatedAt: s.now(), Snapshot: snapshot{Webhook: id}}
	sent, err := s.rows.sendEvent(ctx, by.Tenant, id, e, maxOpenForTest)
	if err == nil && !sent {
		err = &video.Error{Kind: video.RateLimited, Code: "rate_limited", RetryAfter: time.Minute,
			Msg: fmt.Sprintf("%d events still wait for their delivery to this webhook. A test event would come after them.", maxOpenForTest)}
	}
	return e.ID, err
}

var errDisabled = &video.Error{Kind: video.Conflict, Code: "webhook_disabled", Msg: "The webhook is disabled; enable it first."}
