package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spool-video/spool/client"
)

// pollTexts is how often a command that waits looks for its texts.
const pollTexts = 2 * time.Second

// Transcribe is spool transcribe.
type Transcribe struct {
	Connection
	ID       string `arg:"" help:"The video."`
	Language string `short:"l" placeholder:"LANG" help:"The language that is spoken, such as en. Without it the server's program finds it out."`
	Wait     bool   `help:"Wait until the captions are made."`
}

// Help is shown by --help.
func (Transcribe) Help() string {
	return `Has captions made of what is said, by the program that the server's operator has set. They are made in
spare time, after everything else.

Example:

    spool transcribe 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --language=en --wait
`
}

// Run asks for a transcription.
func (c *Transcribe) Run(ctx context.Context, env *Environment) error {
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	if err := api.Transcribe(ctx, c.ID, c.Language); err != nil {
		return c.fail(env, err)
	}
	return c.finishText(ctx, env, api, c.ID, c.Wait, func(v client.Video) []client.MadeText {
		if v.Transcription == nil {
			return nil
		}
		return []client.MadeText{*v.Transcription}
	})
}

// Translate is spool translate.
type Translate struct {
	Connection
	ID   string   `arg:"" help:"The video."`
	From string   `required:"" placeholder:"LANG" help:"The language of the captions that are translated."`
	To   []string `required:"" placeholder:"LANG" help:"The language to translate into; several with commas."`
	Wait bool     `help:"Wait until the translations are made."`
}

// Help is shown by --help.
func (Translate) Help() string {
	return `Has captions of a video translated, by the program that the server's operator has set. They are made in spare
time, after everything else.

Example:

    spool translate 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e --from=en --to=de,fr
`
}

// Run asks for translations.
func (c *Translate) Run(ctx context.Context, env *Environment) error {
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	if err := api.Translate(ctx, c.ID, c.From, c.To...); err != nil {
		return c.fail(env, err)
	}
	return c.finishText(ctx, env, api, c.ID, c.Wait, func(v client.Video) []client.MadeText {
		return slices.DeleteFunc(v.Translations, func(m client.MadeText) bool { return m.From != c.From })
	})
}

// finishText prints what was asked for and, if the user waits, what became of it.
func (c *Connection) finishText(ctx context.Context, env *Environment, api *client.Client, id string, wait bool, texts func(client.Video) []client.MadeText) error {
	for {
		v, err := api.Video(ctx, id, time.Hour)
		if err != nil {
			return c.fail(env, err)
		}
		all := texts(v)
		open := slices.ContainsFunc(all, func(m client.MadeText) bool { return !m.Status.Done() })
		if !wait || !open {
			return c.printTexts(env, v, all, wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollTexts):
		}
	}
}

func (c *Connection) printTexts(env *Environment, v client.Video, all []client.MadeText, waited bool) error {
	if c.JSON {
		return printJSON(env.Stdout, v)
	}
	var failed error
	for _, m := range all {
		language := m.Language
		if language == "" {
			language = "?"
		}
		fmt.Fprintf(env.Stdout, "%s  %s\n", forTerminal(language), forTerminal(string(m.Status)))
		if waited && m.Failure != nil {
			failed = errors.New(m.Failure.Message)
		}
	}
	if failed != nil {
		return c.fail(env, failed)
	}
	return nil
}
