package clientcmd

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Poster is spool poster.
type Poster struct {
	Connection
	ID   string   `arg:"" help:"The video."`
	File string   `arg:"" optional:"" help:"A picture: JPEG, PNG, WebP or AVIF."`
	Time *float64 `placeholder:"SECONDS" help:"Take the frame that is shown then."`
	Auto bool     `help:"Take the automatic poster again."`
}

// Help is shown by --help.
func (Poster) Help() string {
	return `Chooses the picture that is shown before a video is played.

Examples:

    spool poster 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --time=12.5
    spool poster 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e cover.jpg
    spool poster 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --auto
`
}

// Run chooses the poster.
func (c *Poster) Run(ctx context.Context, env *Environment) error {
	given := 0
	for _, g := range []bool{c.File != "", c.Time != nil, c.Auto} {
		if g {
			given++
		}
	}
	if given != 1 {
		return &UsageError{Text: "say which picture: a file, --time=SECONDS or --auto"}
	}
	if err := c.set(ctx, env); err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, map[string]string{"id": c.ID})
	}
	_, err := fmt.Fprintf(env.Stdout, "%s  poster\n", forTerminal(c.ID))
	return err
}

func (c *Poster) set(ctx context.Context, env *Environment) error {
	api, err := c.clientFor(ctx, env, short, &c.ID)
	switch {
	case err != nil:
		return err
	case c.Auto:
		return api.ResetPoster(ctx, c.ID)
	case c.Time != nil:
		return api.SetPosterTime(ctx, c.ID, time.Duration(*c.Time*float64(time.Second)))
	}
	f, err := os.Open(c.File)
	if err != nil {
		return &UsageError{Text: err.Error()}
	}
	defer f.Close()
	return api.SetPoster(ctx, c.ID, f)
}
