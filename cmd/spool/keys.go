package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
	"github.com/spool-video/spool/internal/video"
)

// keyStore is what the key commands need of the API keys.
type keyStore interface {
	Create(ctx context.Context, k auth.Key) (secret string, created auth.Key, err error)
	List(ctx context.Context) ([]auth.Key, error)
	Revoke(ctx context.Context, id string) error
}

type keysCommand struct {
	Location
	Create createKey `cmd:"" help:"Create an API key and print it once."`
	List   listKeys  `cmd:"" help:"List the API keys."`
	Revoke revokeKey `cmd:"" help:"Revoke an API key, effective at once."`
}

func (keysCommand) Help() string {
	return `API keys can be managed while the service runs. Only their hashes are stored.
The database must exist: the first spool serve creates it, and a first key.

    spool keys create --name=phone
    spool keys list
    spool keys revoke 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
`
}

type createKey struct {
	Name    string   `required:"" help:"What the key is for, as shown in the list."`
	Tenant  string   `default:"default" help:"Tenant whose videos the key can access."`
	Scopes  []string `default:"read,write,delete,admin" placeholder:"SCOPE" help:"What the key may do: read,write,delete,admin."`
	Expires string   `placeholder:"WHEN" help:"When the key expires: a duration such as 90d or 12h, or a date such as 2030-01-31. Default: never."`
	JSON    bool     `name:"json" help:"Print JSON."`
}

func (createKey) Help() string {
	return `Examples:

    spool keys create --name=phone
    spool keys create --name=viewer --scopes=read --expires=90d
    spool keys create --name=acme --tenant=acme --json
`
}

// Run makes a key.
func (c *createKey) Run(ctx context.Context, p *process, parent *keysCommand) error {
	key, err := c.key(p.now())
	if err != nil {
		return err
	}
	return p.withKeys(ctx, parent.Location, func(keys keyStore) error {
		secret, created, err := keys.Create(ctx, key)
		if err != nil {
			return fmt.Errorf("create key: %w", err)
		}
		if c.JSON {
			return printJSON(p.stdout, keyWithSecret{viewKey(created, p.now()), secret})
		}
		_, err = fmt.Fprintf(p.stdout, "Key %s (%s). It is shown only once:\n\n  %s\n\n", created.ID, created.Name, secret)
		return err
	})
}

// key checks what was asked for.
func (c *createKey) key(now time.Time) (auth.Key, error) {
	key := auth.Key{Name: c.Name, Tenant: video.Tenant(c.Tenant)}
	if c.Name == "" || c.Tenant == "" {
		return key, &configError{[]string{"--name and --tenant must not be empty."}}
	}
	for _, s := range c.Scopes {
		scope := auth.Scope(strings.TrimSpace(s))
		if !slices.Contains(auth.Scopes, scope) {
			return key, &configError{[]string{fmt.Sprintf("--scopes: %q is not one of %s.", s, allScopes())}}
		}
		key.Scopes = append(key.Scopes, scope)
	}
	if c.Expires == "" {
		return key, nil
	}
	var err error
	key.ExpiresAt, err = expiry(c.Expires, now)
	return key, err
}

// expiry reads a time to come: "90d", "12h", "2030-01-31" or RFC 3339.
func expiry(s string, now time.Time) (time.Time, error) {
	at := now
	if days, found := strings.CutSuffix(s, "d"); found {
		if n, err := strconv.Atoi(days); err == nil {
			at = now.AddDate(0, 0, n)
		}
	} else if d, err := time.ParseDuration(s); err == nil {
		at = now.Add(d)
	} else if t, err := time.ParseInLocation(time.DateOnly, s, now.Location()); err == nil {
		at = t
	} else if t, err := time.Parse(time.RFC3339, s); err == nil {
		at = t
	}
	if !at.After(now) {
		return at, &configError{[]string{fmt.Sprintf("--expires: %q is not a time to come, such as 90d, 12h or 2030-01-31.", s)}}
	}
	return at, nil
}

type listKeys struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (listKeys) Help() string {
	return "Examples:\n\n    spool keys list\n    spool keys list --json\n"
}

// Run lists the keys.
func (c *listKeys) Run(ctx context.Context, p *process, parent *keysCommand) error {
	return p.withKeys(ctx, parent.Location, func(keys keyStore) error {
		all, err := keys.List(ctx)
		if err != nil {
			return fmt.Errorf("list keys: %w", err)
		}
		views := make([]keyView, 0, len(all))
		for _, k := range all {
			views = append(views, viewKey(k, p.now()))
		}
		if c.JSON {
			return printJSON(p.stdout, views)
		}
		rows := [][]string{{"ID", "NAME", "TENANT", "SCOPES", "CREATED", "EXPIRES", "STATE"}}
		for _, v := range views {
			rows = append(rows, []string{v.ID, v.Name, v.Tenant, strings.Join(v.Scopes, ","), formatDate(&v.CreatedAt), formatDate(v.ExpiresAt), v.State})
		}
		return printTable(p.stdout, rows)
	})
}

type revokeKey struct {
	ID   string `arg:"" help:"The key's ID, as spool keys list shows it."`
	JSON bool   `name:"json" help:"Print JSON."`
}

func (revokeKey) Help() string {
	return "Example:\n\n    spool keys revoke 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e\n"
}

// Run revokes a key.
func (c *revokeKey) Run(ctx context.Context, p *process, parent *keysCommand) error {
	return p.withKeys(ctx, parent.Location, func(keys keyStore) error {
		if err := keys.Revoke(ctx, c.ID); err != nil {
			return fmt.Errorf("revoke key %s: %w", c.ID, err)
		}
		if c.JSON {
			return printJSON(p.stdout, revokedKeyView{Revoked: c.ID})
		}
		_, err := fmt.Fprintf(p.stdout, "Key %s is revoked.\n", c.ID)
		return err
	})
}

// withKeys opens the API keys at l, does its work and closes the database again.
func (p *process) withKeys(ctx context.Context, l Location, work func(keyStore) error) error {
	keys, db, err := p.openKeys(ctx, l)
	if err != nil {
		return err
	}
	defer db.Close()
	return work(keys)
}

// keyView is an API key as the commands print it.
type keyView struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Tenant    string     `json:"tenant"`
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	RevokedAt *time.Time `json:"revokedAt,omitempty"`
	State     string     `json:"state"` // active, expired or revoked
	MadeBy    string     `json:"madeBy,omitempty"`
}

type keyWithSecret struct {
	keyView
	Secret string `json:"key"`
}

func viewKey(k auth.Key, now time.Time) keyView {
	v := keyView{ID: k.ID, Name: k.Name, Tenant: string(k.Tenant), CreatedAt: k.CreatedAt, State: "active", MadeBy: k.MadeBy}
	for _, s := range k.Scopes {
		v.Scopes = append(v.Scopes, string(s))
	}
	if !k.ExpiresAt.IsZero() {
		v.ExpiresAt = &k.ExpiresAt
		if !now.Before(k.ExpiresAt) {
			v.State = "expired"
		}
	}
	if !k.RevokedAt.IsZero() {
		v.RevokedAt, v.State = &k.RevokedAt, "revoked"
	}
	return v
}

// allScopes lists the scopes as people write them.
func allScopes() string {
	names := make([]string, len(auth.Scopes))
	for i, s := range auth.Scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ",")
}

// formatDate prints a date, or "never".
func formatDate(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.Format(time.DateOnly)
}

// printJSON prints a value in one line, as the commands of clients do.
func printJSON(w io.Writer, v any) error {
	return json.NewEncoder(w).Encode(v)
}

func printTable(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}
