package main

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/spool-video/spool/internal/clientcmd"
	"github.com/spool-video/spool/internal/settings"
)

// cli is the grammar of the command line.
type cli struct {
	Serve       serveCommand         `cmd:"" help:"Run the service."`
	Upload      clientcmd.Upload     `cmd:"" help:"Upload files, and resume uploads that were stopped."`
	Import      clientcmd.Import     `cmd:"" help:"Make a video of each line of a list."`
	List        clientcmd.List       `cmd:"" name:"ls" help:"List videos."`
	Search      clientcmd.Search     `cmd:"" help:"Find videos by what is said in them."`
	Get         clientcmd.Get        `cmd:"" help:"Show a video and its URLs."`
	Set         clientcmd.Set        `cmd:"" help:"Change videos: title, metadata, tags, expiry."`
	Edit        clientcmd.Edit       `cmd:"" help:"Change a video in an editor."`
	Open        clientcmd.Open       `cmd:"" help:"Open the page of a video in a browser."`
	Download    clientcmd.Download   `cmd:"" help:"Download a file that was made of a video."`
	Watch       clientcmd.Watch      `cmd:"" help:"Follow the processing of videos."`
	Remove      clientcmd.Remove     `cmd:"" name:"rm" help:"Delete videos."`
	Captions    clientcmd.Captions   `cmd:"" help:"Add, list and delete captions of a video."`
	Audience    clientcmd.Audience   `cmd:"" help:"Show what was watched, of a video or of all."`
	Audio       clientcmd.Audio      `cmd:"" help:"List, add, change and delete the sound tracks of a video."`
	Transcribe  clientcmd.Transcribe `cmd:"" help:"Have captions made of what is said in a video."`
	Translate   clientcmd.Translate  `cmd:"" help:"Have captions of a video translated."`
	Share       clientcmd.Share      `cmd:"" help:"Make links with which people watch a video without a key."`
	Original    clientcmd.Original   `cmd:"" help:"Download the file that was uploaded."`
	Replace     clientcmd.Replace    `cmd:"" help:"Replace the file of a video, which keeps its URLs."`
	Watermarks  clientcmd.Watermarks `cmd:"" help:"Manage the pictures that are laid over videos."`
	Chapters    clientcmd.Chapters   `cmd:"" help:"Set, print or remove the chapters of a video."`
	Poster      clientcmd.Poster     `cmd:"" help:"Choose the poster of a video."`
	Clip        clientcmd.Clip       `cmd:"" help:"Make a video of a part of another one."`
	Preview     clientcmd.Preview    `cmd:"" help:"Print URLs that play a part of a private video."`
	Webhooks    clientcmd.Webhooks   `cmd:"" help:"Manage webhooks, or receive their events on this machine."`
	Audit       clientcmd.Audit      `cmd:"" help:"List who changed what."`
	Sessions    clientcmd.Sessions   `cmd:"" help:"List who is signed in to the console, and end sessions."`
	Keys        keysCommand          `cmd:"" help:"Create, list and revoke API keys."`
	SigningKeys signingKeysCommand   `cmd:"" help:"List, rotate and revoke the keys that sign upload and playback URLs."`
	Tenants     tenantsCommand       `cmd:"" help:"List tenants and set their limits."`
	Workers     workersCommand       `cmd:"" help:"List the workers of a shared database and their tasks."`
	Backup      backupCommand        `cmd:"" help:"Write the database and all videos into a file or a folder, while the service runs."`
	Restore     restoreCommand       `cmd:"" help:"Restore a service from a backup."`
	Migrate     migrateCommand       `cmd:"" help:"Move to another database and storage."`
	Doctor      doctorCommand        `cmd:"" help:"Check this machine and the settings, and say what to fix."`
	Docs        docsCommand          `cmd:"" help:"Write the handbook as files for a web server."`
	Completion  completionCommand    `cmd:"" help:"Print a script that completes commands in a shell."`
	Version     versionCommand       `cmd:"" help:"Print the version."`

	ShowVersion versionFlag `name:"version" help:"Print the version and exit."`
}

const description = `Spool receives video uploads and transcodes them to MP4 files for every screen.

  spool serve                      run the service on 127.0.0.1:8080
  spool upload film.mov --wait     upload a file and wait until it can be watched
  spool ls                         list the videos
  spool keys create --name=phone   create another API key
  spool serve --help               all settings

Every setting of serve is a flag, an environment variable SPOOL_… and a line in
spool.toml. A flag overrides the environment, the environment overrides the file.
upload, import, ls, search, get, set, edit, open, download, watch, rm, captions, transcribe, translate, audio, chapters, clip, preview,
share, original, replace, poster, audience, audit, sessions and webhooks speak to the server at SPOOL_SERVER (default: http://localhost:8080) with the key in
SPOOL_API_KEY.`

// newParser builds the parser of the command line. Flags that are not on it come from s.
// It gives kong no variables: kong expands each of them once for every flag, and two of them
// took a third of the time that this takes.
func newParser(c *cli, s *settings.Settings, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(c, append(options,
		kong.Name("spool"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact: true, FlagsLast: true, NoAppDescFormat: true, WrapUpperBound: 100,
		}),
		kong.ValueFormatter(s.Help),
		kong.Resolvers(s),
		kong.PostBuild(s.CollectNames),
		kong.KindMapper(reflect.String, kong.MapperFunc(decodeText)),
	)...)
}

// decodeText takes text as it is. kong passes it through JSON, which changes the names of files that are not UTF-8.
func decodeText(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	text, ok := token.Value.(string)
	if !ok {
		text = fmt.Sprint(token.Value)
	}
	target.SetString(text)
	return nil
}

// commandFaults returns what is wrong with the settings of the chosen command.
func commandFaults(ctx *kong.Context) []string {
	for _, path := range slices.Backward(ctx.Path) {
		if path.Command == nil {
			continue
		}
		if c, ok := path.Command.Target.Addr().Interface().(interface{ faults() []string }); ok {
			return c.faults()
		}
	}
	return nil
}

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (versionCommand) Help() string {
	return "Examples:\n\n    spool version\n    spool version --json\n"
}

// Run prints the version.
func (c versionCommand) Run(p *process) error {
	if c.JSON {
		return printJSON(p.stdout, map[string]string{"version": strings.TrimPrefix(buildVersion(), "v")})
	}
	return printVersion(p.stdout)
}

// versionFlag is --version, which most programs have instead of a command.
type versionFlag bool

// BeforeReset prints the version before kong asks for a command.
func (versionFlag) BeforeReset(parser *kong.Kong) error {
	defer parser.Exit(exitOK)
	return printVersion(parser.Stdout)
}

func printVersion(w io.Writer) error {
	_, err := io.WriteString(w, "spool "+strings.TrimPrefix(buildVersion(), "v")+"\n")
	return err
}
