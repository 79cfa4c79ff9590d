package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/spool-video/spool/internal/clientcmd"
	"github.com/spool-video/spool/internal/service/brand"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/service/watermarks"
	"github.com/spool-video/spool/internal/settings"
	"github.com/spool-video/spool/internal/video"
)

// tenantStore is what the tenant commands need of the tenants.
type tenantStore interface {
	List(ctx context.Context) ([]tenants.Tenant, error)
	SetLimits(ctx context.Context, name video.Tenant, change func(*video.Limits)) (tenants.Tenant, error)
	SetUsual(ctx context.Context, name video.Tenant, choice *video.WatermarkChoice) error
	SetBrand(ctx context.Context, name video.Tenant, change brand.Change) (brand.Brand, error)
	BrandOf(ctx context.Context, name video.Tenant) (brand.Brand, error)
}

// tenantRooms are all services of the tenant commands.
type tenantRooms struct {
	*tenants.Service
	marks  *watermarks.Service
	brands *brand.Service
}

// SetUsual sets the watermark of the new videos of a tenant that choose none.
func (r tenantRooms) SetUsual(ctx context.Context, name video.Tenant, choice *video.WatermarkChoice) error {
	return r.marks.SetUsual(ctx, name, choice)
}

type tenantsCommand struct {
	Location
	List  listTenants `cmd:"" help:"List the tenants, what they use and what they may use."`
	Set   setTenant   `cmd:"" help:"Set the limits of a tenant, effective at once."`
	Brand brandTenant `cmd:"" help:"Set how a tenant looks to the people who watch its videos."`
}

func (tenantsCommand) Help() string {
	return `A tenant is the owner of videos. Each API key belongs to one: see spool keys create.
A request that would exceed a limit of its tenant gets 403 quota_exceeded.

    spool tenants list
    spool tenants set acme --max-videos=1000 --max-bytes=500GiB
    spool tenants brand acme --name=Acme --logo=logo.svg --color=#0a7d4f
`
}

type listTenants struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (listTenants) Help() string {
	return "Examples:\n\n    spool tenants list\n    spool tenants list --json\n"
}

// Run lists the tenants.
func (c *listTenants) Run(ctx context.Context, p *process, parent *tenantsCommand) error {
	return p.withTenants(ctx, parent.Location, func(s tenantStore) error {
		all, err := s.List(ctx)
		if err != nil {
			return fmt.Errorf("list tenants: %w", err)
		}
		return p.printTenants(c.JSON, all)
	})
}

type setTenant struct {
	Name       string             `arg:"" help:"The tenant. It need not have a key or a video yet."`
	MaxVideos  *int64             `placeholder:"N" help:"Videos that the tenant may have. 0: no limit."`
	MaxBytes   *settings.ByteSize `placeholder:"SIZE" help:"Size of all its uploaded files, such as 500GiB. 0: no limit."`
	MaxMinutes *float64           `name:"max-minutes-per-day" placeholder:"N" help:"Minutes of video that are processed in a day (UTC). 0: no limit."`
	MaxInWork  *int64             `placeholder:"N" help:"Videos that are processed at a time. 0: no limit."`
	Watermark  *string            `placeholder:"ID[,…]" help:"The watermark of new videos that choose none, such as ID,position=top-left,width=0.1; none: there is no such watermark."`
	JSON       bool               `name:"json" help:"Print JSON."`
}

func (setTenant) Help() string {
	return `What you leave out stays as it is.

    spool tenants set acme --max-videos=1000 --max-bytes=500GiB
    spool tenants set acme --max-minutes-per-day=600 --max-in-work=5
    spool tenants set acme --max-videos=0
    spool tenants set acme --watermark=0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e,width=0.1
`
}

// Run sets limits.
func (c *setTenant) Run(ctx context.Context, p *process, parent *tenantsCommand) error {
	if c.MaxVideos == nil && c.MaxBytes == nil && c.MaxMinutes == nil && c.MaxInWork == nil && c.Watermark == nil {
		return &configError{[]string{"name what to set: --max-videos, --max-bytes, --max-minutes-per-day, --max-in-work or --watermark."}}
	}
	return p.withTenants(ctx, parent.Location, func(s tenantStore) error {
		if err := c.setWatermark(ctx, s); err != nil {
			return err
		}
		t, err := s.SetLimits(ctx, video.Tenant(c.Name), c.change)
		if e, ok := errors.AsType[*video.Error](err); ok && e.Kind == video.Invalid {
			return limitFaults(e)
		}
		if err != nil {
			return fmt.Errorf("set the limits of %s: %w", c.Name, err)
		}
		if c.JSON {
			return printJSON(p.stdout, viewTenant(t))
		}
		return p.printTenants(false, []tenants.Tenant{t})
	})
}

