package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spool-video/spool/internal/service/auth"
)

// signingKeyStore is what the commands need of the signing keys.
type signingKeyStore interface {
	List(ctx context.Context) ([]auth.SigningKey, error)
	Rotate(ctx context.Context) (id string, err error)
	Revoke(ctx context.Context, id string) (made string, err error)
}

// withSigningKeys opens the signing keys that c names, does its work and closes the database again.
func (p *process) withSigningKeys(ctx context.Context, c *signingKeysCommand, work func(signingKeyStore) error) error {
	keys, db, err := p.openSigningKeys(ctx, c.Location, c.MaxSignedLife)
	if err != nil {
		return err
	}
	defer db.Close()
	return work(keys)
}

type signingKeysCommand struct {
	Location
	MaxSignedLife time.Duration `default:"8760h" placeholder:"DURATION" help:"Longest lifetime of a signed playback URL, as for spool serve. rotate removes keys that no valid URL can need."`

	List   listSigningKeys  `cmd:"" help:"List the signing keys, newest first."`
	Rotate rotateSigningKey `cmd:"" help:"Create a new signing key. URLs signed with older ones stay valid until they expire."`
	Revoke revokeSigningKey `cmd:"" help:"Remove a signing key. URLs signed with it stop working."`
}

// faults returns what is wrong with the settings, one sentence each.
func (c *signingKeysCommand) faults() []string {
	return append(c.Location.faults(), signedLifeFaults(c.MaxSignedLife)...)
}

func (signingKeysCommand) Help() string {
	return `Upload URLs and private playback URLs are signed. The newest key signs, and every
key in the list is accepted. A running service notices changes within seconds.
The database must exist: the first spool serve creates it.

    spool signing-keys list
    spool signing-keys rotate
    spool signing-keys revoke 9cc473c7
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
	return p.withSigningKeys(ctx, parent, func(keys signingKeyStore) error {
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
	return p.withSigningKeys(ctx, parent, func(keys signingKeyStore) error {
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

type revokeSigningKey struct {
	ID   string `arg:"" help:"The key's ID, as spool signing-keys list shows it."`
	Yes  bool   `help:"Also revoke the key that signs now."`
	JSON bool   `name:"json" help:"Print JSON."`
}

func (revokeSigningKey) Help() string {
	return `Use this for a key that others may have seen. All URLs that it signed stop working;
Spool keeps no list of them. To replace a key without breaking URLs, use rotate. The
newest key, which signs now, is revoked only with --yes; a new one is created first.

    spool signing-keys revoke 9cc473c7
    spool signing-keys revoke 9cc473c7 --yes
`
}

// Run says what stops working, and removes a signing key.
func (c *revokeSigningKey) Run(ctx context.Context, p *process, parent *signingKeysCommand) error {
	return p.withSigningKeys(ctx, parent, func(keys signingKeyStore) error {
		all, err := keys.List(ctx)
		if err != nil {
			return fmt.Errorf("list signing keys: %w", err)
		}
		i := slices.IndexFunc(all, func(k auth.SigningKey) bool { return k.ID == c.ID })
		if i < 0 {
			return fmt.Errorf("revoke signing key %s: %w", c.ID, auth.SigningKeyNotFound())
		}
		if _, err := io.WriteString(p.stderr, revocationNotice(all, i)); err != nil {
			return err
		}
		if i == 0 && !c.Yes {
			return &configError{[]string{fmt.Sprintf("key %s signs now, so nothing was changed: repeat the command with --yes.", c.ID)}}
		}
		made, err := keys.Revoke(ctx, c.ID)
		if err != nil {
			return fmt.Errorf("revoke signing key %s: %w", c.ID, err)
		}
		return c.print(p.stdout, made)
	})
}

// print says what was done. made is the key that was made instead, or "".
func (c *revokeSigningKey) print(w io.Writer, made string) error {
	if c.JSON {
		return printJSON(w, revokedKeyView{Revoked: c.ID, Created: made})
	}
	text := fmt.Sprintf("Key %s is revoked. A running service stops accepting it within %s.\n", c.ID, auth.FollowEvery)
	if made != "" {
		text += fmt.Sprintf("Key %s signs from now on.\n", made)
	}
	_, err := io.WriteString(w, text)
	return err
}

// revocationNotice says what stops working without the key all[i].
func revocationNotice(all []auth.SigningKey, i int) string {
	var b strings.Builder
	since := all[i].CreatedAt.UTC().Format(time.RFC3339)
	if i == 0 {
		fmt.Fprintf(&b, "Key %s has signed all URLs since %s.", all[i].ID, since)
	} else {
		fmt.Fprintf(&b, "Key %s signed all URLs from %s to %s.", all[i].ID, since, all[i-1].CreatedAt.UTC().Format(time.RFC3339))
	}
	b.WriteString(` The URLs that have not
expired stop working; how many there are is not known:

  - playback URLs of private videos: MP4 files, thumbnails, HLS and DASH
  - upload URLs of videos that were not uploaded yet
  - URLs of resumable uploads, also of those in progress

Clients get new ones by reading the video or creating it again. Public videos are
not affected. URLs of a bucket are signed by the storage and live on: upload URLs
until they expire, redirects of players up to six hours.

`)
	return b.String()
}

// revokedKeyView is what revoke prints as JSON.
type revokedKeyView struct {
	Revoked string `json:"revoked"`
	Created string `json:"created,omitempty"` // the key that signs now, if one had to be made
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
