package clientcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spool-video/spool/client"
)

// Upload is spool upload.
type Upload struct {
	Connection
	Files         []string      `arg:"" name:"file" help:"The files to upload, or URLs that the server fetches."`
	Resolutions   []string      `placeholder:"NAME" help:"Resolutions to make of each file. Default: what the server is set to, usually 1080p,720p,480p."`
	Codecs        []string      `placeholder:"NAME" help:"Codecs to make, such as h264,av1. Default: what the server is set to."`
	Public        bool          `help:"Anyone may watch. Default: only with signed URLs."`
	Title         string        `placeholder:"TEXT" help:"The title that people see. Default: the name of the file."`
	Metadata      []string      `sep:"none" placeholder:"KEY=VALUE" help:"Metadata to keep with the video; can be repeated."`
	CopySource    string        `enum:",never,auto" default:"" placeholder:"WHEN" help:"auto copies the picture of the file at its own size, where that plays everywhere as it is; never encodes it. Default: what the server is set to."`
	HDR           string        `name:"hdr" enum:",sdr,keep" default:"" placeholder:"WHAT" help:"What becomes of HDR: keep (in AV1 and HEVC) or sdr. Default: what the server is set to."`
	Profile       string        `placeholder:"NAME" help:"A profile of the server: a ladder that its operator has prepared. Without --resolutions it gives the sizes, too."`
	Loudness      string        `enum:",keep,normalize" default:"" placeholder:"WHAT" help:"What becomes of the loudness of the sound: keep, or normalize (all files equally loud). Default: what the server is set to."`
	AcceptAudio   *bool         `negatable:"" help:"Accept files with sound and no picture; their cover or waveform becomes the picture. --no-accept-audio refuses them. Default: what the server is set to."`
	MaxDuration   time.Duration `placeholder:"DURATION" help:"Videos that are longer, such as 10m, fail before anything is made of them."`
	Tag           []string      `sep:"none" placeholder:"TAG" help:"A tag, by which videos are found again; can be repeated."`
	Trim          string        `placeholder:"START-END" help:"Make only this part of the file, such as 12.5-1:30, 90- or -30."`
	ExpiresAt     string        `name:"expires-at" placeholder:"TIME" help:"Delete the videos at this time, such as 2030-05-01T12:00:00Z or 2030-05-01."`
	Watermark     string        `placeholder:"ID[,…]" help:"A watermark, such as ID,position=top-left,width=0.1; none: not the usual one of your tenant."`
	AllowedOrigin []string      `sep:"none" placeholder:"SITE" help:"A site on which the videos may be played, such as example.com or *.example.org; can be repeated. none: only in the server's own pages. Default: everywhere."`
	AllowNoOrigin bool          `help:"With --allowed-origin: apps, native players and downloads, whose requests name no site, may play the videos, too."`
	Transcribe    string        `placeholder:"WHAT" help:"Have captions made of what is said: the language, such as en, or auto; none makes none. Default: what the server is set to."`
	Translate     []string      `placeholder:"TAG" help:"Languages into which these captions are translated, such as de,fr."`
	Captions      []string      `sep:"none" placeholder:"FILE" help:"Captions to add, such as film.en.vtt; can be repeated."`
	Wait          bool          `short:"w" help:"Wait until the videos are ready."`
	Parallel      int           `default:"3" placeholder:"N" help:"How many files are sent at a time. Default: 3."`
	Life          time.Duration `name:"expires" default:"24h" placeholder:"DURATION" help:"How long the printed URLs of private videos are valid. Default: 24h."`
}

