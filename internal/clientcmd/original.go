package clientcmd

import (
	"context"
	"fmt"
	"time"
)

// Original is spool original.
type Original struct {
	Connection
	ID     string `arg:"" help:"The video."`
	Output string `short:"o" placeholder:"FILE" help:"Where to store it; - is standard output. Default: its own name, in this folder."`
}

// Help is shown by --help.
func (Original) Help() string {
	return `Downloads the file that was uploaded, and checks its SHA-256 where the server knows it.
Without -o, a file that is there is not overwritten.

Examples:

    spool original 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
    spool original 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e -o master.mov
`
}

// originalLife is how long a download may be continued.
const originalLife = 24 * time.Hour

// Run downloads the file.
func (c *Original) Run(ctx context.Context, env *Environment) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	o, err := api.Original(ctx, c.ID, originalLife)
	if err != nil {
		return c.fail(env, err)
	}
	stored, err := store(ctx, env, api, o, c.Output, o.Filename)
	switch {
	case err != nil:
		return c.fail(env, err)
	case stored.name == "":
		return nil
	case c.JSON:
		return printJSON(env.Stdout, map[string]any{"id": c.ID, "file": stored.name, "sizeBytes": o.SizeBytes, "sha256": o.SHA256})
	}
	_, err = fmt.Fprintf(env.Stdout, "%s  %s  %s\n", forTerminal(c.ID), formatBytes(o.SizeBytes), forTerminal(stored.name))
	return err
}
