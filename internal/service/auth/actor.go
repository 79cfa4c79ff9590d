package auth

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/video"
)

// Scope is something a key may do.
type Scope string

const (
	Read   Scope = "read"
	Write  Scope = "write"
	Delete Scope = "delete"
	Admin  Scope = "admin" // webhooks and keys; in the operator's tenant, the whole service
)

// Scopes lists all of them.
var Scopes = []Scope{Read, Write, Delete, Admin}

// Actor is who makes a request.
type Actor struct {
	KeyID   string // "": a person is signed in
	Person  string // what a person who is signed in is called by
	Name    string // of the key or the person
	Session string // the session with which the request was made; "": it has the key itself
	Tenant  video.Tenant
	Scopes  []Scope
	Until   time.Time // the key ends then; zero: never
	// Video is the only video that the holder of a token may access, whatever its tenant.
	Video video.ID
}

// ID is what the actor is called by: the ID of the key, or what the person is called by.
func (a Actor) ID() string { return cmp.Or(a.KeyID, a.Person) }

// owns reports whether a video is one that the actor may access.
func (a Actor) owns(v video.Video) bool {
	if a.Video != "" {
		return a.Video == v.ID
	}
	return a.Tenant == v.Tenant
}

// Require returns an error unless the actor has all the scopes.
func (a Actor) Require(scopes ...Scope) error {
	for _, s := range scopes {
		if !slices.Contains(a.Scopes, s) {
			return &video.Error{Kind: video.Forbidden, Code: "insufficient_scope", Msg: fmt.Sprintf("%s the scope %q.", a.lacks(), s)}
		}
	}
	return nil
}

func (a Actor) lacks() string {
	if a.Person != "" {
		return "Your account lacks"
	}
	return "This API key lacks"
}

// RequireOperator returns an error unless the key may administer the whole service, so that it has the scope
// admin and belongs to the operator's own tenant.
func (a Actor) RequireOperator() error {
	if err := a.Require(Admin); err != nil {
		return err
	}
	if a.Tenant != video.DefaultTenant {
		return &video.Error{Kind: video.Forbidden, Code: "operator_only",
			Msg: fmt.Sprintf("Only keys of the operator's own tenant, %q, may see the whole service; GET /api/usage says what your tenant uses.", video.DefaultTenant)}
	}
	return nil
}

// OwnVideo returns a video of the actor's tenant for an operation of scope s, even one that is
// marked deleted.
func OwnVideo(ctx context.Context, db *store.Store, by Actor, s Scope, id video.ID) (video.Video, error) {
	if err := by.Require(s); err != nil {
		return video.Video{}, err
	}
	v, err := db.Video(ctx, id)
	if err != nil {
		return video.Video{}, err
	}
	if !by.owns(v) || v.Replaces != "" { // a file on its way to another video is found under the ID of that one
		return video.Video{}, video.VideoNotFound()
	}
	return v, nil
}

// VisibleVideo is OwnVideo for a video that is not marked deleted.
func VisibleVideo(ctx context.Context, db *store.Store, by Actor, s Scope, id video.ID) (video.Video, error) {
	v, err := OwnVideo(ctx, db, by, s, id)
	if err == nil && !v.DeletedAt.IsZero() {
		return video.Video{}, video.VideoNotFound()
	}
	return v, err
}

// VideoOfResolution returns the visible video that a resolution belongs to. If the actor cannot see it,
// the error says that the resolution was not found.
func VideoOfResolution(ctx context.Context, db *store.Store, by Actor, s Scope, id video.ResolutionID) (video.Video, error) {
	if err := by.Require(s); err != nil {
		return video.Video{}, err
	}
	vid, err := db.VideoOf(ctx, id)
	if err != nil {
		return video.Video{}, err
	}
	v, err := VisibleVideo(ctx, db, by, s, vid)
	if video.KindOf(err) == video.NotFound {
		return video.Video{}, video.ResolutionNotFound()
	}
	return v, err
}
