package clientcmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spool-video/spool/client"
)

// Clip is spool clip.
type Clip struct {
	Connection
	ID          string        `arg:"" help:"The video."`
	From        string        `required:"" placeholder:"TIME" help:"Where the clip begins, such as 12.5 or 1:30."`
	To          string        `required:"" placeholder:"TIME" help:"Where it ends."`
	Title       string        `placeholder:"TEXT" help:"The title of the clip. Default: the title of the video."`
	Resolutions []string      `placeholder:"NAME" help:"Resolutions to make. Default: what the server is set to, usually 1080p,720p,480p."`
	Public      bool          `help:"Anyone may watch. Default: only with signed URLs."`
	Wait        bool          `short:"w" help:"Wait until the clip is ready."`
	Life        time.Duration `name:"expires" default:"24h" placeholder:"DURATION" help:"How long the printed URLs of a private clip are valid. Default: 24h."`
}

// Help is shown by --help.
func (Clip) Help() string {
	return `Makes a video of a part of another one, exact to the frame. The clip is a video of its
own: it stays when the other one is deleted.

Examples:

    spool clip 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --from=1:30 --to=1:45.5 --title=Goal --wait
`
}

// Run makes a clip.
func (c *Clip) Run(ctx context.Context, env *Environment) error {
	start, err := parseTime(c.From)
	if err != nil {
		return &UsageError{Text: err.Error()}
	}
	end, err := parseTime(c.To)
	if err != nil {
		return &UsageError{Text: err.Error()}
	}
	if err := checkLife(c.Life); err != nil {
		return err
	}
	api, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	made, err := api.Create(ctx, client.NewVideo{
		Title: c.Title, Resolutions: withoutSpaces(c.Resolutions), Public: c.Public, Clip: &client.Clip{VideoID: c.ID, Start: start, End: end},
	})
	if err == nil && c.Wait {
		_, err = api.Wait(ctx, made.ID, nil)
	}
	if err != nil {
		return c.fail(env, err)
	}
	v, err := api.Video(ctx, made.ID, c.Life)
	if err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, v)
	}
	return printTable(env.Stdout, describe(v))
}

// parseTrim reads START-END, of which each may be left out; nil: all of a file.
func parseTrim(text string) (*client.Trim, error) {
	if text == "" {
		return nil, nil
	}
	start, end, found := strings.Cut(text, "-")
	var t client.Trim
	var err error
	if found && start != "" {
		t.Start, err = parseTime(start)
	}
	if found && end != "" && err == nil {
		t.End, err = parseTime(end)
	}
	if !found || err != nil || t == (client.Trim{}) || end != "" && t.End <= t.Start {
		return nil, &UsageError{Text: fmt.Sprintf("--trim: %q is not START-END, such as 12.5-1:30, 90- or -30", text)}
	}
	return &t, nil
}

// parseTime reads seconds, or hours, minutes and seconds with colons between them.
func parseTime(text string) (seconds float64, err error) {
	parts := strings.Split(text, ":")
	for i, part := range parts {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || len(parts) > 3 || strings.Trim(part, "0123456789.") != "" || i > 0 && n >= 60 {
			return 0, fmt.Errorf("%q is no time such as 12.5 or 1:02:03", text)
		}
		seconds = seconds*60 + n
	}
	return seconds, nil
}
