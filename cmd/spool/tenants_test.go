package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spool-video/spool/internal/backend/store"
	"github.com/spool-video/spool/internal/service/brand"
	"github.com/spool-video/spool/internal/service/tenants"
	"github.com/spool-video/spool/internal/service/watermarks"
)

// runsTenants executes a command line on a real database and returns what it printed.
func runsTenants(t *testing.T, db *store.Store, line string) (out string, code int) {
	t.Helper()
	p, stdout, stderr := newProcess(nil, nil)
	p.openTenants = func(context.Context, Location) (tenantStore, io.Closer, error) {
		return tenantRooms{tenants.New(db, p.now), watermarks.New(db, p.now), brand.New(db, p.now)}, io.NopCloser(nil), nil
	}
	code = p.run(t.Context(), strings.Fields(line))
	return stdout.String() + stderr.String(), code
}

func TestTenants(t *testing.T) {
	t.Parallel()
	db, err := store.OpenSQLite(t.Context(), t.TempDir()+"/spool.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.InTx(t.Context(), func(tx *store.Tx) error {
		return tenants.AddLength(t.Context(), tx, "acme", 90*time.Second, time.Date(2030, 1, 2, 0, 0, 0, 0, time.UTC))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		line, want string
		code       int
	}{
		{"tenants set acme --max-videos=10 --max-bytes=2KiB", "TENANT  VIDEOS   SIZE           MINUTES TODAY  IN WORK\nacme    0 of 10  0 B of 2.0 kB  1.5            0\n", exitOK},
		{"tenants set acme --max-minutes-per-day=2.5 --max-in-work=3 --max-bytes=0", "TENANT  VIDEOS   SIZE  MINUTES TODAY  IN WORK\nacme    0 of 10  0 B   1.5 of 2.5     0 of 3\n", exitOK},
		{"tenants set zoo --max-videos=0", "TENANT  VIDEOS  SIZE  MINUTES TODAY  IN WORK\nzoo     0       0 B   0.0            0\n", exitOK},
		{"tenants list", "TENANT  VIDEOS   SIZE  MINUTES TODAY  IN WORK\nacme    0 of 10  0 B   1.5 of 2.5     0 of 3\nzoo     0        0 B   0.0            0\n", exitOK},
		{"tenants set acme", "spool: name what to set: --max-videos, --max-bytes, --max-minutes-per-day, --max-in-work or --watermark.\n", exitUsage},
		{"tenants set acme --watermark=0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e,width=2", "spool: watermark.width must be a number from 0.02 to 1.\n", exitUsage},
		{"tenants set acme --watermark=x,size=2", "spool: --watermark: \"size=2\" is none of position=…, width=…, margin=… and opacity=….\n", exitUsage},
		{"tenants set acme --watermark=0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e", "spool: There is no such watermark.\n", exitError},
		{"tenants set acme --max-videos=-1", "spool: max-videos must be a number, and not negative.\n", exitUsage},
		{"tenants set acme --max-minutes-per-day=inf", "spool: max-minutes-per-day must be a number, and not negative.\n", exitUsage},
	} {
		if out, code := runsTenants(t, db, step.line); out != step.want || code != step.code {
			t.Errorf("spool %s exits with %d and prints\n%s\nwant %d and\n%s", step.line, code, out, step.code, step.want)
		}
	}
	out, _ := runsTenants(t, db, "tenants list --json")
	var all []tenantView
	want := tenantView{Name: "acme", MinutesToday: 1.5, Limits: limitsView{MaxVideos: 10, MaxMinutesPerDay: 2.5, MaxInWork: 3}}
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 2 || all[0] != want {
		t.Errorf("tenants list --json gives %+v, %v", all, err)
	}
	out, _ = runsTenants(t, db, "tenants set acme --max-videos=11 --json")
	var one tenantView
	if err := json.Unmarshal([]byte(out), &one); err != nil || one.Limits.MaxVideos != 11 {
		t.Errorf("tenants set --json gives %+v, %v", one, err)
	}
}
