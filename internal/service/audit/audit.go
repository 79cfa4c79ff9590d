// Package audit keeps who changed what.
//
// An entry is written by the transaction that makes the change: each room says in one line what it does (Tx.Did in package
// store). Who does it is in the context: the API puts the key or the person there, a command its user on the machine; without
// either it is Spool itself, as for a video that has expired. What the log can tell of is listed in package video. The tests of
// the API ask each operation that changes something for its entry.
package audit

import (
	"context"
	"os/user"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// Keep is how long entries are kept.
const Keep = 400 * 24 * time.Hour

// Log is the audit log of a database.
type Log struct {
	store *store.Store
	now   func() time.Time
}

// New returns the audit log of a database.
func New(s *store.Store, now func() time.Time) *Log { return &Log{s, now} }

// Filter says which entries are asked for; what is empty matches all.
type Filter struct {
	Actor  string // an ID
	Action video.Action
}

// Page is a part of the log.
type Page struct {
	Entries []video.AuditEntry
	Next    video.Cursor // where the next page begins; zero: this is the last
}

// List returns at most limit entries of the actor's tenant, newest first, from after on.
func (l *Log) List(ctx context.Context, by auth.Actor, f Filter, after video.Cursor, limit int) (Page, error) {
	if err := by.Require(auth.Admin); err != nil {
		return Page{}, err
	}
	all, err := entriesOf(ctx, l.store.Queries, by.Tenant, f, after, limit+1)
	if err != nil || len(all) <= limit {
		return Page{Entries: all}, err
	}
	last := all[limit-1]
	return Page{Entries: all[:limit], Next: video.Cursor{CreatedAt: last.At, ID: video.ID(last.ID)}}, nil
}

// By returns a context for changes that an actor asks for, whose request came from an address.
func By(ctx context.Context, by auth.Actor, address string) context.Context {
	kind := video.DoerKey
	if by.Person != "" {
		kind = video.DoerPerson
	}
	return store.WithDoer(ctx, video.Doer{Kind: kind, ID: by.ID(), Name: by.Name, Tenant: by.Tenant, Address: address})
}

// ByCommand returns a context for changes that a command on the machine makes.
func ByCommand(ctx context.Context) context.Context {
	id := "unknown"
	if u, err := user.Current(); err == nil {
		id = u.Username
	}
	return store.WithDoer(ctx, video.Doer{Kind: video.DoerSystem, ID: id, Name: "Command line"})
}

// batch is how many old entries a transaction removes.
const batch = 500

// RemoveOld removes entries that are older than Keep, a few in each transaction.
func RemoveOld(ctx context.Context, s *store.Store, now time.Time) error {
	for more := true; more; {
		err := s.InTx(ctx, func(tx *store.Tx) error {
			n, err := removeBefore(ctx, tx, now.Add(-Keep), batch)
			more = n == batch
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
