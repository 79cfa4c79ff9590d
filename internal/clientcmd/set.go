package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/spool-video/spool/client"
)

// Set is spool set.
type Set struct {
	Connection
	IDs      []string  `arg:"" name:"id" help:"The videos."`
	Title    *string   `placeholder:"TEXT" help:"The title that people see. An empty one is the name of the file. For a single video."`
	Metadata []string  `sep:"none" placeholder:"KEY=VALUE" help:"Replaces all metadata; can be repeated."`
	Tag      tagChange `placeholder:"+TAG|-TAG" help:"Adds a tag, or removes one; can be repeated."`
	Expires  string    `aliases:"expires-at" placeholder:"TIME" help:"Delete the videos at this time, such as 2030-05-01T12:00:00Z or 2030-05-01; never takes it back."`
	Public   bool      `xor:"visibility" help:"Everybody who has an address of the videos may watch them."`
	Private  bool      `xor:"visibility" help:"Only signed addresses work, which expire. All earlier ones are dead at once."`

	AllowedOrigin []string `sep:"none" placeholder:"SITE" help:"A site on which the videos may be played, such as example.com or *.example.org; can be repeated, and replaces all of them. all: everywhere, none: only in the server's own pages."`
	AllowNoOrigin *bool    `negatable:"" help:"Apps, native players and downloads, whose requests name no site, may play the videos, too."`
}

// Help is shown by --help.
func (Set) Help() string {
	return `What you leave out stays as it is.

Examples:

    spool set 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --title=Holiday
    spool set 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --tag +course --tag -draft
    spool set 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --expires=2030-05-01
    spool set 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --private
    spool set 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --allowed-origin=example.com --allowed-origin=*.example.org

Exit codes: 0 all were changed, 1 none was, 2 the command line is wrong, 3 some were.
`
}

// tagChange are tags to add and to remove.
type tagChange struct{ add, remove []string }

// Decode reads +TAG or -TAG, which looks like another flag.
func (c *tagChange) Decode(ctx *kong.DecodeContext) error {
	text, _ := ctx.Scan.Pop().Value.(string)
	switch tag := strings.TrimLeft(text, "+-"); {
	case tag == "":
	case text[0] == '+':
		c.add = append(c.add, text[1:])
		return nil
	case text[0] == '-':
		c.remove = append(c.remove, text[1:])
		return nil
	}
	return fmt.Errorf("%q is neither +TAG nor -TAG", text)
}

func (c tagChange) none() bool { return len(c.add)+len(c.remove) == 0 }

// changes are what each video is changed by.
func (c *Set) changes() (client.Changes, error) {
	out := client.Changes{Title: c.Title, AllowedOrigins: sites(c.AllowedOrigin), AllowNoOrigin: c.AllowNoOrigin}
	if c.Public || c.Private {
		out.Public = &c.Public
	}
	var err error
	if out.Metadata, err = parseMetadata(c.Metadata); err != nil {
		return out, err
	}
	out.ExpiresAt, err = parseExpiry(c.Expires)
	return out, err
}

// parseExpiry reads a time, a day, or never. It returns nil for "".
func parseExpiry(text string) (*time.Time, error) {
	switch text {
	case "":
		return nil, nil
	case "never":
		return new(time.Time), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.ParseInLocation(time.DateOnly, text, time.Local)
	}
	if err != nil {
		return nil, &UsageError{Text: fmt.Sprintf("%q is no time: write one such as 2030-05-01T12:00:00Z, or a day such as 2030-05-01", text)}
	}
	return &at, nil
}

// Run changes videos.
func (c *Set) Run(ctx context.Context, env *Environment) error {
	changes, err := c.changes()
	if err != nil {
		return err
	}
	plain := changes.Title != nil || changes.Metadata != nil || changes.ExpiresAt != nil || changes.Public != nil ||
		changes.AllowedOrigins != nil || changes.AllowNoOrigin != nil
	switch {
	case len(c.IDs) > 1 && c.Title != nil:
		return &UsageError{Text: "--title is for a single video"}
	case !plain && c.Tag.none():
		return &UsageError{Text: "nothing is to be changed: see spool set --help"}
	}
	api, err := c.clientFor(ctx, env, short, each(c.IDs)...)
	if err != nil {
		return c.fail(env, err)
	}
	ids := withoutDuplicates(c.IDs)
	var count tally
	for _, id := range ids {
		v, err := c.change(ctx, api, id, plain, changes)
		if isKeyless(err) {
			return c.fail(env, err)
		}
		count.add(err)
		c.printOutcome(env, id, v, err)
		if _, answered := errors.AsType[*client.Error](err); err != nil && !answered {
			count.failures += len(ids) - slices.Index(ids, id) - 1
			break // no server, no sense in going on
		}
	}
	return count.outcome(len(ids))
}

// change changes one video. Tags are added and removed by another request than the rest.
func (c *Set) change(ctx context.Context, api *client.Client, id string, plain bool, changes client.Changes) (v client.Video, err error) {
	if !c.Tag.none() {
		all, err := api.UpdateMany(ctx, []string{id}, client.ManyChanges{AddTags: c.Tag.add, RemoveTags: c.Tag.remove})
		if err != nil || !plain {
			return slices.Concat(all, []client.Video{{}})[0], err
		}
	}
	return api.Update(ctx, id, changes)
}

// printOutcome prints what became of one video.
func (c *Set) printOutcome(env *Environment, id string, v client.Video, err error) {
	switch {
	case err != nil && c.JSON:
		_ = printJSON(env.Stdout, map[string]any{"id": id, "error": fault{client.Code(err), c.explain(err)}}) // standard error has it, too
		fallthrough
	case err != nil:
		fmt.Fprintf(env.Stderr, "spool: %s: %s\n", forTerminal(id), c.explain(err))
	case c.JSON:
		_ = printJSON(env.Stdout, v) // a closed pipe does not take it back
	default:
		fmt.Fprintf(env.Stdout, "%s  changed\n", forTerminal(id))
	}
}

// sites returns the sites that a flag names; nil: it was not given.
func sites(flag []string) *[]string {
	switch {
	case len(flag) == 0:
		return nil
	case len(flag) == 1 && flag[0] == "all":
		return new([]string) // null
	case len(flag) == 1 && flag[0] == "none":
		return &[]string{}
	}
	return &flag
}
