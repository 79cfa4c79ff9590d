package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spool-video/spool/internal/service/brand"
	"github.com/spool-video/spool/internal/video"
)

// SetBrand changes how a tenant looks.
func (r tenantRooms) SetBrand(ctx context.Context, name video.Tenant, change brand.Change) (brand.Brand, error) {
	return r.brands.Set(ctx, name, change)
}

// BrandOf returns how a tenant looks.
func (r tenantRooms) BrandOf(ctx context.Context, name video.Tenant) (brand.Brand, error) {
	return r.brands.Of(ctx, name)
}

type brandTenant struct {
	Tenant string  `arg:"" name:"name" help:"The tenant."`
	Name   *string `placeholder:"TEXT" help:"Its name, as viewers know it."`
	URL    *string `name:"url" placeholder:"URL" help:"Its site, where the logo leads."`
	Color  *string `placeholder:"COLOR" help:"The color of what moves and what is selected, such as #0a7d4f. Where it could not be read, a darker or lighter one is used."`
	Logo   *string `placeholder:"FILE" help:"An SVG, PNG or WebP of at most 256 KiB, which is shown 32 pixels high."`
	Icon   *string `placeholder:"FILE" help:"The same for the tab of the browser: a square."`
	JSON   bool    `name:"json" help:"Print JSON."`
}

func (brandTenant) Help() string {
	return `The watch, share and embed pages of the tenant's videos have its name, logo, icon and color instead of
Spool's, and oEmbed names it as the provider. What you leave out stays; an empty value takes it away.
Without a flag, it shows what is set. A change is seen within ten seconds.

    spool tenants brand acme --name=Acme --url=https://acme.example --color=#0a7d4f
    spool tenants brand acme --logo=logo.svg --icon=icon.svg
    spool tenants brand acme --logo= --color=
    spool tenants brand acme
`
}

// Run changes or shows a brand.
func (c *brandTenant) Run(ctx context.Context, p *process, parent *tenantsCommand) error {
	change, err := c.change()
	if err != nil {
		return err
	}
	return p.withTenants(ctx, parent.Location, func(s tenantStore) error {
		if change.IsEmpty() {
			b, err := s.BrandOf(ctx, video.Tenant(c.Tenant))
			if err != nil {
				return fmt.Errorf("read the brand of %s: %w", c.Tenant, err)
			}
			return c.print(p, b)
		}
		b, err := s.SetBrand(ctx, video.Tenant(c.Tenant), change)
		if e, ok := errors.AsType[*video.Error](err); ok && e.Kind == video.Invalid {
			return limitFaults(e)
		}
		if err != nil {
			return fmt.Errorf("set the brand of %s: %w", c.Tenant, err)
		}
		return c.print(p, b)
	})
}

// change reads the flags.
func (c *brandTenant) change() (brand.Change, error) {
	out := brand.Change{Name: c.Name, URL: c.URL, Color: c.Color}
	for _, file := range []struct {
		name *string
		to   **[]byte
	}{{c.Logo, &out.Logo}, {c.Icon, &out.Icon}} {
		if file.name == nil {
			continue
		}
		var text []byte
		if *file.name != "" {
			var err error
			if text, err = readPicture(*file.name); err != nil {
				return out, &configError{[]string{err.Error() + "."}}
			}
		}
		*file.to = &text
	}
	return out, nil
}

// readPicture reads a file, and one byte more than a picture may have.
func readPicture(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, brand.MaxPicture+1))
	if err == nil && len(text) == 0 {
		err = fmt.Errorf("%s is empty", file)
	}
	return text, err
}

func (c *brandTenant) print(p *process, b brand.Brand) error {
	if c.JSON {
		return printJSON(p.stdout, map[string]string{"tenant": c.Tenant, "name": b.Name, "url": b.URL, "color": b.Color, "logo": b.Logo, "icon": b.Icon})
	}
	rows := [][]string{{"tenant", c.Tenant}}
	for _, one := range [][]string{{"name", b.Name}, {"url", b.URL}, {"color", b.Color}, {"logo", b.Logo}, {"icon", b.Icon}} {
		if one[1] == "" {
			one[1] = "as usual"
		}
		rows = append(rows, one)
	}
	return printTable(p.stdout, rows)
}
