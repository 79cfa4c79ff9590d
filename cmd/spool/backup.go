package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/spool-video/spool/internal/clientcmd"
	"github.com/spool-video/spool/internal/service/backup"
)

type backupCommand struct {
	Backends
	File     string `arg:"" help:"The file to write. An existing folder, or a name that ends with a slash, is a folder of backups."`
	Keep     int    `placeholder:"N" help:"In a folder: keep the newest N backups. 0 keeps all."`
	Verify   bool   `help:"Make no backup: read this one and compare everything with its checksums. In a folder, damage is recorded for the next backup."`
	Snapshot string `placeholder:"NAME" help:"With --verify and a folder: which backup. Default: the newest."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

func (backupCommand) Help() string {
	return `Writes the database and all videos into a file or a folder, while the service runs.
A folder keeps several backups, and each video once. A file gets its name when it is
complete.

Exit code 3: this backup is complete, but something else is wrong. Files of videos
were missing before, other backups in the folder are damaged or cannot be read, or
the database could not note that the backup was made.

    spool backup /backup/spool.tar
    spool backup /backup/spool/ --keep=14
    spool backup --verify /backup/spool/
    spool backup /backup/spool.tar --data-dir=/var/lib/spool --json
`
}

// Run makes or verifies a backup.
func (c *backupCommand) Run(ctx context.Context, p *process) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if c.Verify {
		return c.verify(ctx, p)
	}
	if c.Keep < 0 || c.Keep > 0 && !backup.IsFolder(c.File) || c.Snapshot != "" {
		return &configError{[]string{"--keep is for a folder of backups, and --snapshot for --verify: end the name of a folder with a slash."}}
	}
	if c.File == "" {
		return &configError{[]string{"the name of the file is empty: name a file or a folder."}}
	}
	src, closeSource, err := c.openSource(ctx)
	if err != nil {
		return err
	}
	view := backupView{File: c.File}
	bar := p.newBar("backup")
	options := backup.Options{Version: buildVersion(), Progress: bar.show, Hook: crashPoint()}
	var summary *backup.Summary
	if backup.IsFolder(c.File) {
		summary, view.Snapshot, err = backup.ToFolder(ctx, src, filepath.Clean(c.File), c.Keep, options)
	} else {
		summary, err = backup.ToFile(ctx, src, c.File, options)
	}
	bar.end()
	warnings, err := backupWarnings(err)
	if err = errors.Join(err, closeSource()); err != nil {
		return fmt.Errorf("backup: %w", orStopped(ctx, err))
	}
	err = p.printBackup(c.JSON, "Backup written to "+strings.TrimRight(c.File, "/"), view, summary)
	if len(warnings) == 0 {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintf(p.stderr, "spool: warning: %v\n", w)
	}
	return cmp.Or(err, error(&clientcmd.Ended{Code: exitPartly}))
}

// backupWarnings returns what is wrong beside a backup that is complete, and the errors that are no warnings.
func backupWarnings(err error) (warnings []error, rest error) {
	all := []error{err}
	if joined, is := err.(interface{ Unwrap() []error }); is {
		all = joined.Unwrap()
	}
	for _, e := range all {
		_, damaged := errors.AsType[*backup.DamagedSnapshotsError](e)
		_, unnoted := errors.AsType[*backup.NotNotedError](e)
		if damaged || unnoted {
			warnings = append(warnings, e)
		} else {
			rest = errors.Join(rest, e)
		}
	}
	return warnings, rest
}

func (c *backupCommand) verify(ctx context.Context, p *process) error {
	bar := p.newBar("verify")
	header, summary, err := backup.Verify(ctx, c.File, c.Snapshot, bar.show)
	bar.end()
	if err != nil {
		return err
	}
	view := backupView{File: c.File, CreatedAt: &header.CreatedAt}
	return p.printBackup(c.JSON, fmt.Sprintf("%s is complete and unchanged since %s", c.File, header.CreatedAt.Format(time.RFC3339)), view, summary)
}

// backupView is a backup as JSON.
type backupView struct {
	File      string     `json:"file"`
	Snapshot  string     `json:"snapshot,omitempty"`
	CreatedAt *time.Time `json:"createdAt,omitempty"`
	*backup.Summary
}

// printBackup says what a backup holds. It returns the exit code exitPartly if objects are missing.
func (p *process) printBackup(asJSON bool, done string, v backupView, s *backup.Summary) error {
	if v.Summary = s; asJSON {
		if err := printJSON(p.stdout, v); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintf(p.stdout, "%s: %s.\n", done, contents(s)); err != nil {
		return err
	}
	if len(s.Deleted)+len(s.Removed) > 0 {
		fmt.Fprintf(p.stderr, "spool: clients deleted %d videos and %d other files meanwhile; they are not in the backup\n", len(s.Deleted), len(s.Removed))
	}
	if len(s.Missing) == 0 {
		return nil
	}
	fmt.Fprintf(p.stderr, "spool: warning: %d objects that the database names were not in the storage, the first is %s\n", len(s.Missing), s.Missing[0])
	return &clientcmd.Ended{Code: exitPartly}
}

// contents describes a backup in a few words.
func contents(s *backup.Summary) string {
	return fmt.Sprintf("videos: %d, files: %d, %s", s.Videos, s.Objects, humanize.Bytes(uint64(s.Bytes)))
}

// bar shows how far a copy is: on a terminal in one line, elsewhere once a minute.
type bar struct {
	out      io.Writer
	what     string
	terminal bool
	shown    time.Time
	now      func() time.Time
}

func (p *process) newBar(what string) *bar {
	is, _ := terminal(p.stderr)
	return &bar{out: p.stderr, what: what, terminal: is, shown: p.now(), now: p.now}
}

const (
	barPause  = 200 * time.Millisecond
	linePause = time.Minute
)

func (b *bar) show(objects, bytes, total int64) {
	pause := linePause
	if b.terminal {
		pause = barPause
	}
	now := b.now()
	if now.Sub(b.shown) < pause {
		return
	}
	b.shown = now
	text := fmt.Sprintf("%s: %d files, %s", b.what, objects, humanize.Bytes(uint64(bytes)))
	if total > 0 {
		text += fmt.Sprintf(" of about %s (%d %%)", humanize.Bytes(uint64(total)), bytes*100/total)
	}
	if b.terminal {
		fmt.Fprintf(b.out, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(b.out, text)
}

func (b *bar) end() {
	if b.terminal {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

// orStopped says in words that a signal ended a command, and what to do then. Any other error stays as it is.
func orStopped(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return err
	case errors.Is(err, context.Canceled):
		return errors.New("it was stopped before its end; run the same command again")
	}
	return fmt.Errorf("it was stopped before its end; run the same command again (%w)", err)
}
