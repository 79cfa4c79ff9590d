// Package brand keeps how a tenant looks to the people who watch its videos: a name, a site, a color, a logo and an icon, which
// the pages with its videos have instead of Spool's.
//
// The operator sets it, with spool tenants brand. The pictures are small and are kept in the database, under their hash.
package brand

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/cache"
	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

const (
	// MaxPicture is how many bytes a logo or an icon may have.
	MaxPicture = 256 << 10
	maxName    = 100
	maxURL     = 500
	// freshFor is how long a change may take to be seen everywhere.
	freshFor = 10 * time.Second
	// cached is how many bytes of brands and pictures are kept in memory.
	cached = 8 << 20
)

// Brand is how a tenant looks. What is empty is as usual.
type Brand struct {
	Name  string // of the site or company
	URL   string // where the logo leads
	Color string // such as #0a7d4f
	Logo  string // the name of a picture, with which Picture finds it
	Icon  string // the same
}

// IsUsual reports whether nothing is set.
func (b Brand) IsUsual() bool { return b == Brand{} }

// Service is the brands of a database.
type Service struct {
	store    *store.Store
	now      func() time.Time
	brands   *cache.Cache[video.Tenant, dated]
	pictures *cache.Cache[string, Picture]
}

// dated is a brand as it was read.
type dated struct {
	Brand
	at time.Time
}

// New returns the brands of a database.
func New(s *store.Store, now func() time.Time) *Service {
	return &Service{s, now, cache.New[video.Tenant, dated](cached / 2), cache.New[string, Picture](cached / 2)}
}

// Of returns the brand of a tenant as it is, or was a moment ago. Every view of a page asks.
func (s *Service) Of(ctx context.Context, tenant video.Tenant) (Brand, error) {
	old := func(d dated) bool { return s.now().Sub(d.at) >= freshFor }
	d, err := s.brands.DoUnless(ctx, tenant, old, func() (dated, int64, error) {
		b, err := read(ctx, s.store.Queries, tenant)
		return dated{b, s.now()}, int64(len(tenant) + maxName + maxURL), err
	})
	return d.Brand, err
}

// Picture is a logo or an icon.
type Picture struct {
	Type string // its media type
	Data []byte
}

// Picture returns a picture by its name, which never stands for another one.
func (s *Service) Picture(ctx context.Context, name string) (Picture, error) {
	return s.pictures.Do(ctx, name, func() (Picture, int64, error) {
		data, err := readPicture(ctx, s.store.Queries, name)
		return Picture{typeOf(name), data}, int64(len(data)), err
	})
}

// Change is what is to be changed; nil stays.
type Change struct {
	Name, URL, Color *string
	Logo, Icon       *[]byte // an empty one is taken away
}

// IsEmpty reports whether nothing is to be changed.
func (c Change) IsEmpty() bool { return c == Change{} }

// Set changes the brand of a tenant and returns it.
func (s *Service) Set(ctx context.Context, tenant video.Tenant, c Change) (b Brand, err error) {
	if strings.TrimSpace(string(tenant)) == "" || len(tenant) > auth.MaxTenant {
		return b, video.InvalidFields(video.Fault{Field: "tenant", Code: "out_of_range", Message: "must have 1 to 100 characters"})
	}
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		if err := tx.LockTenant(ctx, tenant); err != nil {
			return err
		}
		before, err := read(ctx, tx.Queries, tenant)
		if err != nil {
			return err
		}
		pictures := map[string][]byte{}
		if b, err = c.apply(before, pictures); err != nil {
			return err
		}
		// Pages that were sent a moment ago name the pictures before, so these stay until the next change.
		if err := write(ctx, tx, tenant, b, pictures, before); err != nil {
			return err
		}
		return tx.Did(ctx, video.Act{Action: video.ActionTenantBrand, Tenant: tenant})
	})
	s.brands.Delete(tenant)
	return b, err
}

var color = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// apply returns a brand as it is after a change, and adds its new pictures to pictures.
func (c Change) apply(b Brand, pictures map[string][]byte) (Brand, error) {
	var faults []video.Fault
	fault := func(field, message string) {
		faults = append(faults, video.Fault{Field: field, Code: "invalid", Message: message})
	}
	if c.Name != nil {
		b.Name = strings.TrimSpace(*c.Name)
		if utf8.RuneCountInString(b.Name) > maxName || strings.ContainsFunc(b.Name, func(r rune) bool { return r < ' ' }) || !utf8.ValidString(b.Name) {
			fault("name", fmt.Sprintf("must have at most %d characters, in one line", maxName))
		}
	}
	if c.URL != nil {
		b.URL = *c.URL
		if u, err := url.Parse(b.URL); b.URL != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || len(b.URL) > maxURL) {
			fault("url", "must be a URL such as https://example.com")
		}
	}
	if c.Color != nil {
		b.Color = strings.ToLower(*c.Color)
		if b.Color != "" && !strings.HasPrefix(b.Color, "#") {
			b.Color = "#" + b.Color
		}
		if b.Color != "" && !color.MatchString(b.Color) {
			fault("color", "must be a color such as #0a7d4f")
		}
	}
	for field, to := range map[string]struct {
		change *[]byte
		name   *string
	}{"logo": {c.Logo, &b.Logo}, "icon": {c.Icon, &b.Icon}} {
		if to.change == nil {
			continue
		}
		name, why := nameOf(*to.change)
		if why != "" {
			fault(field, why)
			continue
		}
		*to.name = name
		if name != "" {
			pictures[name] = *to.change
		}
	}
	if faults != nil {
		return b, video.InvalidFields(faults...)
	}
	return b, nil
}

// nameOf returns the name under which a picture is kept; "" for an empty one. why says what is wrong with it.
func nameOf(picture []byte) (name, why string) {
	if len(picture) == 0 {
		return "", ""
	}
	if len(picture) > MaxPicture {
		return "", fmt.Sprintf("must have at most %d KiB", MaxPicture>>10)
	}
	kind := kindOf(picture)
	if kind == "" {
		return "", "must be an SVG, a PNG, or a WebP"
	}
	hash := sha256.Sum256(picture)
	return hex.EncodeToString(hash[:16]) + "." + kind, ""
}

var svg = regexp.MustCompile(`(?s)^(\xef\xbb\xbf)?\s*(<\?xml.*?\?>\s*)?(<!--.*?-->\s*)*(<!DOCTYPE svg[^>\[]*>\s*)?<svg[\s>]`)

// kindOf returns the kind of a picture by its content; "": another one.
func kindOf(picture []byte) string {
	switch {
	case strings.HasPrefix(string(picture), "\x89PNG\r\n\x1a\n"):
		return "png"
	case len(picture) > 12 && string(picture[:4]) == "RIFF" && string(picture[8:12]) == "WEBP":
		return "webp"
	case svg.Match(picture) && utf8.Valid(picture):
		return "svg"
	}
	return ""
}

// typeOf returns the media type of a picture by its name.
func typeOf(name string) string {
	_, kind, _ := strings.Cut(name, ".")
	if kind == "svg" {
		return "image/svg+xml"
	}
	return "image/" + kind
}

// IconType returns the media type of the icon.
func (b Brand) IconType() string { return typeOf(b.Icon) }
