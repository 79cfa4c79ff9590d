package clientcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spool-video/spool/client"
)

// Watermarks is spool watermarks.
type Watermarks struct {
	List   WatermarkList   `cmd:"" name:"ls" help:"List watermarks."`
	Add    WatermarkAdd    `cmd:"" help:"Add a watermark."`
	Remove WatermarkRemove `cmd:"" name:"rm" help:"Delete watermarks. Videos that have them keep them."`
}

// Help is shown by --help.
func (Watermarks) Help() string {
	return `A watermark is a picture that is laid over videos: over every rendition, thumbnail and
poster. Name it when you upload:

    spool watermarks add logo.png
    spool upload film.mov --watermark=ID
    spool upload film.mov --watermark=ID,position=top-left,width=0.1,opacity=0.7

The operator can make one the usual watermark of a tenant:

    spool tenants set acme --watermark=ID
`
}

// WatermarkList is spool watermarks ls.
type WatermarkList struct{ Connection }

// Help is shown by --help.
func (WatermarkList) Help() string {
	return `    spool watermarks ls
    spool watermarks ls --json
`
}

// Run lists the watermarks.
func (c *WatermarkList) Run(ctx context.Context, env *Environment) error {
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	all, err := api.Watermarks(ctx)
	if err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, all)
	}
	return printWatermarks(env, all)
}

func printWatermarks(env *Environment, all []client.Watermark) error {
	rows := [][]string{{"ID", "NAME", "SIZE"}}
	for _, w := range all {
		rows = append(rows, []string{forTerminal(w.ID), forTerminal(w.Name), fmt.Sprintf("%d × %d", w.Width, w.Height)})
	}
	return printTable(env.Stdout, rows)
}

// WatermarkAdd is spool watermarks add.
type WatermarkAdd struct {
	Connection
	File string `arg:"" help:"A PNG or a WebP, of at most 2 MiB and 4096 × 4096 pixels."`
	Name string `placeholder:"TEXT" help:"What people call it. Default: the name of the file."`
}

// Help is shown by --help.
func (WatermarkAdd) Help() string {
	return `    spool watermarks add logo.png
    spool watermarks add logo.webp --name=Logo
`
}

// Run adds a watermark.
func (c *WatermarkAdd) Run(ctx context.Context, env *Environment) error {
	f, err := os.Open(c.File)
	if err != nil {
		return &UsageError{Text: err.Error()}
	}
	defer f.Close()
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	if c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File))
	}
	w, err := api.AddWatermark(ctx, c.Name, f)
	if err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, w)
	}
	return printWatermarks(env, []client.Watermark{w})
}

// WatermarkRemove is spool watermarks rm.
type WatermarkRemove struct {
	Connection
	IDs []string `arg:"" name:"id" help:"The watermarks."`
}

// Help is shown by --help.
func (WatermarkRemove) Help() string {
	return `New videos cannot get them any more.

    spool watermarks rm 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e
`
}

// Run deletes watermarks.
func (c *WatermarkRemove) Run(ctx context.Context, env *Environment) error {
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	for _, id := range c.IDs {
		if err := api.DeleteWatermark(ctx, id); err != nil {
			return c.fail(env, err)
		}
	}
	if c.JSON {
		return printJSON(env.Stdout, map[string][]string{"deleted": c.IDs})
	}
	_, err = fmt.Fprintln(env.Stdout, "deleted:", forTerminal(strings.Join(c.IDs, " ")))
	return err
}

// ParseWatermark reads "ID" or "ID,position=top-left,width=0.1,margin=0.02,opacity=0.7". "none" is a choice
// without an ID.
func ParseWatermark(text string) (*client.WatermarkChoice, error) {
	id, rest, _ := strings.Cut(text, ",")
	choice := &client.WatermarkChoice{ID: strings.TrimSpace(id)}
	if choice.ID == "none" && rest == "" {
		choice.ID = ""
		return choice, nil
	}
	for part := range strings.SplitSeq(rest, ",") {
		if rest == "" {
			break
		}
		if err := setWatermarkOption(choice, part); err != nil {
			return nil, err
		}
	}
	return choice, nil
}

func setWatermarkOption(choice *client.WatermarkChoice, option string) error {
	name, value, _ := strings.Cut(option, "=")
	shares := map[string]**float64{"width": &choice.Width, "margin": &choice.Margin, "opacity": &choice.Opacity}
	share, isShare := shares[name]
	switch {
	case name == "position":
		choice.Position = value
	case isShare:
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return &UsageError{Text: fmt.Sprintf("--watermark: %s must be a number such as 0.2, and is %q", name, value)}
		}
		*share = &number
	default:
		return &UsageError{Text: fmt.Sprintf("--watermark: %q is none of position=…, width=…, margin=… and opacity=…", option)}
	}
	return nil
}
