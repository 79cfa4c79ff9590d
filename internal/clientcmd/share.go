package clientcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spool-video/spool/client"
)

// Share is spool share.
type Share struct {
	Create ShareCreate `cmd:"" default:"withargs" help:"Make a link with which people watch a video without a key."`
	List   ShareList   `cmd:"" name:"ls" help:"List the links of a video."`
	Remove ShareRemove `cmd:"" name:"rm" help:"Delete a link."`
}

// Help is shown by --help.
func (Share) Help() string {
	return `Examples:

    spool share 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --label=press --expires=72h --password=hush
    spool share ls 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
    spool share rm 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e 0198c5b7-11aa-7bbb-8ccc-1f2a3b4c5d6e
`
}

// ShareCreate is spool share ID.
type ShareCreate struct {
	Connection
	ID       string        `arg:"" help:"The video."`
	Label    string        `placeholder:"TEXT" help:"For you, to tell links apart."`
	Life     time.Duration `name:"expires" placeholder:"DURATION" help:"How long the link works, such as 72h. Default: until it is deleted."`
	Password string        `placeholder:"TEXT" help:"What the page asks for. Other users of the machine can see arguments."`
	Download bool          `help:"The page offers the largest file."`
}

// Help is shown by --help.
func (ShareCreate) Help() string {
	return `Anyone who has the link can watch the video, also a private one.

Example:

    spool share 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --expires=72h --download
`
}

// Run makes a link.
func (c *ShareCreate) Run(ctx context.Context, env *Environment) error {
	if c.Life < 0 {
		return &UsageError{Text: "--expires must not be negative"}
	}
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	wanted := client.NewShare{Label: c.Label, Password: c.Password, Download: c.Download}
	if c.Life > 0 {
		wanted.ExpiresAt = new(time.Now().Add(c.Life).UTC())
	}
	made, err := api.CreateShare(ctx, c.ID, wanted)
	if err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, made)
	}
	_, err = fmt.Fprintln(env.Stdout, forTerminal(made.URL))
	return err
}

// ShareList is spool share ls.
type ShareList struct {
	Connection
	ID string `arg:"" help:"The video."`
}

// Help is shown by --help.
func (ShareList) Help() string {
	return "Example:\n\n    spool share ls 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e\n"
}

// Run lists links.
func (c *ShareList) Run(ctx context.Context, env *Environment) error {
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	all, err := api.Shares(ctx, c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	rows := [][]string{{"ID", "CREATED", "EXPIRES", "PASSWORD", "DOWNLOAD", "LABEL", "URL"}}
	for _, s := range all {
		if c.JSON {
			if err := printJSON(env.Stdout, s); err != nil {
				return err
			}
			continue
		}
		expires := "never"
		if s.ExpiresAt != nil {
			expires = s.ExpiresAt.Local().Format("2006-01-02 15:04")
		}
		rows = append(rows, []string{forTerminal(s.ID), s.CreatedAt.Local().Format("2006-01-02 15:04"), expires, yesNo(s.HasPassword), yesNo(s.Download), forTerminal(s.Label), forTerminal(s.URL)})
	}
	if c.JSON {
		return nil
	}
	return printTable(env.Stdout, rows)
}

// ShareRemove is spool share rm.
type ShareRemove struct {
	Connection
	ID    string `arg:"" help:"The video."`
	Share string `arg:"" help:"The link, by its ID."`
}

// Help is shown by --help.
func (ShareRemove) Help() string {
	return `The page is gone at once. What it handed out ends within a minute.

Example:

    spool share rm 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e 0198c5b7-11aa-7bbb-8ccc-1f2a3b4c5d6e
`
}

// Run deletes a link.
func (c *ShareRemove) Run(ctx context.Context, env *Environment) error {
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	if err := api.DeleteShare(ctx, c.ID, c.Share); err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, map[string]string{"id": c.Share})
	}
	_, err = fmt.Fprintf(env.Stdout, "%s  deleted\n", forTerminal(c.Share))
	return err
}
