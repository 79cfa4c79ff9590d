package clientcmd

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spool-video/spool/client"
)

// Audio is spool audio.
type Audio struct {
	List   AudioList   `cmd:"" name:"ls" help:"List the sound tracks of a video."`
	Add    AudioAdd    `cmd:"" help:"Add a sound track."`
	Set    AudioSet    `cmd:"" help:"Change a sound track, or make it the default one."`
	Remove AudioRemove `cmd:"" name:"rm" help:"Delete a sound track."`
}

// Help is shown by --help.
func (Audio) Help() string {
	return `A video can have several sound tracks: languages, comments, descriptions of the pictures.
The tracks of the uploaded file are taken by themselves.

Examples:

    spool audio ls ID
    spool audio add ID film.de.m4a --language=de
    spool audio set ID TRACK --default
    spool audio rm ID TRACK
`
}

// AudioList is spool audio ls.
type AudioList struct {
	Connection
	ID string `arg:"" help:"The video."`
}

// Help is shown by --help.
func (AudioList) Help() string {
	return `Examples:

    spool audio ls 01a1def4-4be5-7bb0-a2dd-9e2cc5f1cd4d
`
}

// Run lists sound tracks.
func (c *AudioList) Run(ctx context.Context, env *Environment) error {
	_, v, err := c.read(ctx, env, c.ID, time.Hour)
	if err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, v.AudioTracks)
	}
	return printTracks(env, v.AudioTracks...)
}

func printTracks(env *Environment, all ...client.AudioTrack) error {
	rows := [][]string{{"ID", "LANGUAGE", "LABEL", "KIND", "STATUS", ""}}
	for _, t := range all {
		note := ""
		if t.Default {
			note = "default"
		}
		if t.Failure != nil {
			note = t.Failure.Message
		}
		rows = append(rows, []string{forTerminal(t.ID), forTerminal(t.Language), forTerminal(t.Label), forTerminal(t.Kind), forTerminal(string(t.Status)), forTerminal(note)})
	}
	return printTable(env.Stdout, rows)
}

// AudioAdd is spool audio add.
type AudioAdd struct {
	Connection
	ID       string `arg:"" help:"The video."`
	File     string `arg:"" help:"A file with sound, or its https address."`
	Language string `short:"l" placeholder:"TAG" help:"The language, such as en or pt-BR. Default: the one in the name of the file, such as film.de.m4a."`
	Label    string `placeholder:"TEXT" help:"The name in the player's menu. Default: the name of the language."`
	Kind     string `placeholder:"KIND" help:"main, dub, commentary or description. Default: dub."`
}

// Help is shown by --help.
func (AudioAdd) Help() string {
	return `Examples:

    spool audio add 01a1def4-4be5-7bb0-a2dd-9e2cc5f1cd4d film.de.m4a
    spool audio add 01a1def4-4be5-7bb0-a2dd-9e2cc5f1cd4d https://example.com/dub.mp3 --language=fr
`
}

// Run adds a sound track.
func (c *AudioAdd) Run(ctx context.Context, env *Environment) error {
	if c.Language == "" {
		c.Language, _ = languageOf(c.File) // without one it is not known
	}
	api, err := c.clientFor(ctx, env, long, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	t, err := c.add(ctx, api)
	if err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, t)
	}
	return printTracks(env, t)
}

func (c *AudioAdd) add(ctx context.Context, api *client.Client) (client.AudioTrack, error) {
	options := client.AudioOptions{Language: c.Language, Label: c.Label, Kind: c.Kind}
	if isURL(c.File) {
		return api.AddAudioFrom(ctx, c.ID, c.File, options)
	}
	f, err := os.Open(c.File)
	if err != nil {
		return client.AudioTrack{}, &UsageError{Text: err.Error()}
	}
	defer f.Close()
	return api.AddAudio(ctx, c.ID, f, options)
}

// AudioSet is spool audio set.
type AudioSet struct {
	Connection
	ID       string  `arg:"" help:"The video."`
	Track    string  `arg:"" help:"The track, from spool audio ls."`
	Language *string `short:"l" placeholder:"TAG" help:"The language, such as en or pt-BR."`
	Label    *string `placeholder:"TEXT" help:"The name in the player's menu."`
	Kind     *string `placeholder:"KIND" help:"main, dub, commentary or description."`
	Default  bool    `help:"Players begin with it, and the MP4 files get it."`
}

// Help is shown by --help.
func (AudioSet) Help() string {
	return `Examples:

    spool audio set 01a1def4-4be5-7bb0-a2dd-9e2cc5f1cd4d 01a1def4-5d21-7a09-8c11-2f3a4b5c6d7e --default
    spool audio set 01a1def4-4be5-7bb0-a2dd-9e2cc5f1cd4d 01a1def4-5d21-7a09-8c11-2f3a4b5c6d7e --label=Deutsch
`
}

// Run changes a sound track.
func (c *AudioSet) Run(ctx context.Context, env *Environment) error {
	if c.Language == nil && c.Label == nil && c.Kind == nil && !c.Default {
		return &UsageError{Text: "say what to change: --language, --label, --kind or --default"}
	}
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	t, err := api.ChangeAudio(ctx, c.ID, c.Track, client.AudioChange{Language: c.Language, Label: c.Label, Kind: c.Kind, Default: c.Default})
	if err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, t)
	}
	return printTracks(env, t)
}

// AudioRemove is spool audio rm.
type AudioRemove struct {
	Connection
	ID    string `arg:"" help:"The video."`
	Track string `arg:"" help:"The track, from spool audio ls."`
}

// Help is shown by --help.
func (AudioRemove) Help() string {
	return `Examples:

    spool audio rm 01a1def4-4be5-7bb0-a2dd-9e2cc5f1cd4d 01a1def4-5d21-7a09-8c11-2f3a4b5c6d7e
`
}

// Run deletes a sound track.
func (c *AudioRemove) Run(ctx context.Context, env *Environment) error {
	api, err := c.clientFor(ctx, env, short, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	if err := api.DeleteAudio(ctx, c.ID, c.Track); err != nil {
		return c.fail(env, err)
	}
	if c.JSON {
		return printJSON(env.Stdout, map[string]string{"id": c.ID, "deleted": c.Track})
	}
	_, err = fmt.Fprintf(env.Stdout, "%s  sound track deleted\n", forTerminal(c.Track))
	return err
}
