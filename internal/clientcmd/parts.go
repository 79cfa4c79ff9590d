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
	Profile     string        `placeholder:"NAME" help:"A profile of the server: a ladder that its operator has prepared."`
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
	start, end, err := parseTimes(c.From, c.To)
	if err != nil {
		return err
	}
	if err := checkLife(c.Life); err != nil {
		return err
	}
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	made, err := api.Create(ctx, client.NewVideo{
		Title: c.Title, Resolutions: withoutSpaces(c.Resolutions), Profile: c.Profile, Public: c.Public, Clip: &client.Clip{VideoID: c.ID, Start: start, End: end},
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

// Preview is spool preview.
type Preview struct {
	Connection
	ID   string        `arg:"" help:"The video, which is private."`
	From string        `default:"0" placeholder:"TIME" help:"Where the preview begins, such as 12.5 or 1:30. Default: the beginning."`
	To   string        `default:"0" placeholder:"TIME" help:"Where it ends. Default: the end."`
	Life time.Duration `name:"expires" default:"24h" placeholder:"DURATION" help:"How long the printed URLs are valid. Default: 24h."`
}

// Help is shown by --help.
func (Preview) Help() string {
	return `Prints URLs that play a part of a private video and nothing else, cut at segments of
a few seconds. Nothing is made for it.

Examples:

    spool preview 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --from=1:30 --to=2:00 --expires=1h
`
}

// Run prints the URLs of a preview.
func (p *Preview) Run(ctx context.Context, env *Environment) error {
	start, end, err := parseTimes(p.From, p.To)
	if err != nil {
		return err
	}
	if start == 0 && end == 0 {
		return &UsageError{Text: "a preview of all of a video is no preview: give --from or --to"}
	}
	if err := checkLife(p.Life); err != nil {
		return err
	}
	api, err := p.clientFor(ctx, env, short, &p.ID)
	if err != nil {
		return p.fail(env, err)
	}
	v, err := api.PreviewVideo(ctx, p.ID, p.Life, start, end)
	if err != nil {
		return p.fail(env, err)
	}
	if p.JSON {
		return printJSON(env.Stdout, map[string]string{"id": v.ID, "hlsUrl": v.HLSURL, "dashUrl": v.DASHURL})
	}
	return printTable(env.Stdout, [][]string{{"HLS", v.HLSURL}, {"DASH", v.DASHURL}})
}

// parseTimes reads the values of --from and --to.
func parseTimes(from, to string) (start, end float64, err error) {
	start, err = parseTime(from)
	if err == nil {
		end, err = parseTime(to)
	}
	if err != nil {
		return 0, 0, &UsageError{Text: err.Error()}
	}
	return start, end, nil
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
