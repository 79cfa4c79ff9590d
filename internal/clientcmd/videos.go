package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spool-video/spool/client"
)

// List is spool ls.
type List struct {
	Connection
	Status   string   `placeholder:"STATUS" help:"Only videos that are pending_upload, processing, ready or fail."`
	Metadata []string `sep:"none" placeholder:"KEY=VALUE" help:"Only videos with this metadata; can be repeated."`
	Tag      []string `sep:"none" placeholder:"TAG" help:"Only videos with this tag; can be repeated."`
	Sort     string   `placeholder:"BY" help:"Order by createdAt, title, duration or size. Default: createdAt."`
	Order    string   `placeholder:"asc|desc" help:"Which end comes first. Default: titles from A to Z, and the newest, longest or largest first."`
	Limit    int      `short:"n" default:"50" placeholder:"N" help:"How many to list at most; 0 means all. Default: 50."`
}

// Help is shown by --help.
func (List) Help() string {
	return `Lists the videos of the key's tenant, the newest first unless --sort or --order says otherwise.
SIZE counts all files of a video. On a terminal IDs are short: every command takes the beginning of an ID.

Examples:

    spool ls
    spool ls --status=processing
    spool ls --sort=size
    spool ls --tag=course --tag=2026
    spool ls --metadata=album=42 --limit=0 --json
`
}

// Run lists videos.
func (c *List) Run(ctx context.Context, env *Environment) error {
	if c.Limit < 0 {
		return &UsageError{Text: "--limit must not be negative"}
	}
	metadata, err := parseMetadata(c.Metadata)
	if err != nil {
		return err
	}
	filter := client.Filter{Status: client.Status(c.Status), Sort: c.Sort, Order: c.Order, Tags: c.Tag, Metadata: map[string]string{}}
	for key, value := range metadata {
		filter.Metadata[key] = fmt.Sprint(value)
	}
	if c.Limit > 0 {
		filter.PageSize = min(c.Limit, 100)
	}
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	rows, n := [][]string{{"ID", "STATUS", "CREATED", "LENGTH", "SIZE", "PUBLIC", "TITLE"}}, 0
	for v, err := range api.Videos(ctx, filter) {
		if err != nil {
			return c.fail(env, err)
		}
		if c.JSON {
			if err := printJSON(env.Stdout, v); err != nil {
				return err
			}
		} else {
			rows = append(rows, []string{forTerminal(env.shown(v.ID)), statusText(v), v.CreatedAt.Local().Format("2006-01-02 15:04"), seconds(v.DurationSeconds), formatBytes(v.SizeBytes), yesNo(v.Public), forTerminal(title(v))})
		}
		if n++; n == c.Limit {
			break
		}
	}
	if c.JSON {
		return nil
	}
	return printTable(env.Stdout, rows)
}

// statusText is the status of a video, with its progress while there is some.
func statusText(v client.Video) string {
	if v.Status == client.Processing {
		return string(v.Status) + " " + strings.ReplaceAll(percent(v.Progress), " ", "")
	}
	return forTerminal(string(v.Status))
}

func title(v client.Video) string {
	if v.Title != "" {
		return v.Title
	}
	return v.Filename
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Get is spool get.
type Get struct {
	Connection
	ID   string        `arg:"" help:"The video."`
	Life time.Duration `name:"expires" default:"24h" placeholder:"DURATION" help:"How long the URLs of a private video are valid. Default: 24h."`
}

// Help is shown by --help.
func (Get) Help() string {
	return `The URLs of a private video expire; --expires says when.

Examples:

    spool get 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
    spool get 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --expires=1h --json
`
}

// maxLife is the longest life of a URL that the server signs.
const maxLife = 365 * 24 * time.Hour

// checkLife refuses a life that no server gives, before anything is sent.
func checkLife(d time.Duration) error {
	if d <= 0 || d > maxLife {
		return &UsageError{Text: fmt.Sprintf("--expires is %s: it must be from 1s to 8760h", d)}
	}
	return nil
}

// Run shows a video.
func (c *Get) Run(ctx context.Context, env *Environment) error {
	if err := checkLife(c.Life); err != nil {
		return err
	}
	_, v, err := c.read(ctx, env, c.ID, c.Life)
	if err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, v)
	}
	return printTable(env.Stdout, describe(v))
}

// describe says what a person wants to know of a video.
func describe(v client.Video) [][]string {
	rows := [][]string{
		{"id", forTerminal(v.ID)}, {"title", forTerminal(title(v))}, {"file", forTerminal(v.Filename)}, {"status", statusText(v)}, {"public", yesNo(v.Public)},
		{"created", v.CreatedAt.Local().Format(time.RFC1123)}, {"length", seconds(v.DurationSeconds)},
	}
	if !v.ExpiresAt.IsZero() {
		rows = append(rows, []string{"expires", v.ExpiresAt.Local().Format(time.RFC1123)})
	}
	if v.Failure != nil {
		rows = append(rows, []string{"failure", forTerminal(v.Failure.Message)})
	}
	for _, warning := range v.Warnings {
		rows = append(rows, []string{"warning", forTerminal(warning.Message)})
	}
	if len(v.Tags) > 0 {
		rows = append(rows, []string{"tags", forTerminal(strings.Join(v.Tags, ", "))})
	}
	if v.Profile != "" {
		rows = append(rows, []string{"profile", forTerminal(v.Profile)})
	}
	if v.Watermark != nil {
		rows = append(rows, []string{"watermark", forTerminal(v.Watermark.ID + "  " + v.Watermark.Position)})
	}
	for _, key := range slices.Sorted(maps.Keys(v.Metadata)) {
		rows = append(rows, []string{"metadata", forTerminal(fmt.Sprintf("%s=%v", key, v.Metadata[key]))})
	}
	for _, u := range [][]string{{"watch", v.WatchURL}, {"embed", v.EmbedURL}, {"HLS", v.HLSURL}, {"DASH", v.DASHURL}, {"poster", v.PosterURL}} {
		if u[1] != "" {
			rows = append(rows, []string{u[0], forTerminal(u[1])})
		}
	}
	for _, c := range v.Captions {
		rows = append(rows, []string{"captions", forTerminal(c.Language + "  " + c.Label + "  " + c.URL)})
	}
	for _, name := range v.Names() {
		r := v.Resolutions[name]
		text := string(r.Status)
		switch {
		case r.Failure != nil:
			text += ": " + r.Failure.Message
		case r.SameAs != "":
			text = fmt.Sprintf("same as %s  %s", r.SameAs, r.VideoURL)
		case r.Status == client.Ready:
			text = fmt.Sprintf("%dx%d, %s  %s", r.Width, r.Height, formatBytes(r.SizeBytes), r.VideoURL)
		}
		rows = append(rows, []string{forTerminal(name), forTerminal(text)})
	}
	return rows
}

