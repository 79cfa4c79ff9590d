package catalog

import (
	"context"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/uploads"
)

// Catalog is the videos of all tenants.
type Catalog struct {
	store   *store.Store
	keys    *auth.SigningKeys
	uploads *uploads.Service
	imports *imports.Service
	passes  *pipeline.Passes
	now     func() time.Time
	space   func(context.Context) error
	cdn     string // what the addresses of files start with; "": this server
	upscale bool
}

// New returns a Catalog. Nothing is created while space returns an error. With upscale, small sources
// are scaled up unless a client says otherwise. Without imports, no files are fetched.
func New(s *store.Store, keys *auth.SigningKeys, u *uploads.Service, i *imports.Service, p *pipeline.Passes, now func() time.Time, space func(context.Context) error, upscale bool) *Catalog {
	return &Catalog{store: s, keys: keys, uploads: u, imports: i, passes: p, now: now, space: space, upscale: upscale}
}
