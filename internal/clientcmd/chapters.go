package clientcmd

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/spool-video/spool/client"
)

// Chapters is spool chapters.
type Chapters struct {
	Connection
	ID     string `arg:"" help:"The video."`
	File   string `arg:"" optional:"" help:"The chapters: WebVTT, or lines such as 00:42 The second act; - is standard input. Without a file, the chapters are printed."`
	Remove bool   `name:"rm" help:"Remove the chapters."`
}

// Help is shown by --help.
func (Chapters) Help() string {
	return `Sets the chapters of a video, prints them, or removes them. What it prints can be edited and set again.

Examples:

    spool chapters 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e chapters.txt
    spool chapters 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e >chapters.txt
    spool chapters 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --rm
`
}

// Run sets, prints or removes chapters.
func (c *Chapters) Run(ctx context.Context, env *Environment) error {
	if c.Remove && c.File != "" {
		return &UsageError{Text: "name a file or --rm, not both"}
	}
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	var all []client.Chapter
	switch {
	case c.Remove:
		err = api.DeleteChapters(ctx, c.ID)
	case c.File != "":
		all, err = c.set(ctx, env, api)
	default:
		var v client.Video
		v, err = api.Video(ctx, c.ID, time.Minute)
		all = v.Chapters
	}
	if err != nil {
		return c.fail(env, err)
	}
	return c.print(env, all)
}

// set sends the file.
func (c *Chapters) set(ctx context.Context, env *Environment, api *client.Client) ([]client.Chapter, error) {
	if c.File == "-" {
		return api.SetChaptersText(ctx, c.ID, env.Stdin)
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, &UsageError{Text: err.Error()}
	}
	defer f.Close()
	return api.SetChaptersText(ctx, c.ID, f)
}

// print prints chapters as lines that can be set again.
func (c *Chapters) print(env *Environment, all []client.Chapter) error {
	if c.JSON {
		return printJSON(env.Stdout, map[string]any{"id": c.ID, "chapters": append([]client.Chapter{}, all...)})
	}
	for _, one := range all {
		if _, err := io.WriteString(env.Stdout, chapterTime(one.StartSeconds)+" "+forTerminal(one.Title)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// chapterTime writes when a chapter begins, with milliseconds if it is not a whole second.
func chapterTime(start float64) string {
	millis := int64(math.Round(start * 1000))
	text := formatDuration(time.Duration(millis/1000) * time.Second)
	if millis%1000 > 0 {
		text += fmt.Sprintf(".%03d", millis%1000)
	}
	return text
}