// Help is shown by --help.
func (Upload) Help() string {
	return `Uploads files and prints, for each, its ID, its status and where to watch it.

If an upload was stopped, by Ctrl-C, a crash or a lost connection, run the same command
again within 24 hours: it continues. The server keeps what it has received. A file in
$XDG_STATE_HOME/spool/uploads (default: ~/.local/state/spool/uploads) remembers the
upload. After a short interruption, the upload continues by itself.

Instead of a file you can name a URL (https://…). The server then fetches the file.

On a terminal, bars show the progress of upload and encoding. In a script, standard
error gets a line for each step, and standard output gets the results.

Examples:

    spool upload film.mov --wait
    spool upload a.mov b.mov c.mov --public --resolutions=1080p,480p --wait
    spool upload film.mov --title=Holiday --metadata=album=42 --captions=film.en.vtt
    spool upload https://example.com/film.mp4 --wait
    spool upload film.mov --trim=1:30-4:15
    spool upload film.mov --transcribe=en --translate=de,fr
    spool upload film.mov --json

Exit codes: 0 all files were uploaded, 1 none was, 2 the command line is wrong,
3 some were.
`
}

// uploads is a run of the command.
type uploads struct {
	*Upload
	env    *Environment
	client *client.Client
	board  *board
	dir    string          // of memories; "" where nothing can be kept
	wanted client.NewVideo // what is asked for, of whichever file

	mu     sync.Mutex // orders what is printed
	tally  tally
	unsaid error // the first error of printing a result: its file was uploaded, but the reader does not know
}

// Run uploads the files.
func (c *Upload) Run(ctx context.Context, env *Environment) error {
	u, err := c.prepare(env)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	// The first answer decides whether there is any sense in the rest.
	first, err := c.client(env, short)
	if err != nil {
		return c.fail(env, err)
	}
	key, err := first.Key(ctx)
	if err != nil {
		return c.fail(env, err)
	}
	if len(c.Resolutions) == 0 && c.Profile == "" {
		u.wanted.Resolutions = key.DefaultResolutions
	}
	if u.client, err = c.client(env, long); err != nil {
		return c.fail(env, err)
	}
	u.board = newBoard(env)
	slots := make(chan struct{}, c.Parallel)
	var files sync.WaitGroup
	for _, file := range c.Files {
		slots <- struct{}{}
		sent := sync.OnceFunc(func() { <-slots }) // waiting for the encoding needs no slot
		files.Go(func() {
			defer sent()
			u.uploadFile(ctx, file, sent)
		})
	}
	files.Wait()
	u.board.close()
	if u.tally.failures == 0 && u.unsaid != nil {
		return fmt.Errorf("everything was uploaded, but standard output takes no results: %w", u.unsaid)
	}
	return u.tally.outcome(len(c.Files))
}

// prepare checks what can be checked before anything is sent.
func (c *Upload) prepare(env *Environment) (*uploads, error) {
	c.Files, c.Resolutions, c.Codecs = withoutDuplicates(c.Files), withoutSpaces(c.Resolutions), withoutSpaces(c.Codecs)
	if len(c.Files) > 1 && (c.Title != "" || c.Trim != "" || len(c.Captions) > 0) {
		return nil, &UsageError{Text: "--title, --trim and --captions are for a single file"}
	}
	if c.Parallel < 1 {
		return nil, &UsageError{Text: "--parallel must be at least 1"}
	}
	if c.MaxDuration < 0 {
		return nil, &UsageError{Text: "--max-duration must not be negative"}
	}
	if err := checkLife(c.Life); err != nil {
		return nil, err
	}
	u := &uploads{Upload: c, env: env}
	var err error
	if u.wanted, err = c.newVideo(); err != nil {
		return nil, err
	}
	for _, file := range c.Captions {
		if _, err := languageOf(file); err != nil {
			return nil, err
		}
		if _, err := os.Stat(file); err != nil {
			return nil, &UsageError{Text: err.Error()}
		}
	}
	if u.dir, err = env.stateDir(); err != nil {
		u.dir = ""
	} else {
		removeExpired(u.dir)
	}
	return u, nil
}

// withoutSpaces takes "1080p, 480p" for what it means.
func withoutSpaces(all []string) []string {
	var out []string
	for _, one := range all {
		out = append(out, strings.TrimSpace(one))
	}
	return out
}