// Watch is spool watch.
type Watch struct {
	Connection
	IDs []string `arg:"" name:"id" help:"The videos."`
}

// Help is shown by --help.
func (Watch) Help() string {
	return `Follows videos until they are ready or have failed. With --json it prints the
state of a video whenever it changes.

Examples:

    spool watch 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
    spool watch 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --json

Exit codes: 0 all are ready, 1 none is, 2 no ID is one, 3 some are.
`
}

// Run follows videos.
func (c *Watch) Run(ctx context.Context, env *Environment) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	api, err := c.client(env, long)
	if err != nil {
		return c.fail(env, err)
	}
	if first, err := c.clientFor(ctx, env, short, each(c.IDs)...); err != nil {
		return c.fail(env, err)
	} else if _, err := first.State(ctx, c.IDs[0]); err != nil && client.Code(err) != client.CodeVideoNotFound {
		return c.fail(env, err)
	}
	b := newBoard(env)
	b.mute = c.JSON // each change is on standard output
	var mu sync.Mutex
	var all sync.WaitGroup
	var count tally
	ids := withoutDuplicates(c.IDs)
	for _, id := range ids {
		r := b.add(id)
		all.Go(func() {
			v, err := api.Wait(ctx, id, func(v client.Video) {
				r.follow(v)
				mu.Lock()
				defer mu.Unlock()
				if c.JSON {
					_ = printJSON(env.Stdout, v) // a closed pipe ends the program anyway
				}
			})
			r.finish()
			mu.Lock()
			defer mu.Unlock()
			count.add(err)
			switch {
			case err != nil && ctx.Err() != nil:
				r.printLine("stopped watching; the encoding goes on")
			case err != nil:
				r.printLine("%s", c.explain(err))
			case !c.JSON:
				fmt.Fprintf(env.Stdout, "%s  %s  %s\n", forTerminal(v.ID), v.Status, forTerminal(title(v)))
			}
		})
	}
	all.Wait()
	b.close()
	return count.outcome(len(ids))
}

// Remove is spool rm.
type Remove struct {
	Connection
	IDs []string `arg:"" name:"id" help:"The videos."`
	Yes bool     `short:"y" help:"Do not ask."`
}

// Help is shown by --help.
func (Remove) Help() string {
	return `Deletes videos with everything that belongs to them. On a terminal it asks first.

Examples:

    spool rm 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
    spool rm --yes 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e

Exit codes: 0 all are deleted, 1 none is, 2 no ID is one, 3 some are.
`
}

// Run deletes videos.
func (c *Remove) Run(ctx context.Context, env *Environment) error {
	api, err := c.clientFor(ctx, env, short, each(c.IDs)...)
	if err != nil {
		return c.fail(env, err)
	}
	ids := withoutDuplicates(c.IDs)
	if env.Interactive && !c.Yes {
		question := fmt.Sprintf("Delete %d videos for ever?", len(ids))
		if len(ids) == 1 {
			v, err := api.State(ctx, ids[0])
			if err != nil {
				return c.fail(env, err)
			}
			question = fmt.Sprintf("Delete %q for ever?", forTerminal(title(v)))
		}
		if !env.confirm(question) {
			fmt.Fprintln(env.Stderr, "Nothing was deleted.")
			return &Ended{Code: failed}
		}
	}
	var count tally
	for _, id := range ids {
		err := api.Delete(ctx, id)
		if isKeyless(err) {
			return c.fail(env, err)
		}
		count.add(err)
		c.printOutcome(env, id, err)
		if _, answered := errors.AsType[*client.Error](err); err != nil && !answered {
			count.failures += len(ids) - slices.Index(ids, id) - 1
			return count.outcome(len(ids)) // no server, no sense in going on
		}
	}
	return count.outcome(len(ids))
}

// printOutcome prints what became of one video.
func (c *Remove) printOutcome(env *Environment, id string, err error) {
	type line struct {
		ID      string `json:"id"`
		Deleted bool   `json:"deleted"`
		Error   *fault `json:"error,omitempty"`
	}
	out := line{ID: id, Deleted: err == nil}
	if err != nil {
		out.Error = &fault{client.Code(err), c.explain(err)}
		fmt.Fprintf(env.Stderr, "spool: %s: %s\n", forTerminal(id), out.Error.Message)
	}
	switch {
	case c.JSON:
		_ = printJSON(env.Stdout, out) // a closed pipe does not bring it back
	case err == nil:
		fmt.Fprintf(env.Stdout, "%s  deleted\n", forTerminal(id))
	}
}
