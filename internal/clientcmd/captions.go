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
	Connection
	ID       string `arg:"" help:"The video."`
	File     string `arg:"" help:"The captions, as WebVTT or SubRip."`
	Language string `short:"l" placeholder:"TAG" help:"The language, such as en or pt-BR. Default: the one in the name of the file, such as film.en.vtt."`
	Label    string `placeholder:"TEXT" help:"The name in the player's menu. Default: the name of the language."`
	Kind     string `placeholder:"KIND" help:"subtitles, or captions, which also describe sounds. Default: subtitles."`
}

// Help is shown by --help.
func (Captions) Help() string {
	return `Adds captions to a video, or replaces those in the same language.

Examples:

    spool captions 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e film.en.vtt
    spool captions 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e words.srt --language=pt-BR --label=Brasil
`
}

// Run adds captions.
func (c *Captions) Run(ctx context.Context, env *Environment) error {
	if err := checkCaptions(c.File); err != nil {
		return err
	}
	if c.Language == "" {
		var err error
		if c.Language, err = languageOf(c.File); err != nil {
			return err
		}
	}
	api, err := c.client(env, short)
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
