package clientcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spool-video/spool/client"
)

// Captions is spool captions.
type Captions struct {
	Add    CaptionsAdd    `cmd:"" default:"withargs" help:"Add captions to a video; may be left out."`
	List   CaptionsList   `cmd:"" name:"ls" help:"List the captions of a video."`
	Remove CaptionsRemove `cmd:"" name:"rm" help:"Delete captions."`
}

// Help is shown by --help.
func (Captions) Help() string {
	return `A video has at most one text in each language. Those in the uploaded file are taken by themselves.

Examples:

    spool captions 0198c5b6-7d5e-7c3a film.en.vtt
    spool captions ls 0198c5b6-7d5e-7c3a
    spool captions rm 0198c5b6-7d5e-7c3a en
`
}

// CaptionsAdd is spool captions add.
type CaptionsAdd struct {
	Connection
	ID       string `arg:"" help:"The video."`
	File     string `arg:"" help:"The captions, as WebVTT or SubRip."`
	Language string `short:"l" placeholder:"TAG" help:"The language, such as en or pt-BR. Default: the one in the name of the file, such as film.en.vtt."`
	Label    string `placeholder:"TEXT" help:"The name in the player's menu. Default: the name of the language."`
	Kind     string `placeholder:"KIND" help:"subtitles, or captions, which also describe sounds. Default: subtitles."`
}

// Help is shown by --help.
func (CaptionsAdd) Help() string {
	return `Adds captions to a video, or replaces those in the same language.

Examples:

    spool captions add 0198c5b6-7d5e-7c3a film.en.vtt
    spool captions add 0198c5b6-7d5e-7c3a words.srt --language=pt-BR --label=Brasil
`
}

// Run adds captions.
func (c *CaptionsAdd) Run(ctx context.Context, env *Environment) error {
	if err := checkCaptions(c.File); err != nil {
		return err
	}
	if c.Language == "" {
		var err error
		if c.Language, err = languageOf(c.File); err != nil {
			return err
		}
	}
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	if err := setCaptions(ctx, api, c.ID, c.File, c.Language, client.CaptionOptions{Label: c.Label, Kind: c.Kind}); err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, map[string]string{"id": c.ID, "language": c.Language})
	}
	_, err = fmt.Fprintf(env.Stdout, "%s  captions %s\n", forTerminal(c.ID), forTerminal(c.Language))
	return err
}

// CaptionsList is spool captions ls.
type CaptionsList struct {
	Connection
	ID string `arg:"" help:"The video."`
}

// Help is shown by --help.
func (CaptionsList) Help() string {
	return "Example:\n\n    spool captions ls 0198c5b6-7d5e-7c3a\n"
}

// Run lists captions.
func (c *CaptionsList) Run(ctx context.Context, env *Environment) error {
	_, v, err := c.read(ctx, env, c.ID, originalLife)
	if err != nil {
		return c.fail(env, err)
	}
	rows := [][]string{{"LANGUAGE", "KIND", "SOURCE", "LABEL", "URL"}}
	for _, t := range v.Captions {
		if c.JSON {
			if err := printJSON(env.Stdout, t); err != nil {
				return err
			}
		}
		rows = append(rows, []string{forTerminal(t.Language), forTerminal(t.Kind), forTerminal(t.Source), forTerminal(t.Label), forTerminal(t.URL)})
	}
	if c.JSON {
		return nil
	}
	return printTable(env.Stdout, rows)
}

// CaptionsRemove is spool captions rm.
type CaptionsRemove struct {
	Connection
	ID        string   `arg:"" help:"The video."`
	Languages []string `arg:"" name:"language" help:"The languages, such as en."`
}

// Help is shown by --help.
func (CaptionsRemove) Help() string {
	return "Example:\n\n    spool captions rm 0198c5b6-7d5e-7c3a en pt-BR\n"
}

// Run deletes captions.
func (c *CaptionsRemove) Run(ctx context.Context, env *Environment) error {
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	for _, language := range withoutDuplicates(c.Languages) {
		if err := api.DeleteCaptions(ctx, c.ID, language); err != nil {
			return c.fail(env, err)
		}
		if c.JSON {
			err = printJSON(env.Stdout, map[string]string{"id": c.ID, "deleted": language})
		} else {
			_, err = fmt.Fprintf(env.Stdout, "%s  captions %s deleted\n", forTerminal(c.ID), forTerminal(language))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setCaptions sends a file of captions.
func setCaptions(ctx context.Context, api *client.Client, id, file, language string, o client.CaptionOptions) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return api.SetCaptions(ctx, id, language, f, o)
}

// maxCaptions is how large a file of captions may be, as the API says.
const maxCaptions = 2 << 20

// checkCaptions returns an error for a file that cannot be captions, before it is sent.
func checkCaptions(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return &UsageError{Text: err.Error()}
	}
	if n := info.Size(); n > maxCaptions {
		return &UsageError{Text: fmt.Sprintf("%s has %s, and captions may have %s: name a file with WebVTT or SubRip, such as film.en.vtt",
			forTerminal(file), formatBytes(n), formatBytes(maxCaptions))}
	}
	return nil
}

// languageTag is what a tag of BCP 47 looks like; the server knows which exist.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)

// languageOf reads the language from a name such as film.en.vtt.
func languageOf(file string) (string, error) {
	name := filepath.Base(file)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	tag := strings.TrimPrefix(filepath.Ext(name), ".")
	if !languageTag.MatchString(tag) {
		return "", &UsageError{Text: fmt.Sprintf("%s does not say its language: call it NAME.en.vtt, or use spool captions with --language", forTerminal(file))}
	}
	return tag, nil
}
