package clientcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spool-video/spool/client"
)

// Search is spool search.
type Search struct {
	Connection
	Words []string `arg:"" help:"What is said."`
	Tag   []string `sep:"none" placeholder:"TAG" help:"Only videos with this tag; can be repeated."`
	Limit int      `short:"n" default:"20" placeholder:"N" help:"How many videos to list at most; 0 means all. Default: 20."`
}

// Help is shown by --help.
func (Search) Help() string {
	return `Finds videos by what is said in their captions, the newest first: all words in one caption, or in neighbouring
ones. Case and accents do not matter. Up to five places of each video are printed.

Examples:

    spool search "annual report"
    spool search safety briefing --tag=course --json
`
}

// Run lists what is found.
func (c *Search) Run(ctx context.Context, env *Environment) error {
	if c.Limit < 0 {
		return &UsageError{Text: "--limit must not be negative"}
	}
	filter := client.Filter{Said: strings.Join(c.Words, " "), Tags: c.Tag}
	if c.Limit > 0 {
		filter.PageSize = min(c.Limit, 100)
	}
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	n := 0
	for v, err := range api.Videos(ctx, filter) {
		if err != nil {
			return c.fail(env, err)
		}
		if err := c.print(env, v); err != nil {
			return err
		}
		if n++; n == c.Limit {
			break
		}
	}
	if n == 0 && !c.JSON {
		fmt.Fprintln(env.Stderr, "No video has captions in which that is said.")
	}
	return nil
}

func (c *Search) print(env *Environment, v client.Video) error {
	if c.JSON {
		return printJSON(env.Stdout, v)
	}
	if _, err := fmt.Fprintf(env.Stdout, "%s  %s\n", forTerminal(v.ID), forTerminal(title(v))); err != nil {
		return err
	}
	for _, m := range v.Matches {
		if _, err := fmt.Fprintf(env.Stdout, "  %8s  %-5s %s\n", formatDuration(time.Duration(m.Start*float64(time.Second))), forTerminal(m.Language), forTerminal(m.Text)); err != nil {
			return err
		}
	}
	return nil
}
