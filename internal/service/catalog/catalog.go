package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/video"
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
	codecs  Codecs
}

// Codecs says in which codecs videos are made.
type Codecs struct {
	Default []video.Codec          // unless a client says otherwise
	Refused map[video.Codec]string // that cannot be made, and why: a sentence for people
}

// New returns a Catalog. Nothing is created while space returns an error. With upscale, small sources
// are scaled up unless a client says otherwise. Without imports, no files are fetched.
func New(s *store.Store, keys *auth.SigningKeys, u *uploads.Service, i *imports.Service, p *pipeline.Passes, now func() time.Time, space func(context.Context) error, upscale bool) *Catalog {
	return &Catalog{store: s, keys: keys, uploads: u, imports: i, passes: p, now: now, space: space, upscale: upscale}
}

// SetCodecs says in which codecs videos are made; without it, in H.264 alone. It is called before
// anything is created.
func (c *Catalog) SetCodecs(codecs Codecs) { c.codecs = codecs }

// refusedCodecs returns a fault for each codec that a client asks for and this server cannot make.
func (c *Catalog) refusedCodecs(all []video.Codec) []video.Fault {
	var faults []video.Fault
	for i, codec := range all {
		if why, refused := c.codecs.Refused[codec]; refused {
			faults = append(faults, video.Fault{Field: fmt.Sprintf("codecs[%d]", i), Code: "not_available", Message: why})
		}
	}
	return faults
}