// setWatermark sets the usual watermark of the tenant, if it was named.
func (c *setTenant) setWatermark(ctx context.Context, s tenantStore) error {
	if c.Watermark == nil {
		return nil
	}
	asked, err := clientcmd.ParseWatermark(*c.Watermark)
	if err != nil {
		return &configError{[]string{err.Error() + "."}}
	}
	var choice *video.WatermarkChoice
	if asked.ID != "" {
		choice = &video.WatermarkChoice{ID: video.WatermarkID(asked.ID), Width: asked.Width, Margin: asked.Margin, Opacity: asked.Opacity}
		if asked.Position != "" {
			choice.Position = new(video.Position(asked.Position))
		}
	}
	err = s.SetUsual(ctx, video.Tenant(c.Name), choice)
	if e, ok := errors.AsType[*video.Error](err); ok && e.Kind == video.Invalid {
		return limitFaults(e)
	}
	if err != nil {
		return fmt.Errorf("set the watermark of %s: %w", c.Name, err)
	}
	return nil
}

// limitFaults says which flags are wrong.
func limitFaults(e *video.Error) error {
	faults := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		faults[i] = f.Field + " " + f.Message + "."
	}
	return &configError{faults}
}

// change applies the limits that were named.
func (c *setTenant) change(l *video.Limits) {
	if c.MaxVideos != nil {
		l.Videos = *c.MaxVideos
	}
	if c.MaxBytes != nil {
		l.Bytes = int64(*c.MaxBytes)
	}
	if c.MaxMinutes != nil {
		l.MinutesPerDay = *c.MaxMinutes
	}
	if c.MaxInWork != nil {
		l.InWork = *c.MaxInWork
	}
}

// withTenants opens the tenants at l, does its work and closes the database again.
func (p *process) withTenants(ctx context.Context, l Location, work func(tenantStore) error) (err error) {
	s, db, err := p.openTenants(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return work(s)
}

// openTenants opens the tenants of a database.
func openTenants(ctx context.Context, l Location) (tenantStore, io.Closer, error) {
	db, now, err := openKeyDatabase(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	return tenantRooms{tenants.New(db, now.Now), watermarks.New(db, now.Now), brand.New(db, now.Now)}, db, nil
}

// tenantView is a tenant as JSON, with the fields of GET /api/usage.
type tenantView struct {
	Name         string     `json:"name"`
	Videos       int64      `json:"videos"`
	Bytes        int64      `json:"bytes"`
	MinutesToday float64    `json:"minutesToday"`
	InWork       int64      `json:"inWork"`
	Limits       limitsView `json:"limits"`
}

type limitsView struct {
	MaxVideos        int64   `json:"maxVideos"`
	MaxBytes         int64   `json:"maxBytes"`
	MaxMinutesPerDay float64 `json:"maxMinutesPerDay"`
	MaxInWork        int64   `json:"maxInWork"`
}

func viewTenant(t tenants.Tenant) tenantView {
	l := t.Limits
	return tenantView{string(t.Name), t.Videos, t.Bytes, t.MinutesToday(), t.InWork,
		limitsView{l.Videos, l.Bytes, l.MinutesPerDay, l.InWork}}
}

func (p *process) printTenants(asJSON bool, all []tenants.Tenant) error {
	views := make([]tenantView, len(all))
	rows := [][]string{{"TENANT", "VIDEOS", "SIZE", "MINUTES TODAY", "IN WORK"}}
	for i, t := range all {
		views[i] = viewTenant(t)
		l := t.Limits
		rows = append(rows, []string{
			string(t.Name), ofLimit(strconv.FormatInt(t.Videos, 10), float64(l.Videos)), sizeOf(t.Bytes, l.Bytes),
			ofLimit(strconv.FormatFloat(t.LengthToday.Round(6*time.Second).Minutes(), 'f', 1, 64), l.MinutesPerDay),
			ofLimit(strconv.FormatInt(t.InWork, 10), float64(l.InWork)),
		})
	}
	if asJSON {
		return printJSON(p.stdout, views)
	}
	return printTable(p.stdout, rows)
}

// sizeOf writes how many bytes are used, and of how many if there is a limit.
func sizeOf(used, limit int64) string {
	if limit == 0 {
		return humanize.Bytes(uint64(used))
	}
	return humanize.Bytes(uint64(used)) + " of " + humanize.Bytes(uint64(limit))
}

// ofLimit writes what is used, and of how much if there is a limit.
func ofLimit(used string, limit float64) string {
	if limit == 0 {
		return used
	}
	return used + " of " + strconv.FormatFloat(limit, 'f', -1, 64)
}
