// Package share lets people without a key watch a video: each share is the address of a page, which can expire and
// have a password.
//
// The secret in the address gives access. The player of the page gets addresses that are signed for the share
// (playback.SharedURLs) and live up to an hour. Each use of them asks whether the share is still there, so that a
// deletion takes effect within a minute; a page that stays open renews them. A viewer who knows the password gets a
// signed cookie.
package share

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/catalog"
	"github.com/spool-video/spool/internal/video"
)

// Limits of what a share says.
const (
	MaxShares   = 100 // of a video
	MaxLabel    = 200 // characters
	MaxPassword = 200 // characters
)

// ID names a share. It is a UUID in lower case, and no secret.
type ID string

// Share is a page for people without a key.
type Share struct {
	ID        ID
	Video     video.ID
	Tenant    video.Tenant // whose video it is; set when it is read
	Secret    string       // what the address of the page ends with
	Label     string       // for the publisher, who may have several
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	Download  bool      // the page offers the file
	password  string    // its hash; "": none
}

// HasPassword reports whether the page asks for a password.
func (s Share) HasPassword() bool { return s.password != "" }

// Path is the path of the page.
func (s Share) Path() string { return "/share/" + s.Secret }

// Service makes shares and opens them.
type Service struct {
	store   *store.Store
	keys    *auth.SigningKeys
	catalog *catalog.Catalog
	now     func() time.Time
	guard   *guard
}

// New returns the service.
func New(s *store.Store, keys *auth.SigningKeys, c *catalog.Catalog, now func() time.Time) *Service {
	return &Service{store: s, keys: keys, catalog: c, now: now, guard: newGuard(now)}
}

// Draft is a request for a share.
type Draft struct {
	Label     string
	ExpiresAt time.Time // zero: never
	Password  string    // "": none
	Download  bool
}

// Create makes a share. Its maker must be allowed to see the video.
func (s *Service) Create(ctx context.Context, by auth.Actor, id video.ID, d Draft) (Share, error) {
	if err := by.Require(auth.Read); err != nil {
		return Share{}, err
	}
	if _, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id); err != nil {
		return Share{}, err
	}
	now := s.now()
	if !d.ExpiresAt.IsZero() && !d.ExpiresAt.After(now) {
		return Share{}, video.InvalidFields(video.Fault{Field: "expiresAt", Code: "out_of_range", Message: "must be in the future"})
	}
	made, err := uuid.NewV7()
	if err != nil {
		return Share{}, err
	}
	out := Share{
		ID: ID(made.String()), Video: id, Tenant: by.Tenant, Secret: strings.ToLower(rand.Text()), // 130 random bits
		Label: d.Label, CreatedAt: now.UTC().Truncate(time.Millisecond), ExpiresAt: d.ExpiresAt.UTC().Truncate(time.Millisecond), Download: d.Download,
	}
	if d.Password != "" {
		if out.password, err = s.guard.hash(ctx, d.Password); err != nil {
			return Share{}, err
		}
	}
	return out, s.store.InTx(ctx, func(tx *store.Tx) error { return insert(ctx, tx, out) })
}

// insert stores a share. Where a video has too many, those that have expired make room.
func insert(ctx context.Context, tx *store.Tx, s Share) error {
	if err := tx.Lock(ctx, s.Video); err != nil {
		return err
	}
	if v, err := tx.Video(ctx, s.Video); err != nil {
		return err
	} else if !v.DeletedAt.IsZero() {
		return video.VideoNotFound()
	}
	n, err := countRows(ctx, tx, s.Video)
	if err == nil && n >= MaxShares {
		var removed int64
		removed, err = deleteExpired(ctx, tx, s.Video, s.CreatedAt)
		n -= int(removed)
	}
	if err != nil {
		return err
	}
	if n >= MaxShares {
		return &video.Error{Kind: video.Conflict, Code: "limit_reached", Msg: fmt.Sprintf("A video has at most %d shares. Delete one first.", MaxShares)}
	}
	if err := tx.Did(ctx, video.Act{Action: video.ActionShareCreate, Video: s.Video, Target: string(s.ID)}); err != nil {
		return err
	}
	return insertRow(ctx, tx, s)
}

// List returns the shares of a video, the newest first.
func (s *Service) List(ctx context.Context, by auth.Actor, id video.ID) ([]Share, error) {
	if _, err := auth.VisibleVideo(ctx, s.store, by, auth.Read, id); err != nil {
		return nil, err
	}
	return sharesOf(ctx, s.store.Queries, id)
}

// Delete removes a share. Its page is dead at once, and what it handed out within a minute.
func (s *Service) Delete(ctx context.Context, by auth.Actor, id video.ID, share ID) error {
	if _, err := auth.VisibleVideo(ctx, s.store, by, auth.Write, id); err != nil {
		return err
	}
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		n, err := deleteRow(ctx, tx, id, share)
		if err == nil && n == 0 {
			err = notFound()
		}
		if err != nil {
			return err
		}
		return tx.Did(ctx, video.Act{Action: video.ActionShareDelete, Video: id, Target: string(share)})
	})
}

// Find returns the share with a secret, for anybody.
func (s *Service) Find(ctx context.Context, secret string) (Share, error) {
	if len(secret) != len(rand.Text()) {
		return Share{}, notFound()
	}
	found, err := findRow(ctx, s.store.Queries, secret)
	if err == nil && !found.ExpiresAt.IsZero() && !s.now().Before(found.ExpiresAt) {
		err = &video.Error{Kind: video.Gone, Code: "share_expired", Msg: "This link has expired."}
	}
	return found, err
}

// Watch returns the video of a share, with addresses that live up to an hour.
func (s *Service) Watch(ctx context.Context, sh Share, base string) (catalog.PlaybackInfo, error) {
	expires := s.catalog.PageExpiry()
	if !sh.ExpiresAt.IsZero() && sh.ExpiresAt.Before(expires) {
		expires = sh.ExpiresAt
	}
	return s.catalog.Shared(ctx, sh.Video, string(sh.ID), expires, base)
}

func notFound() error {
	return &video.Error{Kind: video.NotFound, Code: "share_not_found", Msg: "There is no such share."}
}
