package clientcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spool-video/spool/client"
)

// Download is spool download.
type Download struct {
	Connection
	ID         string `arg:"" help:"The video."`
	Resolution string `short:"r" placeholder:"NAME" help:"Which resolution, such as 720p. Default: the largest that is ready."`
	Codec      string `placeholder:"NAME" help:"h264, av1 or hevc. Default: h264, which plays everywhere."`
	Audio      bool   `xor:"what" help:"The sound alone, as .m4a."`
	Captions   string `xor:"what" placeholder:"TAG" help:"The captions in this language, as WebVTT."`
	Output     string `short:"o" placeholder:"FILE" help:"Where to store it; - is standard output. Default: named after the video, in this folder."`
}

// Help is shown by --help.
func (Download) Help() string {
	return `Downloads a file that was made of a video. The file that was uploaded is had with spool original.
Without -o, a file that is there is not overwritten.

Examples:

    spool download 0198c5b6-7d5e-7c3a
    spool download 0198c5b6-7d5e-7c3a --resolution=720p --codec=av1 -o film.mp4
    spool download 0198c5b6-7d5e-7c3a --audio
    spool download 0198c5b6-7d5e-7c3a --captions=en -o film.en.vtt
`
}

// nameOf returns what the files of a video are called here.
func nameOf(v client.Video) string {
	const most = 200 // bytes; file systems have names of up to 255, with the ending
	name := cmp.Or(v.Title, strings.TrimSuffix(v.Filename, path.Ext(v.Filename)))
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return name
}

// made is a file that was made of a video.
type made struct {
	url    string
	bytes  int64  // 0: not known
	suffix string // of its name here
}

// Run downloads the file.
func (c *Download) Run(ctx context.Context, env *Environment) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	api, v, err := c.read(ctx, env, c.ID, originalLife)
	if err != nil {
		return c.fail(env, err)
	}
	file, err := c.choose(v)
	if err != nil {
		return c.fail(env, err)
	}
	stored, err := store(ctx, env, api, client.Original{URL: file.url, SizeBytes: file.bytes}, c.Output, nameOf(v)+file.suffix)
	switch {
	case err != nil:
		return c.fail(env, err)
	case stored.name == "":
		return nil
	case c.JSON:
		return printJSON(env.Stdout, map[string]any{"id": v.ID, "file": stored.name, "sizeBytes": stored.bytes})
	}
	_, err = fmt.Fprintf(env.Stdout, "%s  %s  %s\n", forTerminal(v.ID), formatBytes(stored.bytes), forTerminal(stored.name))
	return err
}

// choose finds the file that is wanted.
func (c *Download) choose(v client.Video) (made, error) {
	switch {
	case c.Captions != "":
		i := slices.IndexFunc(v.Captions, func(t client.Caption) bool { return strings.EqualFold(t.Language, c.Captions) })
		if i < 0 {
			return made{}, fmt.Errorf("the video has no captions in %s: spool captions ls shows them", c.Captions)
		}
		return made{url: v.Captions[i].URL, suffix: "." + v.Captions[i].Language + ".vtt"}, nil
	case c.Audio && v.AudioURL == "":
		return made{}, errors.New("the video has no sound, or it is not made yet")
	case c.Audio:
		return made{url: v.AudioURL, suffix: ".m4a"}, nil
	}
	codec, ready := cmp.Or(strings.ToLower(c.Codec), "h264"), []string{}
	for _, name := range v.Names() {
		r := v.Resolutions[name]
		file, is := madeIn(r, codec)
		if !is {
			continue
		}
		if c.Resolution == "" || c.Resolution == name {
			return file, nil
		}
		ready = append(ready, name)
	}
	if len(ready) == 0 {
		return made{}, fmt.Errorf("no resolution is ready in %s: the video is %s", codec, statusText(v))
	}
	return made{}, fmt.Errorf("%s is not ready in %s; there are %s", c.Resolution, codec, strings.Join(ready, ", "))
}

// madeIn returns the file of a resolution in a codec.
func madeIn(r client.Resolution, codec string) (made, bool) {
	for _, v := range r.Variants {
		if v.Codec == codec && v.Status == client.Ready && codec != "h264" {
			return made{url: v.VideoURL, bytes: v.SizeBytes, suffix: "." + codec + ".mp4"}, true
		}
	}
	return made{url: r.VideoURL, bytes: r.SizeBytes, suffix: ".mp4"}, codec == "h264" && r.Status == client.Ready
}

// stored is a file that was downloaded.
type stored struct {
	name  string // "": standard output
	bytes int64
}

// store downloads a file to output, or, where that is "", under its own name, and shows the progress.
func store(ctx context.Context, env *Environment, api *client.Client, o client.Original, output, own string) (stored, error) {
	name := output
	if name == "" {
		name = localName(own)
		switch _, err := os.Lstat(name); {
		case err == nil:
			return stored{}, &UsageError{Text: fmt.Sprintf("%s is there already: name another file with -o", forTerminal(name))}
		case !errors.Is(err, os.ErrNotExist):
			return stored{}, err
		}
	}
	b := newBoard(env)
	defer b.close()
	p := &progress{row: b.add(name), total: o.SizeBytes}
	defer p.row.finish()
	write := func(w io.Writer) error { return api.Download(ctx, o, io.MultiWriter(w, p)) }
	if output == "-" {
		return stored{}, write(env.Stdout)
	}
	err := storeWhole(name, write)
	return stored{name: name, bytes: p.written}, err
}

// progress shows how much of a file has arrived, where its size is known. It is an io.Writer.
type progress struct {
	row            *row
	written, total int64
}

// Write counts the bytes.
func (p *progress) Write(b []byte) (int, error) {
	p.written += int64(len(b))
	if p.total > 0 {
		p.row.moving("downloading", p.written, p.total)
	}
	return len(b), nil
}

// storeWhole stores what write writes as a file. Until all of it is there, it has another name.
func storeWhole(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".spool-*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone if it was renamed
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// localName returns the name under which a file is stored here. The uploader chose the name freely, so it loses what
// could be a path, hide the file or control a terminal.
func localName(filename string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, filename)
	if name = strings.Trim(name, ". "); name == "" {
		return "original"
	}
	if name[0] == '-' { // programs would take it for an option
		name = "_" + name[1:]
	}
	return name
}
