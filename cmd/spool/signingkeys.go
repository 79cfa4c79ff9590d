package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
)

// signingKeyStore is what the commands need of the signing keys.
type signingKeyStore interface {
	List(ctx context.Context) ([]auth.SigningKey, error)
	Rotate(ctx context.Context) (id string, err error)
}

// withSigningKeys opens the signing keys at l, does its work and closes the database again.
func (p *process) withSigningKeys(ctx context.Context, l Location, work func(signingKeyStore) error) error {
	keys, db, err := p.openSigningKeys(ctx, l)
	if err != nil {
		return err
	}
	defer db.Close()
	return work(keys)
}

type signingKeysCommand struct {
	Location
	List   listSigningKeys  `cmd:"" help:"List the signing keys, newest first."`
	Rotate rotateSigningKey `cmd:"" help:"Create a new signing key. URLs signed with older ones stay valid until they expire."`
}

func (signingKeysCommand) Help() string {
	return `Upload URLs and private playback URLs are signed. The newest key signs, and every
key in the list is accepted. The database must exist: the first spool serve
creates it.

    spool signing-keys list
    spool signing-keys rotate
`
}

type listSigningKeys struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (listSigningKeys) Help() string {
	return "Example:\n\n    spool signing-keys list --json\n"
}

// Run lists the signing keys.
func (c *listSigningKeys) Run(ctx context.Context, p *process, parent *signingKeysCommand) error {
	return p.withSigningKeys(ctx, parent.Location, func(keys signingKeyStore) error {
		all, err := keys.List(ctx)
		if err != nil {
			return fmt.Errorf("list signing keys: %w", err)
		}
		views := make([]signingKeyView, len(all))
		rows := [][]string{{"ID", "CREATED", "SIGNS"}}
		for i, k := range all {
			views[i] = signingKeyView{ID: k.ID, CreatedAt: k.CreatedAt, Signs: i == 0}
			rows = append(rows, []string{k.ID, formatDate(&k.CreatedAt), yesNo(views[i].Signs)})
		}
		if c.JSON {
			return printJSON(p.stdout, views)
		}
		return printTable(p.stdout, rows)
	})
}

type rotateSigningKey struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (rotateSigningKey) Help() string {
	return "Example:\n\n    spool signing-keys rotate\n"
}

// Run makes a new signing key.
func (c *rotateSigningKey) Run(ctx context.Context, p *process, parent *signingKeysCommand) error {
	return p.withSigningKeys(ctx, parent.Location, func(keys signingKeyStore) error {
		id, err := keys.Rotate(ctx)
		if err != nil {
			return fmt.Errorf("rotate signing keys: %w", err)
		}
		if c.JSON {
			return printJSON(p.stdout, map[string]string{"id": id})
		}
		_, err = fmt.Fprintf(p.stdout, "Key %s signs from now on. URLs signed with older keys stay valid until they expire.\n", id)
		return err
	})
}

// signingKeyView is a signing key as the commands print it.
type signingKeyView struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	Signs     bool      `json:"signs"` // the others are only accepted
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