func withoutDuplicates(all []string) []string {
	var out []string
	for _, one := range all {
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

// parseMetadata reads KEY=VALUE.
func parseMetadata(all []string) (client.Metadata, error) {
	if len(all) == 0 {
		return nil, nil
	}
	m := client.Metadata{}
	for _, one := range all {
		key, value, found := strings.Cut(one, "=")
		if !found || key == "" {
			return nil, &UsageError{Text: fmt.Sprintf("--metadata: %q is not KEY=VALUE", one)}
		}
		m[key] = value
	}
	return m, nil
}

// uploadFile uploads a file and prints what became of it.
func (u *uploads) uploadFile(ctx context.Context, file string, sent func()) {
	r := u.board.add(file)
	v, err := u.send(ctx, file, r)
	sent()
	if err == nil && u.Wait {
		r.follow(v)
		v, err = u.client.Wait(ctx, v.ID, r.follow)
	}
	if err == nil {
		full, unread := u.client.Video(ctx, v.ID, u.Life)
		switch {
		case unread == nil:
			v = full
		case client.Code(unread) != client.CodeInsufficientScope: // a key that may only write has done its part
			err = unread
		}
	}
	if err == nil {
		err = v.Err() // a file that cannot be read has failed by now, also for those who do not wait
	}
	u.printOutcome(ctx, file, r, v, err)
}

// send uploads a file, continuing where an earlier command was stopped, and its captions.
func (u *uploads) send(ctx context.Context, file string, r *row) (client.Video, error) {
	if isURL(file) {
		return u.fetch(ctx, file, r)
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not wait for somebody who writes into it
	if err != nil {
		return client.Video{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return client.Video{}, err
	}
	if !info.Mode().IsRegular() {
		return client.Video{}, errors.New("is not a regular file")
	}
	v := u.wanted
	v.Filename = cmp.Or(v.Filename, info.Name())
	m, err := u.remember(file, info, v, r)
	if err != nil {
		return client.Video{}, err
	}
	defer m.release()
	v.IdempotencyKey = cmp.Or(v.IdempotencyKey, m.Key)
	got, err := u.client.Upload(ctx, v, f, info.Size(), &client.UploadOptions{
		Progress: r.uploading,
		Created:  func(c client.Created) { r.resumed = c.Replayed },
		RetryFor: long,
	})
	if err == nil || isPermanent(err) {
		m.forget()
	}
	if err != nil {
		return got, err
	}
	if !u.Wait || !r.board.live {
		r.printLine("uploaded as %s", forTerminal(got.ID))
	}
	return got, u.addCaptions(ctx, got.ID)
}

// newVideo is what is asked for, of whichever file.
func (c *Upload) newVideo() (client.NewVideo, error) {
	v := client.NewVideo{
		Resolutions: c.Resolutions, Public: c.Public, Title: c.Title, Codecs: c.Codecs, HDR: c.HDR, Profile: c.Profile,
		AcceptAudio: c.AcceptAudio, CopySource: c.CopySource, Loudness: c.Loudness, Tags: c.Tag, MaxDurationSeconds: c.MaxDuration.Seconds(),
	}
	v.Transcribe, v.Translate = transcription(c.Transcribe), withoutSpaces(c.Translate)
	if list := sites(c.AllowedOrigin); list != nil {
		v.AllowedOrigins, v.AllowNoOrigin = *list, c.AllowNoOrigin
	}
	var err error
	if v.Metadata, err = parseMetadata(c.Metadata); err != nil {
		return v, err
	}
	if v.Trim, err = parseTrim(c.Trim); err != nil {
		return v, err
	}
	at, err := parseExpiry(c.ExpiresAt)
	if err != nil {
		return v, err
	}
	if at != nil {
		v.ExpiresAt = *at
	}
	if c.Watermark != "" {
		v.Watermark, err = ParseWatermark(c.Watermark)
	}
	return v, err
}

// transcription returns what --transcribe means; nil: it was not given.
func transcription(flag string) any {
	switch flag {
	case "":
		return nil
	case "auto", "none":
		return flag == "auto"
	}
	return flag
}

// remember notes that the upload begins. Where that is not possible it cannot be resumed, but done.
func (u *uploads) remember(file string, info os.FileInfo, v client.NewVideo, r *row) (*resumeRecord, error) {
	if u.dir == "" {
		return &resumeRecord{}, nil
	}
	m, err := remember(u.dir, u.Server, file, info, v)
	if errors.Is(err, errUploading) {
		return nil, err
	}
	if err != nil {
		r.printLine("a stopped upload cannot be resumed: %s", forTerminal(err.Error()))
		return &resumeRecord{}, nil
	}
	return m, nil
}

// isPermanent reports whether another try of the same upload would end the same way.
func isPermanent(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && e.Status >= 400 && e.Status < 500 && e.Status != 401 && e.Status != 403 && e.Status != 429
}

func (u *uploads) addCaptions(ctx context.Context, id string) error {
	for _, file := range u.Captions {
		language, err := languageOf(file)
		if err == nil {
			err = setCaptions(ctx, u.client, id, file, language, client.CaptionOptions{})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// result is what --json prints of a file that was uploaded.
type result struct {
	File string `json:"file"`
	client.Video
}

// failure is what --json prints of a file that was not.
type failure struct {
	File   string        `json:"file"`
	ID     string        `json:"id,omitempty"`
	Status client.Status `json:"status"`
	Error  fault         `json:"error"`
}

type fault struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// printOutcome prints how it ended.
func (u *uploads) printOutcome(ctx context.Context, file string, r *row, v client.Video, err error) {
	r.finish()
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		u.tally.add(err)
		u.printFailure(ctx, file, r, v, err)
		return
	}
	if u.Wait && !r.board.live {
		r.printLine("%s", v.Status)
	}
	if u.JSON {
		u.unsaid = cmp.Or(u.unsaid, printJSON(u.env.Stdout, result{file, v}))
		return
	}
	for _, warning := range v.Warnings {
		r.printLine("%s", forTerminal(warning.Message))
	}
	_, err = fmt.Fprintf(u.env.Stdout, "%s  %s  %s  %s\n", forTerminal(v.ID), v.Status, forTerminal(file), forTerminal(address(v)))
	u.unsaid = cmp.Or(u.unsaid, err)
}

func (u *uploads) printFailure(ctx context.Context, file string, r *row, v client.Video, err error) {
	text, code := u.explain(err), codeOf(err)
	switch {
	case ctx.Err() != nil && r.fetched && v.ID != "":
		code, text = "interrupted", fmt.Sprintf("stopped waiting; the server goes on (spool watch %s follows it)", forTerminal(v.ID))
	case ctx.Err() != nil && r.phase == "encoding":
		code, text = "interrupted", fmt.Sprintf("stopped waiting; the encoding goes on (spool watch %s follows it)", forTerminal(v.ID))
	case ctx.Err() != nil:
		code, text = "interrupted", fmt.Sprintf("stopped at %s; run the same command again to continue", percent(r.part))
	case errors.Is(err, os.ErrNotExist) && strings.Contains(file, "://"):
		text = "there is no such file, and the server fetches files by https:// and http:// only"
	case errors.Is(err, os.ErrNotExist):
		text = "there is no such file"
	}
	if u.JSON {
		status := v.Status
		if status == "" {
			status = client.Failed
		}
		_ = printJSON(u.env.Stdout, failure{file, v.ID, status, fault{code, text}}) // standard error has it, too
	}
	r.printLine("%s", text)
}

// codeOf returns the code with which a request or a video failed.
func codeOf(err error) string {
	if e, ok := errors.AsType[*client.FailedError](err); ok {
		return e.Code
	}
	return client.Code(err)
}

// address returns the best URL to watch a video.
func address(v client.Video) string {
	for _, url := range []string{v.WatchURL, v.EmbedURL, v.HLSURL} {
		if url != "" {
			return url
		}
	}
	return ""
}
