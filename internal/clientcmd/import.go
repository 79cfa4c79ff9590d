package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spool-video/spool/client"
)

// Import is spool import.
type Import struct {
	Connection
	File     string `arg:"" help:"A list of videos: a .csv, or a .jsonl."`
	Report   string `placeholder:"FILE" help:"Where to write what became of each line. Default: NAME.report.jsonl beside the list."`
	Check    bool   `help:"Say what is wrong with the list, and import nothing."`
	Wait     bool   `short:"w" help:"Wait until the videos are ready."`
	Parallel int    `default:"3" placeholder:"N" help:"How many are sent at a time. Default: 3."`
}

// Help is shown by --help.
func (Import) Help() string {
	return `Makes a video of each line of a list. The first line of a .csv names the columns; a line of a .jsonl is an object with
the same names. Each line has path, a file, seen from the folder of the list, or sourceUrl, which the server fetches. The rest
may be left out: ` + strings.Join(columnNames(), ", ") + `.
In a .csv several tags, resolutions, … are parted by semicolons or commas.

    path,title,tags,metadata.course
    films/one.mov,The first lesson,lesson;2026,42

The whole list is checked before anything is sent. What became of each line is written into a report. When the command is
stopped, or some lines failed, run it again: lines that the report has as done are left out, and what was being sent goes on
where it was. A line that was changed is another video.

Examples:

    spool import videos.csv --check
    spool import videos.csv --wait
    spool import videos.jsonl --parallel=8 --report=done.jsonl

Exit codes: 0 all lines are videos, 1 none is, 2 the list or the command line is wrong, 3 some are.
`
}

// importer is a run of the command.
type importer struct {
	*Import
	env    *Environment
	client *client.Client
	board  *board
	report *report

	mu    sync.Mutex // orders what is printed
	done  int
	tally tally // of what was tried now
}

// Run imports the list.
func (c *Import) Run(ctx context.Context, env *Environment) error {
	if c.Parallel < 1 {
		return &UsageError{Text: "--parallel must be at least 1"}
	}
	lines, err := readList(c.File)
	if err != nil {
		return err
	}
	if c.Check {
		_, err := fmt.Fprintf(env.Stdout, "%d videos, nothing wrong\n", len(lines))
		return err
	}
	if c.Report == "" {
		c.Report = strings.TrimSuffix(c.File, filepath.Ext(c.File)) + ".report.jsonl"
	}
	r, err := openReport(c.Report)
	if err != nil {
		return err
	}
	i := &importer{Import: c, env: env, report: r}
	return errors.Join(i.run(ctx, lines), r.close())
}

func (i *importer) run(ctx context.Context, lines []line) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	first, err := i.Connection.client(i.env, short)
	if err != nil {
		return i.fail(i.env, err)
	}
	key, err := first.Key(ctx)
	if err != nil {
		return i.fail(i.env, err)
	}
	if i.client, err = i.Connection.client(i.env, long); err != nil {
		return i.fail(i.env, err)
	}
	i.board = newBoard(i.env)
	todo := i.report.todo(lines, i.Wait)
	if i.done = len(lines) - len(todo); i.done > 0 {
		fmt.Fprintf(i.env.Stderr, "%d of %d lines are done already, as %s says\n", i.done, len(lines), forTerminal(i.Report))
	}
	slots := make(chan struct{}, i.Parallel)
	var all sync.WaitGroup
	for _, l := range todo {
		if len(l.video.Resolutions) == 0 && l.video.Profile == "" {
			l.video.Resolutions = key.DefaultResolutions
		}
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		sent := sync.OnceFunc(func() { <-slots }) // waiting for the encoding needs no slot
		all.Go(func() {
			defer sent()
			i.importLine(ctx, l, sent)
		})
	}
	all.Wait()
	i.board.close()
	return i.summarize(len(lines))
}

// importLine makes a video of a line, and reports what became of it.
func (i *importer) importLine(ctx context.Context, l line, sent func()) {
	r := i.board.add(l.name())
	v, err := i.begin(ctx, l, r)
	sent()
	if err == nil && i.Wait {
		r.follow(v)
		v, err = i.client.Wait(ctx, v.ID, r.follow)
	}
	if err == nil {
		err = v.Err()
	}
	r.finish()
	i.mu.Lock()
	defer i.mu.Unlock()
	if ctx.Err() != nil && err != nil {
		r.printLine("stopped; run the same command again to continue")
		return // it is neither done nor failed
	}
	i.tally.add(err)
	entry := reported{Line: l.number, Source: l.name(), ID: v.ID, Status: v.Status, Hash: l.hash}
	if err != nil {
		entry.Error, entry.Failed = &fault{codeOf(err), i.explain(err)}, isLost(v, err)
	}
	if err := i.report.add(entry); err != nil {
		r.printLine("the report cannot be written: %v", err)
	}
	if err == nil {
		i.done++
	}
	switch {
	case err != nil:
		r.printLine("line %d: %s", l.number, entry.Error.Message)
	case i.JSON:
		_ = printJSON(i.env.Stdout, entry) // the report has it, too
	default:
		fmt.Fprintf(i.env.Stdout, "%s  %s  %s\n", forTerminal(v.ID), v.Status, forTerminal(l.name()))
	}
}

// begin sends what a line names, unless an earlier run has. The report has it before anything is waited for: the server
// forgets keys of requests after a day.
func (i *importer) begin(ctx context.Context, l line, r *row) (client.Video, error) {
	if e, is := i.report.videos[l.hash]; is {
		return i.client.State(ctx, e.ID)
	}
	v, err := i.send(ctx, l, r)
	if err == nil && i.Wait && v.Err() == nil {
		if err := i.report.add(reported{Line: l.number, Source: l.name(), ID: v.ID, Status: v.Status, Hash: l.hash}); err != nil {
			r.printLine("the report cannot be written: %v", err)
		}
	}
	return v, err
}

// isLost reports whether nothing will become of the video of a line: its file was refused, or could not be encoded. After other errors the
// same video is gone on with.
func isLost(v client.Video, err error) bool {
	_, failed := errors.AsType[*client.FailedError](err)
	refused := isPermanent(err) && v.ID != "" && v.Status == "" // later, its status is known
	return failed || refused || client.Code(err) == client.CodeVideoNotFound
}

// send makes the video of a line and sends its file and captions. The same line has the same key, with which the server finds what
// was begun.
func (i *importer) send(ctx context.Context, l line, r *row) (client.Video, error) {
	u := &uploads{Upload: &Upload{Connection: i.Connection, Captions: l.captions, Wait: true}, env: i.env, client: i.client, board: i.board, wanted: l.video}
	u.wanted.IdempotencyKey = i.report.keyOf(l)
	if l.path == "" {
		return u.fetch(ctx, l.video.SourceURL, r)
	}
	return u.send(ctx, l.path, r)
}

// summarize says how it ended.
func (i *importer) summarize(all int) error {
	fmt.Fprintf(i.env.Stderr, "%d of %d lines are videos now; %s has the details\n", i.done, all, forTerminal(i.Report))
	switch {
	case i.done == all:
		return nil
	case i.done > 0:
		return &Ended{Code: partly}
	case i.tally.failures == all:
		return i.tally.outcome(all)
	}
	return &Ended{Code: failed} // stopped
}
