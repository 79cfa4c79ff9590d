package catalog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/service/cdn"
	"github.com/spool-video/spool/internal/service/imports"
	"github.com/spool-video/spool/internal/service/pipeline"
	"github.com/spool-video/spool/internal/service/speech"
	"github.com/spool-video/spool/internal/service/uploads"
	"github.com/spool-video/spool/internal/service/watermarks"
	"github.com/spool-video/spool/internal/video"
)

// Catalog is the videos of all tenants.
type Catalog struct {
	store      *store.Store
	keys       *auth.SigningKeys
	uploads    *uploads.Service
	imports    *imports.Service
	watermarks *watermarks.Service
	passes     *pipeline.Passes
	now        func() time.Time
	space      func(context.Context) error
	purges     *cdn.Recorder
	changed    func(video.ID)
	config     Config
}

// Config is what the operator decides.
type Config struct {
	CDN     string // what the addresses of everything that is played start with; "": this server
	Upscale bool   // small sources are scaled up unless a client says otherwise
	Codecs  Codecs
	HDR     video.HDR // of brighter sources, unless a client says otherwise
	// AcceptAudio: files with sound and no picture become videos, unless a client says otherwise.
	AcceptAudio bool
	Loudness    video.Levelling // of the sound, unless a client says otherwise
	Speech      speech.Config
	// CopySource says whether the picture of a source may be copied, unless a client says otherwise.
	CopySource video.CopySource
	// Resolutions are made of an import whose client names none.
	Resolutions []video.Name
	Profiles    []video.Profile // that clients may choose
}

// Codecs says in which codecs videos are made.
type Codecs struct {
	Default []video.Codec          // beside H.264, unless a client says otherwise
	Refused map[video.Codec]string // that cannot be made, and why: a sentence for people
}

// Parts are what a Catalog works with.
type Parts struct {
	Store      *store.Store
	Keys       *auth.SigningKeys
	Uploads    *uploads.Service
	Imports    *imports.Service // nil: no files are fetched
	Watermarks *watermarks.Service
	Passes     *pipeline.Passes
	Now        func() time.Time
	Space      func(context.Context) error // nothing is created while it returns an error
	Purges     *cdn.Recorder               // nil: there is no CDN
	Changed    func(video.ID)              // is called when it was committed on which sites a video may be played
}

// New returns a Catalog.
func New(c Config, p Parts) *Catalog {
	c.CDN = strings.TrimSuffix(c.CDN, "/")
	return &Catalog{
		store: p.Store, keys: p.Keys, uploads: p.Uploads, imports: p.Imports, watermarks: p.Watermarks,
		passes: p.Passes, now: p.Now, space: p.Space, purges: p.Purges, changed: p.Changed, config: c,
	}
}

// DefaultResolutions returns the resolutions that are made of an import whose client names none.
func (c *Catalog) DefaultResolutions() []video.Name { return c.config.Resolutions }

// Profiles returns the profiles that clients may choose.
func (c *Catalog) Profiles() []video.Profile { return c.config.Profiles }

// checkHDR returns a fault if a client wants to keep the range of its source, and leaves the codecs to a server that
// makes H.264 alone.
func (c *Catalog) checkHDR(d video.Draft) []video.Fault {
	if d.Codecs != nil { // Draft.Check has looked at them
		return nil
	}
	return video.CheckKeepsHDR(d.HDR, video.WithoutH264(c.config.Codecs.Default))
}

// refusedCodecs returns a fault for each codec that a client asks for and this server cannot make.
func (c *Catalog) refusedCodecs(all []video.Codec) []video.Fault {
	var faults []video.Fault
	for i, codec := range all {
		if why, refused := c.config.Codecs.Refused[codec]; refused {
			faults = append(faults, video.Fault{Field: fmt.Sprintf("codecs[%d]", i), Code: "not_available", Message: why})
		}
	}
	return faults
}
