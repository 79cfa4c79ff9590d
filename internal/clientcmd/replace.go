package clientcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spool-video/spool/client"
)

// Replace is spool replace.
type Replace struct {
	Connection
	ID          string   `arg:"" help:"The video."`
	File        string   `arg:"" help:"The new file, or a URL that the server fetches."`
	Resolutions []string `placeholder:"NAME" help:"Resolutions to make of it. Default: those that the video has."`
	HDR         string   `name:"hdr" enum:",sdr,keep" default:"" placeholder:"WHAT" help:"What becomes of HDR: keep (in AV1 and HEVC) or sdr. Default: as for the file before."`
	Profile     *string  `placeholder:"NAME" help:"A profile of the server; none: without one. Default: as for the file before."`
	CopySource  string   `enum:",never,auto" default:"" placeholder:"WHEN" help:"auto copies the picture of the file at its own size, where that plays everywhere as it is; never encodes it. Default: as for the file before."`
	Loudness    string   `enum:",keep,normalize" default:"" placeholder:"WHAT" help:"What becomes of the loudness of the sound: keep, or normalize (all files equally loud). Default: as for the file before."`
	AcceptAudio *bool    `negatable:"" help:"Accept a file with sound and no picture. Default: as for the file before."`
	Wait        bool     `short:"w" help:"Wait until the video has the new file."`
}

// Help is shown by --help.
func (Replace) Help() string {
	return `Replaces the file of a video. The video keeps its ID, its title and all its URLs. The old
file is played until the new one is ready. If the new file cannot be read, nothing changes.

Examples:

    spool replace 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e corrected.mov --wait
    spool replace 0198c5b6-7d5e-7c3a-9b1e-1f2a3b4c5d6e https://example.com/corrected.mov
`
}

// Run replaces the file.
func (c *Replace) Run(ctx context.Context, env *Environment) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	api, err := c.clientFor(ctx, env, long, &c.ID)
	if err != nil {
		return c.fail(env, err)
	}
	before, err := api.State(ctx, c.ID)
	if err != nil && client.Code(err) != client.CodeInsufficientScope { // a key that may only write can do this, too
		return c.fail(env, err)
	}
	board := newBoard(env)
	row := board.add(c.File)
	v, err := c.send(ctx, api, row)
	if err == nil && c.Wait {
		v, err = api.WaitReplaced(ctx, c.ID, row.followReplacement)
	}
	row.finish()
	board.close()
	if err != nil {
		return c.fail(env, err)
	}
	done := "is on its way"
	switch {
	case v.ReplacedAt.After(before.ReplacedAt):
		done = "replaced"
	case c.Wait:
		return c.fail(env, errors.New("this replacement was given up, by another command or in the console: the video has the file that it had"))
	}
	if c.JSON {
		return printJSON(env.Stdout, v)
	}
	_, err = fmt.Fprintf(env.Stdout, "%s  %s  %s\n", forTerminal(c.ID), done, forTerminal(c.File))
	return err
}

func (c *Replace) send(ctx context.Context, api *client.Client, r *row) (client.Video, error) {
	f := client.NewFile{Resolutions: withoutSpaces(c.Resolutions), HDR: c.HDR, Profile: c.Profile, AcceptAudio: c.AcceptAudio, CopySource: c.CopySource, Loudness: c.Loudness}
	if c.Profile != nil && *c.Profile == "none" {
		f.Profile = new("")
	}
	if isURL(c.File) {
		f.SourceURL = c.File
		if _, err := api.Replace(ctx, c.ID, f); err != nil {
			return client.Video{}, err
		}
		return api.State(ctx, c.ID)
	}
	return api.ReplaceFile(ctx, c.ID, c.File, f, &client.UploadOptions{Progress: r.uploading, RetryFor: long})
}

// followReplacement shows how far the file has come that will replace another one.
func (r *row) followReplacement(v client.Video) {
	if n := v.Replacement; n != nil {
		r.follow(client.Video{ID: v.ID, Status: n.Status, Progress: n.Progress})
	}
}
